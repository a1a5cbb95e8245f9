"""The words of `scenes`: pieces learned from its sentences, and how a sentence stands behind the patches."""

from collections.abc import Sequence

from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer

from explainers.models.scenes.network import PATCHES

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PATCH]")
PAD, UNK, CLS, SEP, MASK, LOOK = range(len(SPECIAL))
PIECES, LONGEST = 600, 66  # of the vocabulary; of a sentence


def learned(sentences: Sequence[str]) -> Tokenizer:
    """A tokenizer whose pieces come from the sentences; single letters are pieces too, so no word is unknown."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    trained = split_by(WordPiece(unk_token="[UNK]"))
    trained.train_from_iterator(
        [*sorted(sentences), " ".join(letters), letters, letters[::-1]],
        WordPieceTrainer(
            vocab_size=PIECES,
            special_tokens=[*SPECIAL, *(f"##{letter}" for letter in letters)],  # else it numbers letters by chance
            initial_alphabet=list(letters),
            limit_alphabet=100,
            show_progress=False,
        ),
    )
    made = split_by(WordPiece(trained.get_vocab(), unk_token="[UNK]"))
    made.add_special_tokens(list(SPECIAL))
    return ready(made)


def split_by(model: WordPiece) -> Tokenizer:
    """A tokenizer that splits as BERT's does, before the model cuts words into pieces."""
    made = Tokenizer(model)
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def ready(made: Tokenizer) -> Tokenizer:
    """Cuts what is too long. A sentence alone stands in the frame of BERT."""
    made.enable_truncation(LONGEST)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    return made


def framed(words: Sequence[int], patches: int = PATCHES) -> tuple[list[int], list[int]]:
    """The ids of a whole input, and the kinds of its tokens: 1 for patches, 0 for the rest."""
    ids = [CLS, *[LOOK] * patches, SEP, *words, SEP]
    return ids, [0, *[1] * patches, *[0] * (len(words) + 2)]
