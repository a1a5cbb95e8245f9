"""The tokenizer of `scenes`, trained on its sentences, and the layout of patches and words in one sequence."""

from collections.abc import Sequence

from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer

from explainers.models.scenes.network import PATCHES

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PATCH]")
PAD, UNK, CLS, SEP, MASK, PATCH_ID = range(len(SPECIAL))
PIECES, LONGEST = 600, 66  # of the vocabulary; of a sentence


def train_tokenizer(sentences: Sequence[str]) -> Tokenizer:
    """A WordPiece tokenizer trained on the sentences; single letters are pieces too, so no word is unknown."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    trained = split_by(WordPiece(unk_token="[UNK]"))
    trained.train_from_iterator(
        [*sorted(sentences), " ".join(letters), letters, letters[::-1]],
        WordPieceTrainer(
            vocab_size=PIECES,
            special_tokens=[*SPECIAL, *(f"##{letter}" for letter in letters)],  # otherwise letters get random ids
            initial_alphabet=list(letters),
            limit_alphabet=100,
            show_progress=False,
        ),
    )
    tokenizer = split_by(WordPiece(trained.get_vocab(), unk_token="[UNK]"))
    tokenizer.add_special_tokens(list(SPECIAL))
    return configured(tokenizer)


def split_by(model: WordPiece) -> Tokenizer:
    """A tokenizer that splits text into words like BERT's, and words into pieces by the model."""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def configured(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer with truncation, and with BERT's special tokens around a sentence."""
    tokenizer.enable_truncation(LONGEST)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    return tokenizer


def framed(words: Sequence[int], patches: int = PATCHES) -> tuple[list[int], list[int]]:
    """The ids of a whole input, and its token types: 1 for patches, 0 for the rest."""
    ids = [CLS, *[PATCH_ID] * patches, SEP, *words, SEP]
    return ids, [0, *[1] * patches, *[0] * (len(words) + 2)]
