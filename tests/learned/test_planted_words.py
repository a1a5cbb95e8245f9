"""Every learned method, with its default settings, ranks the words that alone decide a DistilBERT's answer first.

A model's weights are drawn and trained here, so that the test knows which words it reads."""

import random
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import DistilBertConfig, DistilBertForSequenceClassification, PreTrainedTokenizerFast

from explainers.datasets.example import Example
from explainers.learned.batches import encode_for_learning
from explainers.learned.fitting_loop import explained, fit
from explainers.learned.recipes import RECIPES, recipe_of
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import ranking

GOOD, BAD, OTHERS = (
    tuple(f"{name}{number}" for number in range(count)) for name, count in (("g", 6), ("b", 6), ("o", 30))
)
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
VOCABULARY = {word: number for number, word in enumerate((*SPECIAL, *GOOD, *BAD, *OTHERS))}


def drawn(order: random.Random) -> tuple[str, int]:
    """A text with one planted word, and the label to which the word belongs."""
    label, words = order.randrange(2), [order.choice(OTHERS) for _ in range(order.randint(5, 9))]
    words[order.randrange(len(words))] = order.choice((BAD, GOOD)[label])
    return " ".join(words), label


def tokenizer() -> PreTrainedTokenizerFast:
    words = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, VOCABULARY[name]) for name in ("[CLS]", "[SEP]")]
    )
    names = {f"{name.strip('[]').lower()}_token": name for name in SPECIAL}
    return PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=32, **names)


@pytest.fixture(scope="module")
def distilbert(tmp_path_factory: pytest.TempPathFactory) -> FrozenModel:
    """Reads the planted words; it saw texts with masked words in training, as a text whose words are erased is one."""
    folder, reader, order = tmp_path_factory.mktemp("distilbert"), tokenizer(), random.Random(0)
    sizes = {"dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 32}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = DistilBertForSequenceClassification(DistilBertConfig(vocab_size=len(VOCABULARY), **sizes))
        optimiser = torch.optim.AdamW(network.parameters(), 3e-3)
        for _ in range(200):
            texts, labels = zip(*(drawn(order) for _ in range(32)), strict=True)
            ids = reader(list(texts), padding=True, return_tensors="pt")["input_ids"]
            visible = ids.masked_fill((torch.rand(ids.shape) < 0.15) & (ids >= len(SPECIAL)), VOCABULARY["[MASK]"])
            output = network(input_ids=visible, attention_mask=(ids != 0).long(), labels=torch.tensor(labels))
            optimiser.zero_grad()
            output.loss.backward()
            optimiser.step()
    network.save_pretrained(folder)
    reader.save_pretrained(folder)
    return load(str(folder))


@pytest.mark.slow
@pytest.mark.parametrize("method", RECIPES)
def test_the_planted_words_are_found(distilbert: FrozenModel, tmp_path: Path, method: str) -> None:
    order = random.Random(1)
    items = encode_for_learning(distilbert, [Example(drawn(order)[0]) for _ in range(160)])
    training = fit(recipe_of(method, {}), distilbert, items[:100], items[100:120], tmp_path)
    assert not any("random orders" in warning for warning in training.warnings)
    unseen = items[120:]
    scores = explained(training.recipe, training.module, distilbert, unseen)
    words = [item.encoding.units[ranking(row)[0]].text for item, row in zip(unseen, scores, strict=True)]
    found = sum(word in (*GOOD, *BAD) for word in words)
    assert found >= 30  # of 40; about 6 by chance, 37 with either of two seeds
