"""The files of a pretrained model, on the hub or in a folder: safetensors, no remote code, sizes within limits."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from explainers.memoized import memoized
from explainers.models.foreign import file_checks, hub_snapshot, opened_tokenizer, process_limits
from explainers.models.text.base_weights import sha256

CONFIG, PREPROCESSOR = "config.json", "preprocessor_config.json"


@dataclass(frozen=True)
class ModelFiles:
    """`name` is `owner/model`, `owner/model@revision` or a folder. Every error is `ModelUnavailable`."""

    name: str
    has_weights: bool = True  # not needed where only the tokenizer is read

    @property
    def folder(self) -> Path | None:
        return Path(self.name) if Path(self.name).is_dir() else None

    @property
    def identifier(self) -> str:
        return self.name if self.folder else self.name.partition("@")[0]

    @property
    def revision(self) -> str | None:
        return None if self.folder else self.name.partition("@")[2] or None

    @memoized
    def path(self) -> Path:
        """The folder itself, or that to which the hub's files were fetched; from here on nothing asks the hub."""
        return self.folder or hub_snapshot.fetched_folder(self.identifier, self.revision, weights=self.has_weights)

    @property
    def commit(self) -> str | None:
        """The commit of a hub model: the folder of a snapshot has its name."""
        return None if self.folder else self.path.name

    @memoized
    def weights(self) -> list[Path]:
        return file_checks.weight_files(self.identifier, self.path)

    @memoized
    def shapes(self) -> file_checks.Shapes:
        return file_checks.stored_shapes(self.identifier, self.weights)

    @memoized
    def raw_config(self) -> dict[str, Any]:
        """The configuration as it stands in the file, within limits."""
        return file_checks.read_config(self.identifier, self.path / CONFIG)

    @property
    def multi_label(self) -> bool:
        return self.raw_config.get("problem_type") == "multi_label_classification"

    def config(self, *, outputs: int | None = None) -> Any:
        """The library's configuration, after the files were checked; with `outputs` the head has so many."""
        file_checks.check_preprocessor(self.identifier, self.path / PREPROCESSOR)
        stored = self.shapes  # the weights are checked first
        return process_limits.library_config(self.raw_config, outputs=outputs) if stored else None

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of every call of the library beside the folder."""
        return {"trust_remote_code": False, "local_files_only": True}

    def described(self, auto: Any, config: Any) -> file_checks.Shapes:
        """The shapes of the network that the configuration describes, after its size was checked."""
        shapes = file_checks.described_shapes(auto, config)
        file_checks.check_network(self.identifier, shapes, self.shapes)
        return shapes

    def module(self, auto: Any, config: Any) -> tuple[Any, frozenset[str]]:
        """The model by an Auto class, and the names of the weights that its files lack."""
        self.described(auto, config)
        module, report = auto.from_pretrained(
            self.path,
            config=config,
            use_safetensors=True,
            dtype=torch.float32,  # half precision would round small differences of probability away
            attn_implementation="eager",
            output_loading_info=True,
            **self.options,
        )
        file_checks.check_finite(self.identifier, module)
        return module, frozenset(report["missing_keys"])

    def version(self, only: Collection[str] = ()) -> str:
        """The commit, or a checksum of all files of the folder that are read, which changes when any of them does; of
        `only` these files, where they are given."""
        if self.commit:
            return self.commit
        names = {CONFIG, PREPROCESSOR, file_checks.INDEX, *opened_tokenizer.SETTINGS, *opened_tokenizer.VOCABULARIES}
        files = [
            *(self.weights if self.has_weights else ()),
            *(path for path in map(self.path.joinpath, names) if path.is_file()),
        ]
        files = [path for path in files if not only or path.name in only]
        lines = sorted(f"{path.name} {sha256(path)}" for path in files)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
