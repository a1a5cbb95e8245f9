"""A small `scenes` of random weights: the real architecture, narrower, with a tokenizer of generated sentences."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import nn
from transformers.models.bert.configuration_bert import BertConfig

from explainers.datasets.example import Example, InputImage
from explainers.datasets.scenes.generator import generate_items
from explainers.datasets.scenes.world import Scene, Thing, draw
from explainers.models.scenes import network
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.network import MASK, PAD, UNK, SceneNetwork, train_tokenizer
from explainers.models.scenes.samples import SceneBatch, SceneSample, collate, generate_sentences, item_sample

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
def tokenizer() -> Tokenizer:
    return train_tokenizer(generate_sentences(300, 1))


@pytest.fixture
def small_network(tokenizer: Tokenizer, narrow_networks: None) -> SceneNetwork:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        built = SceneNetwork(tokenizer.get_vocab_size(), len(LABELS))
        for part in built.head:
            if isinstance(part, nn.Linear):
                part.weight.data *= 3
        built.eye.all.weight.data *= 10
    return built


@pytest.fixture
def model(small_network: SceneNetwork, tokenizer: Tokenizer) -> SceneModel:
    return SceneModel(
        name="small-scenes",
        labels=LABELS,
        module=small_network,
        tokenizer=tokenizer,
        mask_token=MASK,
        pad_token=PAD,
        version="1",
        input_names=("text",),
        unknown=UNK,
        english_only=True,
        mean_pooled=True,
    )


@pytest.fixture
def pixels() -> NDArray[np.uint8]:
    return draw(SCENE)


@pytest.fixture
def example(pixels: NDArray[np.uint8]) -> Example:
    return Example(TEXT, image=InputImage.of(pixels))


@pytest.fixture
def square() -> Example:
    """A square image: it fills the middle box alone, so only 16 patches are units, and methods are quick."""
    noise = np.random.default_rng(0).integers(0, 256, (50, 50, 3), dtype=np.uint8)
    return Example("two blue circles", image=InputImage.of(noise))


@pytest.fixture
def samples() -> list[SceneSample]:
    built = generate_items(7, held_out=False)
    return [item_sample(next(built)) for _ in range(8)]


@pytest.fixture
def batch(samples: list[SceneSample], tokenizer: Tokenizer) -> SceneBatch:
    return collate(samples, tokenizer)
