"""A small `scenes` of random weights: the real architecture, narrower, with a tokenizer of generated sentences."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import nn
from transformers.models.bert.configuration_bert import BertConfig

from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.datasets.scenes.drawing import drawn
from explainers.datasets.scenes.generator import items
from explainers.datasets.scenes.world import Scene, Thing
from explainers.models.scenes import network
from explainers.models.scenes.lessons import Batch, collate
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.network import SceneNetwork
from explainers.models.scenes.reader import MASK, PAD, UNK, learned
from explainers.models.scenes.samples import Sample, of_item, sentences

LABELS = ("entailment", "neutral", "contradiction")
SCENE = Scene(
    (
        Thing("square", "blue", 30, 0, 30, 0),
        Thing("circle", "yellow", 10, 50, 50, 0),
        Thing("triangle", "black", 20, 80, 80, 1),
        Thing("circle", "yellow", 20, 40, 0, 2),
    ),
    towers=False,
)
TEXT = "There are two yellow circles touching a wall."  # 9 words with the full stop


def narrow(vocabulary: int) -> BertConfig:
    """As the real one but for its size; weights so large that every token changes the answer."""
    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        num_hidden_layers=6,
        num_attention_heads=4,
        intermediate_size=48,
        hidden_act="relu",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=128,
        initializer_range=0.2,
        attn_implementation="eager",
    )


@pytest.fixture
def narrow_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever network is made in the test is a narrow one."""
    monkeypatch.setattr(network, "config", narrow)


@pytest.fixture(scope="session")
def reader() -> Tokenizer:
    return learned(sentences(300, 1))


@pytest.fixture
def small_network(reader: Tokenizer, narrow_networks: None) -> SceneNetwork:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        made = SceneNetwork(reader.get_vocab_size(), len(LABELS))
        for part in made.head:
            if isinstance(part, nn.Linear):
                part.weight.data *= 3
        made.eye.all.weight.data *= 10
    return made


@pytest.fixture
def model(small_network: SceneNetwork, reader: Tokenizer) -> SceneModel:
    return SceneModel(
        name="small-scenes",
        labels=LABELS,
        module=small_network,
        tokenizer=reader,
        filler=MASK,
        padding=PAD,
        version="1",
        asks=("text",),
        unknown=UNK,
        english=True,
        pooled=True,
    )


@pytest.fixture
def pixels() -> NDArray[np.uint8]:
    return drawn(SCENE)


@pytest.fixture
def example(pixels: NDArray[np.uint8]) -> Example:
    return Example(TEXT, picture=Picture.of(pixels))


@pytest.fixture
def square() -> Example:
    """A square picture: it fills the middle box alone, so only 16 patches are units, and methods are quick."""
    noise = np.random.default_rng(0).integers(0, 256, (50, 50, 3), dtype=np.uint8)
    return Example("two blue circles", picture=Picture.of(noise))


@pytest.fixture
def samples() -> list[Sample]:
    made = items(7, held_out=False)
    return [of_item(next(made)) for _ in range(8)]


@pytest.fixture
def batch(samples: list[Sample], reader: Tokenizer) -> Batch:
    return collate(samples, reader)
