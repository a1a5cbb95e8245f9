"""Where a pretrained model lies, and how its files are read: safetensors only, no remote code, fast tokenizer only."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from explainers.errors import ModelUnavailable
from explainers.models.base import sha256

LONGEST = 512  # tokens read at most, also where a model would take more: an explanation costs hundreds of passes


@dataclass(frozen=True)
class Source:
    """`name` is `owner/model`, `owner/model@revision` or a folder."""

    name: str

    @property
    def folder(self) -> Path | None:
        return Path(self.name) if Path(self.name).is_dir() else None

    @property
    def identifier(self) -> str:
        return self.name if self.folder else self.name.partition("@")[0]

    @property
    def revision(self) -> str | None:
        return None if self.folder else self.name.partition("@")[2] or None

    @property
    def where(self) -> dict[str, Any]:
        """What every call of the libraries is told beside the identifier."""
        return {"revision": self.revision, "trust_remote_code": False}

    def config(self) -> Any:
        from transformers import AutoConfig

        return AutoConfig.from_pretrained(self.identifier, **self.where)

    def splitter(self) -> Any:
        """The tokenizer as the library knows it."""
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(self.identifier, use_fast=True, **self.where)

    def module(self, auto: Any) -> tuple[Any, frozenset[str]]:
        """The model by an Auto class, and the names of the weights that its files lack."""
        found, report = auto.from_pretrained(
            self.identifier,
            use_safetensors=True,
            dtype=torch.float32,  # half precision would round small differences of probability away
            attn_implementation="eager",
            output_loading_info=True,
            **self.where,
        )
        return found, frozenset(report["missing_keys"])

    def check_format(self) -> None:
        if self.folder and not any(self.folder.glob("*.safetensors")):
            raise ModelUnavailable(
                f"{self.identifier} holds no .safetensors file; other weight formats can run code and are refused."
            )

    def version(self, config: Any) -> str:
        """The commit, or a checksum of the folder's weights, so that another model in its place is not taken for it."""
        commit: str | None = getattr(config, "_commit_hash", None)
        if commit or self.folder is None:
            return commit or "unknown"
        return hashlib.sha256("".join(map(sha256, sorted(self.folder.glob("*.safetensors")))).encode()).hexdigest()[:12]


@contextmanager
def explained(name: str, wanted: str) -> Iterator[None]:
    """Whatever the libraries raise in the block means: this name does not load. `wanted` says what could be given."""
    try:
        yield
    except ModelUnavailable:
        raise
    except Exception as error:
        raise ModelUnavailable(
            f"The model {name!r} could not be loaded: {_first_sentence(error)} "
            f"Give the id of {wanted} on the Hugging Face hub or a folder with its files."
        ) from error


def tokenizer(splitter: Any, name: str, longest: int) -> Tokenizer:
    """The fast tokenizer inside, which cuts what is longer than `longest` and pads nothing."""
    if not splitter.is_fast:
        raise ModelUnavailable(f"{name!r} has no fast tokenizer, so its tokens cannot be placed in the text.")
    core: Tokenizer = splitter.backend_tokenizer
    core.no_padding()
    core.enable_truncation(min(splitter.model_max_length, longest, LONGEST), strategy="longest_first")
    return core


def _first_sentence(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")[:200] + "."
