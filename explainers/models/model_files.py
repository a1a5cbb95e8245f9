"""The files of a pretrained model, on the hub or in a folder: safetensors, no remote code, a fast tokenizer."""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from explainers.errors import ModelUnavailable
from explainers.models.text.base_weights import sha256

SHARD = re.compile(r"[\w-][\w.-]*\.safetensors")  # a plain file name
MAX_TOKENS = 512  # tokens read at most, even by models with more positions: an explanation costs hundreds of passes


@dataclass(frozen=True)
class ModelFiles:
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
    def options(self) -> dict[str, Any]:
        """Arguments of every call of the library beside the identifier."""
        return {"revision": self.revision, "trust_remote_code": False}

    def config(self) -> Any:
        from transformers import AutoConfig

        return AutoConfig.from_pretrained(self.identifier, **self.options)

    def splitter(self) -> Any:
        """The tokenizer as an object of the library."""
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(self.identifier, use_fast=True, **self.options)

    def module(self, auto: Any) -> tuple[Any, frozenset[str]]:
        """The model by an Auto class, and the names of the weights that its files lack."""
        if self.folder is None:
            self._check_index(self._hub_index())
        module, report = auto.from_pretrained(
            self.identifier,
            use_safetensors=True,
            dtype=torch.float32,  # half precision would round small differences of probability away
            attn_implementation="eager",
            output_loading_info=True,
            **self.options,
        )
        return module, frozenset(report["missing_keys"])

    def check_format(self) -> None:
        """Raises `ModelUnavailable` unless all weights of a folder are safetensors files that lie in it."""
        if self.folder is None:
            return
        weights = sorted(self.folder.glob("*.safetensors"))
        if not weights:
            raise ModelUnavailable(
                f"{self.identifier} holds no .safetensors file; other weight formats can run code and are refused."
            )
        inside = (
            self.folder.resolve(),
            self.folder.resolve().parent.parent / "blobs",
        )  # of a snapshot in the hub's cache
        for path in weights:
            if path.resolve().parent not in inside:
                raise ModelUnavailable(f"{path.name} in {self.identifier!r} links to a file outside the folder.")
        for index in sorted(self.folder.glob("*.index.json")):
            self._check_index(index)

    def _hub_index(self) -> Path | None:
        """The index of a sharded model on the hub, fetched if necessary; None if its weights are one file."""
        from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, cached_file

        try:
            index = cached_file(
                self.identifier,
                SAFE_WEIGHTS_INDEX_NAME,
                revision=self.revision,
                _raise_exceptions_for_missing_entries=False,
                _raise_exceptions_for_connection_errors=False,
                _raise_exceptions_for_gated_repo=False,
            )
        except Exception:  # loading the configuration says what is wrong with the name
            return None
        return Path(index) if index else None

    def _check_index(self, index: Path | None) -> None:
        """An index may name shards beside it only: a path could lead to a pickle outside the folder."""
        if index is None:
            return
        try:
            shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelUnavailable(f"{index.name} of {self.identifier!r} cannot be read.") from error
        for shard in sorted(map(str, shards)):
            if not SHARD.fullmatch(shard):
                raise ModelUnavailable(
                    f"{index.name} of {self.identifier!r} names {shard[:80]!r}; "
                    "only .safetensors files beside it are read."
                )

    def version(self, config: Any) -> str:
        """The commit, or a checksum of the folder's weights, which changes when other weights are put there."""
        commit: str | None = getattr(config, "_commit_hash", None)
        if commit or self.folder is None:
            return commit or "unknown"
        return hashlib.sha256("".join(map(sha256, sorted(self.folder.glob("*.safetensors")))).encode()).hexdigest()[:12]


@contextmanager
def load_errors(name: str, expected: str) -> Iterator[None]:
    """During the block every error of the libraries becomes `ModelUnavailable`; `expected` is the kind of model."""
    try:
        yield
    except ModelUnavailable:
        raise
    except Exception as error:
        raise ModelUnavailable(
            f"The model {name!r} could not be loaded: {_first_sentence(error)} "
            f"Give the id of {expected} on the Hugging Face hub or a folder with its files."
        ) from error


def fast_tokenizer(splitter: Any, name: str, longest: int) -> Tokenizer:
    """The fast tokenizer inside, which truncates to `longest` tokens and does not pad."""
    if not splitter.is_fast:
        raise ModelUnavailable(f"{name!r} has no fast tokenizer, so its tokens have no positions in the text.")
    core: Tokenizer = splitter.backend_tokenizer
    core.no_padding()
    core.enable_truncation(min(splitter.model_max_length, longest, MAX_TOKENS), strategy="longest_first")
    return core


def _first_sentence(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")[:200] + "."
