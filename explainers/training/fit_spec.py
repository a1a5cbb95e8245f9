"""A training as plain values, and as the command line `python -m explainers fit …` that starts it."""

import re
import shlex
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from explainers.datasets.images.sets import ImageFiles
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS, learning_methods
from explainers.models.bundle_cards import is_generated

VARIANT = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
COMMAND = ("python", "-m", "explainers")
VALUE_FLAGS = ("model", "data", "format", "pictures", "variant")
RUN_FLAGS = ("device", "folder", "out")  # of one run; they do not change what is fitted


@dataclass(frozen=True)
class FitSpec:
    """`settings` are hyperparameters as typed, name to value; with a `format`, `data` are its annotations."""

    method: str
    model: str
    data: str = ""
    variant: str = ""
    seed: int = 0
    settings: tuple[tuple[str, str], ...] = ()
    format: str = ""
    images: str = ""  # the folder of the images
    seeds: int = 1  # trainings, from `seed` on; the best on validation texts is kept

    @property
    def name(self) -> str:
        """The variant, by default the method's own; empty for narrators, which have none."""
        if self.variant or self.method not in METHODS.ids:
            return self.variant
        return METHODS.get(self.method).default_variant

    @property
    def data_path(self) -> Path | None:
        return Path(self.data) if self.data else None

    @property
    def image_files(self) -> ImageFiles | None:
        return ImageFiles(self.format, Path(self.images)) if self.format else None

    def arguments(self) -> list[str]:
        """What follows `python -m explainers`."""
        settings = [part for name, value in self.settings for part in ("--set", f"{name}={value}")]
        return [
            *("fit", self.method, "--model", self.model),
            *(("--data", self.data) if self.data else ()),
            *(("--format", self.format, "--pictures", self.images) if self.format else ()),
            *(("--variant", self.variant) if self.variant else ()),
            *("--seed", str(self.seed), *settings),
            *(("--seeds", str(self.seeds)) if self.seeds > 1 else ()),
        ]

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> "FitSpec":
        """The inverse of `arguments`; flags of a single run are ignored. Raises `ExplanationError` for others."""
        parsed = _parser().parse_args(arguments)
        settings = tuple((name, value) for name, _, value in (each.partition("=") for each in parsed.set))
        return cls(
            method=parsed.method,
            model=parsed.model,
            data=parsed.data,
            variant=parsed.variant,
            seed=parsed.seed,
            settings=settings,
            format=parsed.format,
            images=parsed.pictures,
            seeds=parsed.seeds,
        )

    @property
    def command(self) -> str:
        """The command of the card: DATA and DIR stand for the file or folder with the data and that of the images."""
        data = "DATA" if self.data or not is_generated(self.model) else ""
        return replace(self, data=data, images="DIR" if self.format else "", variant=self.name).shell_command()

    def shell_command(self, data: str | None = None, *, extra: Sequence[str] = ()) -> str:
        """The command as it is typed, with other `data` and `extra` arguments where they are given."""
        spec = self if data is None else replace(self, data=data)
        return shlex.join([*COMMAND, *spec.arguments(), *extra])

    def check(self) -> "FitSpec":
        """The spec itself. Raises `ExplanationError` for an unknown method and for impossible names."""
        if self.method in NARRATORS.ids:
            self._check_narrator()
            return self
        if self.method not in learning_methods():
            choices = f"Choose one of: {', '.join(learning_methods())}, all"
            if self.method in METHODS.ids:
                raise ExplanationError(f"{self.method!r} does not learn. {choices}.")
            narrators = ", ".join(NARRATORS.ids)
            raise ExplanationError(f"{self.method!r} is not a method. {choices}, or a narrator: {narrators}.")
        if not VARIANT.fullmatch(self.name):
            raise ExplanationError(
                f"The variant {self.name!r} is not a name: use up to 40 small letters, digits, points, dashes."
            )
        if "seed" in dict(self.settings):
            raise ExplanationError("Give the seed with --seed, not with --set.")
        return self

    def _check_narrator(self) -> None:
        if self.variant:
            raise ExplanationError(f"{self.method} has no variants. Omit --variant; give its settings with --set.")
        if self.seeds > 1:
            raise ExplanationError(f"{self.method} is trained with one seed. Omit --seeds.")
        if {"losses", "reads", "seed"} & set(dict(self.settings)):
            raise ExplanationError(
                "The name of the method sets its losses and what it reads, --seed the seed. Omit them from --set."
            )


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ExplanationError(f"This is not a fit command: {message}.")


def _parser() -> ArgumentParser:
    parser = _Parser(prog="explainers", add_help=False, allow_abbrev=False)
    parser.add_argument("command", choices=["fit"])
    parser.add_argument("method")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1)
    for name in (*VALUE_FLAGS, *RUN_FLAGS):
        parser.add_argument(f"--{name}", default="")
    for name in ("resume", "full"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    return parser
