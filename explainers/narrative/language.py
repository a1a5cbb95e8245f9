"""The vocabulary of the language model φ, and a small GPT-2 that is trained here from scratch.

It has 4 layers of 224 and 3,000 pieces of lower-case text. It is warmed up on every sentence at hand and shipped with
the explainer.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from explainers.errors import ModelUnavailable
from explainers.narrative.content_words import OPENING, STOP

SMALL = "small"
LANGUAGE_MODELS = {SMALL: (224, 4), "tiny": (160, 3)}  # width and layers of the language models that are trained here
PIECES = 3000
OPENERS = frozenset(  # with which people's reasons begin, besides function words
    re.findall(
        r"\w+",
        "all any because both boy boys child children dog dogs each either every girl girls just kids lady man many "
        "men most no not nothing nobody only people person player players someone somebody something several two three "
        "four walking sitting standing playing running woman women young",
    )
)
LONGEST = 40  # tokens of a sentence, the one that carries the state included
PAD, END, RESERVED = "<pad>", "<end>", "<hidden>"  # the last is in no text and is never generated
MASK = "[MASK]"
OF_ENCODERS = ("[PAD]", "[UNK]", "[CLS]", MASK)  # in no sentence


@dataclass(frozen=True)
class Language:
    """Text to ids and back. `end_id` closes a sentence."""

    tokenizer: Tokenizer
    pad_id: int
    end_id: int
    never_generated: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return self.tokenizer.get_vocab_size()

    def ids(self, text: str) -> list[int]:
        """The ids of the text and the end, truncated to `LONGEST` - 1."""
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        return [*ids[: LONGEST - 2], self.end_id]

    @property
    def opening(self) -> list[int]:
        """The ids with which every sentence begins, up to the class."""
        ids: list[int] = self.tokenizer.encode(OPENING, add_special_tokens=False).ids
        return ids

    @property
    def hidden_id(self) -> int:
        """What stands where a piece is hidden; of no text, or the end of a text in a hub model's vocabulary."""
        ids = self.tokenizer.get_vocab()
        return next((ids[name] for name in (RESERVED, MASK) if name in ids), self.end_id)

    def pieces_within(self, word: str) -> list[int]:
        """The ids of a word inside a sentence; many vocabularies have others for the beginning."""
        ids: list[int] = self.tokenizer.encode(f" {word}", add_special_tokens=False).ids
        return ids

    def text(self, ids: Sequence[int]) -> str:
        """The text up to the end, with capitals and a full stop."""
        kept = list(ids)
        kept = kept[: kept.index(self.end_id)] if self.end_id in kept else kept
        return capitalised(self.tokenizer.decode(kept, skip_special_tokens=True))


def vocabulary(texts: Iterable[str], whole: Sequence[str]) -> Tokenizer:
    """A byte-pair tokenizer of lower-case text; the words in `whole` stay single pieces."""
    tokenizer = Tokenizer(models.BPE(unk_token=None, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation(behavior="isolated")]
    )
    tokenizer.decoder = decoders.Metaspace()
    letters = list("abcdefghijklmnopqrstuvwxyz0123456789.,;:!?'\"()-▁")
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES,
        special_tokens=[PAD, END, RESERVED],
        initial_alphabet=letters,
        limit_alphabet=len(letters) + 20,
        show_progress=False,
    )
    tokenizer.train_from_iterator([*texts, *[word for word in whole for _ in range(10_000)]], trainer)
    return tokenizer


def language_of(tokenizer: Tokenizer) -> Language:
    """The language of a vocabulary trained here, or of a hub model's."""
    ids = tokenizer.get_vocab()
    if PAD in ids:
        return Language(tokenizer, ids[PAD], ids[END], (ids[PAD], ids[RESERVED]))
    end = next((ids[name] for name in ("<|endoftext|>", "</s>", "[SEP]") if name in ids), None)
    if end is None:
        raise ModelUnavailable("The language model has no end-of-text token, which φ needs. Choose another one.")
    return Language(tokenizer, end, end, tuple(ids[name] for name in OF_ENCODERS if name in ids))


def new_language_model(size: int, name: str = SMALL, *, reads_tokens: bool = False) -> GPT2LMHeadModel:
    """The untrained model `name` of `LANGUAGE_MODELS` for a vocabulary of `size`, drawn from torch's generator; with
    `reads_tokens` it has cross-attention to them."""
    width, layers = LANGUAGE_MODELS[name]
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=size,
            n_positions=LONGEST + 8,
            n_embd=width,
            n_layer=layers,
            n_head=4,
            resid_pdrop=0.1,
            embd_pdrop=0.1,
            attn_pdrop=0.1,
            add_cross_attention=reads_tokens,
            bos_token_id=None,
            eos_token_id=None,
        )
    )


def capitalised(text: str) -> str:
    """Capitals at the beginning of sentences and for "I", none for a common word after "because", where people who
    wrote the reason alone put one; no space before punctuation, one full stop at the end."""
    text = re.sub(r"\s+([.,;:!?%)])", r"\1", " ".join(text.split()))
    text = re.sub(r"(?<= because )[A-Z][a-z]*\b", _as_within_a_sentence, text, count=1)
    text = re.sub(r"\bi\b", "I", text)
    text = re.sub(r"(^|[.!?]\s+)([a-z])", lambda match: match[1] + match[2].upper(), text)
    return text if not text or text[-1] in ".!?" else f"{text}."


def _as_within_a_sentence(word: re.Match[str]) -> str:
    """The word without its capital, unless it may be a name."""
    lower = word[0].lower()
    return lower if lower in STOP | OPENERS else word[0]


def pad_rows(rows: Sequence[Sequence[int]], pad_id: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Padded ids (B, T) and a mask (B, T) that is true at real tokens."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(longest, device=device) < lengths[:, None]
