"""The architecture of `scenes`: one Transformer over patches and words, trained from scratch.

    [CLS] patch 1 … patch 48 [SEP] words [SEP]   →   mean over the tokens = c   →   MLP head

The image is read as three squares of 100 × 100 pixels, each as 4 × 4 patches; the strips between them are not read.
A patch's position is part of its embedding, so it is kept when others are deleted; only words have sequence positions.

The tokenizer is trained on the sentences of `scenes`.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer
from torch import Tensor, nn
from torch.nn.functional import relu
from transformers.modeling_outputs import BaseModelOutputWithPoolingAndCrossAttentions as Output
from transformers.models.bert.configuration_bert import BertConfig
from transformers.models.bert.modeling_bert import BertModel

from explainers.datasets.scenes.world import LEFTS, SIDE
from explainers.models.text.bundle import PooledClassifier

PATCH = 25  # pixels of its side
ROWS, COLUMNS = SIDE // PATCH, 3 * SIDE // PATCH
PATCHES = ROWS * COLUMNS
INPUTS = 3 * PATCH * PATCH
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PATCH]")
PAD, UNK, CLS, SEP, MASK, PATCH_ID = range(len(SPECIAL))
PIECES, LONGEST = 600, 66  # of the vocabulary; of a sentence


def config(vocabulary: int) -> BertConfig:
    """Small enough to learn on two cores. Eager attention returns its weights and is twice differentiable."""
    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=128,
        num_hidden_layers=6,
        num_attention_heads=4,
        intermediate_size=384,
        hidden_act="relu",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=128,
        attn_implementation="eager",
    )


class SceneBert(BertModel):  # type: ignore[misc]
    """BERT in which all patches (token type 1) have one position, and the other tokens are numbered without them."""

    def forward(self, *, token_type_ids: Tensor, **inputs: Tensor | None) -> Output:
        words = token_type_ids == 0
        positions = torch.where(words, words.cumsum(1) - 1, self.config.max_position_embeddings - 1)
        output = super().forward(token_type_ids=token_type_ids, position_ids=positions, **inputs)
        return cast(Output, output)


class PatchEncoder(nn.Module):
    """Two convolutions inside a patch, so that a shape has the same features wherever in the patch it is. The
    neighbours do not count."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.edges, self.forms = nn.Conv2d(3, 16, 5, 2, 2), nn.Conv2d(16, 32, 3, 2, 1)
        self.all = nn.Linear(32 * 7 * 7, width)

    def forward(self, patches: Tensor) -> Tensor:
        """(..., 1875) → (..., d)."""
        pixels = patches.reshape(-1, PATCH, PATCH, 3).movedim(-1, 1)  # (N, 3, 25, 25)
        forms = relu(self.forms(relu(self.edges(pixels)))).flatten(1)
        return cast(Tensor, self.all(forms)).view(*patches.shape[:-1], -1)


class SceneNetwork(PooledClassifier):
    """Logits of an image with a text. `embed_patches` gives what takes the place of word embeddings."""

    def __init__(self, vocabulary: int, classes: int) -> None:
        settings = config(vocabulary)
        super().__init__(SceneBert(settings, add_pooling_layer=False), classes)
        self.dropout = nn.Dropout(0.0)
        width = settings.hidden_size
        self.eye = PatchEncoder(width)
        self.place = nn.Embedding(PATCHES, width)

    def embed_patches(self, patches: Tensor, numbers: Tensor) -> Tensor:
        """(B, P, 1875) of -1…1 and the number (B, P) of each patch, 0…47 → (B, P, d)."""
        return cast(Tensor, self.eye(patches) + self.place(numbers))

    def embeds(self, ids: Tensor, patches: Tensor, numbers: Tensor) -> Tensor:
        """(B, L) ids, of which positions 1 to P are patches → (B, L, d)."""
        words = cast(nn.Embedding, self.base_model.get_input_embeddings())(ids)
        return torch.cat([words[:, :1], self.embed_patches(patches, numbers), words[:, numbers.shape[1] + 1 :]], dim=1)


def split_patches(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Images (…, 100, 400, 3) as patches (…, 48, 1875), row by row over the three squares."""
    read = np.concatenate([pixels[..., left : left + SIDE, :] for left in LEFTS], axis=-2)  # (…, 100, 300, 3)
    front = read.shape[:-3]
    tiles = read.reshape(*front, ROWS, PATCH, COLUMNS, PATCH, 3)
    return np.moveaxis(tiles, -4, -3).reshape(*front, PATCHES, INPUTS)


def scaled(colours: NDArray[np.generic]) -> Tensor:
    """0…255 as -1…1."""
    return torch.from_numpy(colours).float().div(127.5).sub_(1)


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
