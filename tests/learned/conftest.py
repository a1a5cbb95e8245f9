import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModelForSequenceClassification

from explainers.models.frozen_model import FrozenModel
from explainers.models.in_memory import wrap
from explainers.studies.architectures import FAMILIES, tokenizer_of


@pytest.fixture(scope="module")
def decoder() -> FrozenModel:
    (family,) = [family for family in FAMILIES if family.kind == "llama"]
    tokenizer = tokenizer_of(family)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = CONFIG_MAPPING["llama"](**family.settings, vocab_size=len(tokenizer), num_labels=2)
        return wrap(AutoModelForSequenceClassification.from_config(config), tokenizer)
