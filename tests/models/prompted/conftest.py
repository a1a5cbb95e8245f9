"""Small causal language models of every decoder family, in folders; a token per word."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

from explainers.installation import STORE_VARIABLE
from explainers.models.prompt import Prompt
from explainers.studies.architectures.measure import FAMILIES, SPECIAL, WORDS, Family, tokenizer_of

KINDS = {family.kind: family for family in FAMILIES if family.decoder}
CHAT = "{% for message in messages %}the {{ message['content'] }} very {% endfor %}"


def language_model(kind: str, **settings: Any) -> Any:
    """A causal language model with random weights, large enough that its answers differ."""
    torch.manual_seed(0)
    family = KINDS[kind]
    size = {"vocab_size": len(SPECIAL) + len(WORDS) + 1}
    network = AutoModelForCausalLM.from_config(CONFIG_MAPPING[kind](**{**family.settings, **size, **settings}))
    for weight in network.get_output_embeddings().parameters():
        weight.data *= 30
    return network.eval()


@pytest.fixture
def prompt() -> Prompt:
    return Prompt("the film was very long {text} and there was", {"no": "old", "yes": "new"})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Writes a language model with its tokenizer to a folder, whose name it gives; the store is empty."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))

    def written(kind: str = "llama", chat: str | None = None, **settings: Any) -> str:
        path = tmp_path / kind
        language_model(kind, **settings).save_pretrained(path)
        tokenizer = tokenizer_of(KINDS[kind])
        tokenizer.chat_template = chat
        tokenizer.save_pretrained(path)
        return str(path)

    return written


@pytest.fixture
def families() -> dict[str, Family]:
    return KINDS
