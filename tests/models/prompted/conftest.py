"""Small causal language models of every decoder family, in folders; a token per word."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

from explainers.installation import STORE_VARIABLE
from explainers.models.prompt import Prompt
from explainers.studies.architectures import FAMILIES, SPECIAL, WORDS, tokenizer_of

KINDS = {family.kind: family for family in FAMILIES if family.decoder}
CHAT = "{% for message in messages %}the {{ message['content'] }} very {% endfor %}"


def language_model(kind: str, vocabulary: int = len(SPECIAL) + len(WORDS) + 1, **settings: Any) -> Any:
    """A causal language model with random weights, large enough that its answers differ."""
    torch.manual_seed(0)
    family = KINDS[kind]
    size = {"vocab_size": vocabulary}
    network = AutoModelForCausalLM.from_config(CONFIG_MAPPING[kind](**{**family.settings, **size, **settings}))
    for weight in network.get_output_embeddings().parameters():
        weight.data *= 30
    return network.eval()


@pytest.fixture
def prompt() -> Prompt:
    return Prompt("the film was very long {text} and there was", {"no": "old", "yes": "new"})


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Writes a language model with its tokenizer to a folder, once for all tests, which must not change it: a process
    opens the tokenizer of every folder."""

    @cache
    def path(kind: str, chat: str | None, settings: tuple[tuple[str, Any], ...]) -> str:
        folder = tmp_path_factory.mktemp(kind) / kind
        language_model(kind, **dict(settings)).save_pretrained(folder)
        tokenizer = tokenizer_of(KINDS[kind])
        tokenizer.chat_template = chat
        tokenizer.save_pretrained(folder)
        return str(folder)

    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: Callable[..., str]) -> Callable[..., str]:
    """The name of the folder of a language model with its tokenizer; the store is empty."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))

    def named(kind: str = "llama", chat: str | None = None, **settings: Any) -> str:
        return written(kind, chat, tuple(settings.items()))

    return named


def byte_level(begins: str = "<s>", ends: str = "") -> Any:
    """A tokenizer whose words begin with their space, whose digits have a token of a space before them, and that joins
    a full stop with the line break after it; it writes `begins` before a text and `ends` after it."""
    from transformers import PreTrainedTokenizerFast

    pieces = ["Ġ", *(f"Ġ{word}" for word in WORDS), *WORDS, ".Ċ", "Ċ", ".", ":", "Review", "ĠSentiment", *"0123456789"]
    vocabulary = {piece: at for at, piece in enumerate(("<pad>", "<s>", "</s>", "<unk>", *pieces))}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    split = pre_tokenizers.Split(Regex(r"\.\n| ?\p{L}+|\d|\s|[^\s\p{L}\d]"), behavior="isolated")
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.pre_tokenizer = pre_tokenizers.Sequence([split, bytes_])
    special = [(token, vocabulary[token]) for token in (begins, ends) if token]
    if special:
        core.post_processor = processors.TemplateProcessing(
            single=" ".join(filter(None, (begins, "$A", ends))), special_tokens=special
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        model_input_names=["input_ids", "attention_mask"],
    )


def write_byte_level(path: Path, chat: str | None = None, begins: str = "<s>", ends: str = "") -> str:
    """Writes a small Llama with that tokenizer; returns the folder's name."""
    tokenizer = byte_level(begins, ends)
    tokenizer.chat_template = chat
    language_model("llama", len(tokenizer)).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return str(path)
