"""The language model φ and its vocabulary: a small GPT-2 trained here from scratch, or a pretrained one by name.

The small one has 4 layers of 224 and 3,000 pieces of lower-case text. It is warmed up on every sentence at hand and
shipped with the explainer; `gpt2`, or another causal model of the hub, is used by its name where a hub is reachable.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedModel

from explainers.errors import ModelUnavailable

SMALL = "small"
OWN = {SMALL: (224, 4), "tiny": (160, 3)}  # width and layers of the language models that are trained here
OPENING = "The answer is"
PIECES = 3000
LONGEST = 40  # tokens of a sentence, the one that carries the state included
PAD, END, RESERVED = "<pad>", "<end>", "<hidden>"  # no text holds the last, and nobody says it


@dataclass(frozen=True)
class Language:
    """Text to ids and back. `ends` closes a sentence, `silent` are pieces that are never said."""

    tokenizer: Tokenizer
    pads: int
    ends: int
    silent: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return self.tokenizer.get_vocab_size()

    def ids(self, text: str) -> list[int]:
        """The text's pieces and the end; cut to `LONGEST` - 1."""
        found = self.tokenizer.encode(text, add_special_tokens=False).ids
        return [*found[: LONGEST - 2], self.ends]

    @property
    def opening(self) -> list[int]:
        """The pieces with which every sentence begins, up to where it says the class."""
        found: list[int] = self.tokenizer.encode(OPENING, add_special_tokens=False).ids
        return found

    def within(self, word: str) -> list[int]:
        """The word's pieces as they stand inside a sentence; many vocabularies have others for its beginning."""
        found: list[int] = self.tokenizer.encode(f" {word}", add_special_tokens=False).ids
        return found

    def text(self, ids: Sequence[int]) -> str:
        """What was said up to the end, written as people write."""
        kept = list(ids)
        kept = kept[: kept.index(self.ends)] if self.ends in kept else kept
        return written(self.tokenizer.decode(kept, skip_special_tokens=True))


def vocabulary(texts: Iterable[str], whole: Sequence[str]) -> Tokenizer:
    """Byte-pair pieces of lower-case text; the words `whole` are never cut."""
    found = Tokenizer(models.BPE(unk_token=None, byte_fallback=False))
    found.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    found.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation(behavior="isolated")]
    )
    found.decoder = decoders.Metaspace()
    letters = list("abcdefghijklmnopqrstuvwxyz0123456789.,;:!?'\"()-▁")
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES,
        special_tokens=[PAD, END, RESERVED],
        initial_alphabet=letters,
        limit_alphabet=len(letters) + 20,
        show_progress=False,
    )
    found.train_from_iterator([*texts, *[word for word in whole for _ in range(10_000)]], trainer)
    return found


def language(tokenizer: Tokenizer) -> Language:
    """The language of a vocabulary of ours, or of a hub model's."""
    known = tokenizer.get_vocab()
    if PAD in known:
        return Language(tokenizer, known[PAD], known[END], (known[PAD], known[RESERVED]))
    end = next((known[name] for name in ("<|endoftext|>", "</s>") if name in known), None)
    if end is None:
        raise ModelUnavailable("This language model has no token for the end of a text, which φ needs.")
    return Language(tokenizer, end, end)


def small(size: int, name: str = SMALL) -> GPT2LMHeadModel:
    """The untrained model of `OWN` for a vocabulary of `size`, drawn from torch's generator."""
    width, layers = OWN[name]
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
            bos_token_id=None,
            eos_token_id=None,
        )
    )


def pretrained(name: str) -> tuple[PreTrainedModel, Language]:
    """A causal language model of the hub, such as `gpt2`, or of a folder; safetensors only, no code of its own."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        splitter = AutoTokenizer.from_pretrained(name, use_fast=True, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(
            name, use_safetensors=True, trust_remote_code=False, dtype=torch.float32
        )
    except Exception as error:  # the libraries raise a dozen types here; all mean: this name does not load
        first = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
        raise ModelUnavailable(
            f"The language model {name!r} could not be loaded: {first}. "
            f"Give the id of a causal language model on the hub, a folder with its files, or one of: {', '.join(OWN)}."
        ) from error
    return cast(PreTrainedModel, model), language(splitter.backend_tokenizer)


def written(text: str) -> str:
    """Capitals where a sentence begins and for "I", no space before a mark, one full stop at the end."""
    text = re.sub(r"\s+([.,;:!?%)])", r"\1", " ".join(text.split()))
    text = re.sub(r"\bi\b", "I", text)
    text = re.sub(r"(^|[.!?]\s+)([a-z])", lambda found: found[1] + found[2].upper(), text)
    return text if not text or text[-1] in ".!?" else f"{text}."


def padded(rows: Sequence[Sequence[int]], filler: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows of ids side by side (B, T), and which of them are real (B, T)."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(longest, device=device) < lengths[:, None]
