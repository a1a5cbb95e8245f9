"""A training as one record, as JSON for a job and as a command line, and the hyperparameters of which it is made.

Hyperparameters are the fields of a validated dataclass, where bounds, display name and meaning stand once:

    @validated
    @dataclass(frozen=True)
    class Method:
        batch: Annotated[int, Field(ge=1, title="Batch size", description="Texts per step.")] = 20

`fit --set`, `fit --settings`, the Train page's form and the reader of cards take what they need from there.

`python -m explainers fit --spec FILE` starts what the JSON says. The command line is only ever rendered from the
record; `commands.training` is where one that was typed becomes a record.
"""

import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

import pydantic.dataclasses
from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter, ValidationError

from explainers.datasets.images.sets import ImageFiles
from explainers.errors import ExplanationError, refused_fields
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS, learning_methods
from explainers.models.bundle_cards import is_generated

Recipe = TypeVar("Recipe")
Record = TypeVar("Record")
Kind = Literal["boolean", "integer", "number", "string"]

CONFIG = ConfigDict(
    extra="forbid",
    allow_inf_nan=False,
    field_title_generator=lambda name, _field: name.replace("_", " ").capitalize(),
)

ALL = "all"  # in place of a method: every shipped variant
VARIANT = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
COMMAND = ("python", "-m", "explainers", "fit")
AUTO = "auto"  # the device


def validated(kind: type[Record]) -> type[Record]:
    """A dataclass whose values are converted and checked when one is made: a bad one raises pydantic's error."""
    result: Any = pydantic.dataclasses.dataclass(frozen=True, config=CONFIG)(kind)
    result.__doc__ = kind.__doc__
    return cast(type[Record], result)


@dataclass(frozen=True)
class Setting:
    """A hyperparameter as people meet it. `least` and `most` are its bounds, None where there is none."""

    name: str
    label: str
    meaning: str
    default: Any
    kind: Kind
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None


def settings_of(recipe: type) -> tuple[Setting, ...]:
    """The hyperparameters of a recipe, in the order of its fields."""
    properties = TypeAdapter(recipe).json_schema()["properties"]
    return tuple(
        Setting(
            name,
            schema["title"],
            schema["description"],
            schema["default"],
            schema["type"],
            tuple(schema.get("enum", ())),
            schema.get("minimum", schema.get("exclusiveMinimum")),
            schema.get("maximum"),
        )
        for name, schema in properties.items()
    )


def settings_text(recipe: type, values: Mapping[str, Any], without: Collection[str] = ("seed",)) -> str:
    """A line for every setting but those `without`: its name, its value among `values` or by default, its meaning."""
    lines = []
    for setting in settings_of(recipe):
        if setting.name in without:
            continue
        value = typed(values.get(setting.name, setting.default))
        choices = f"One of: {', '.join(setting.choices)}." if setting.choices else ""
        lines.append(f"{setting.name}={value}  {setting.meaning} {choices}".rstrip())
    return "\n".join(lines)


def typed(value: Any) -> str:
    """A value as it is typed after `--set NAME=`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_hyperparameters(recipe: type[Recipe], method: str, values: Mapping[str, Any]) -> Recipe:
    """A recipe with these values, which may be strings. Raises `ExplanationError` for unknown names and bad values."""
    if unknown := sorted(set(values) - {setting.name for setting in settings_of(recipe)}):
        choices = ", ".join(sorted(setting.name for setting in settings_of(recipe)))
        raise ExplanationError(f"{method} has no setting {unknown[0]!r}. Choose from: {choices}.")
    try:
        return recipe(**values)
    except ValidationError as error:
        raise ExplanationError(refused_fields(error, f"The setting {{}} of {method}")) from error


def recipe_on_card(recipe: type[Recipe], method: str, values: Mapping[str, Any]) -> Recipe:
    """The recipe that a card holds. Names that the recipe no longer has were about the training only, and are ignored.

    Raises `ExplanationError` for a bad value.
    """
    names = {setting.name for setting in settings_of(recipe)}
    return with_hyperparameters(recipe, method, {name: value for name, value in values.items() if name in names})


def _pairs(values: Any) -> Any:
    return tuple((name, str(value)) for name, value in values.items()) if isinstance(values, Mapping) else values


Settings = Annotated[
    tuple[tuple[str, str], ...], BeforeValidator(_pairs), PlainSerializer(dict, return_type=dict[str, str])
]


@validated
@dataclass(frozen=True)
class FitSpec:
    """`settings` are hyperparameters as typed, name to value; with a `format`, `data` are its annotations. What stands
    from `device` on belongs to one run, and does not change what is fitted."""

    method: str
    model: str
    data: str = ""
    variant: str = ""
    seed: int = 0
    settings: Settings = ()
    format: str = ""
    images: str = ""  # the folder of the images
    column: str = ""  # of the texts in a table; by default that called text
    pair_column: str = ""  # of the second texts
    seeds: Annotated[int, Field(ge=1)] = 1  # trainings, from `seed` on; the best on validation texts is kept
    full: bool = False  # IvRA only: the classifier learns too, and becomes a new model
    device: str = AUTO
    folder: str = ""  # for log and checkpoint; by default below runs
    out: str = ""  # the folder for weights and card; by default in the store
    resume: bool = False

    @property
    def name(self) -> str:
        """The variant, by default the method's own; empty for narrators, which have none."""
        if self.variant or self.method not in METHODS.ids:
            return self.variant
        return METHODS.get(self.method).default_variant

    @property
    def title(self) -> str:
        """Return method and variant, as "aml (mine)"."""
        return f"{self.method} ({self.name})" if self.name else self.method

    @property
    def data_path(self) -> Path | None:
        return Path(self.data) if self.data else None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the texts, or of both texts of pairs; none where they have the usual names."""
        return tuple(filter(None, (self.column, self.pair_column)))

    @property
    def image_files(self) -> ImageFiles | None:
        return ImageFiles(self.format, Path(self.images)) if self.format else None

    def as_json(self) -> str:
        return _adapter().dump_json(self, indent=2).decode()

    def arguments(self) -> list[str]:
        """What follows `python -m explainers fit`."""
        flags = [
            ("--model", self.model),
            ("--data", self.data),
            ("--column", self.column),
            ("--pair-column", self.pair_column),
            ("--format", self.format),
            ("--pictures", self.images),
            ("--variant", self.variant),
            ("--seed", str(self.seed)),
            *(("--set", f"{name}={value}") for name, value in self.settings),
            ("--seeds", str(self.seeds) if self.seeds > 1 else ""),
            ("--device", self.device if self.device != AUTO else ""),
            ("--folder", self.folder),
            ("--out", self.out),
        ]
        switches = {"--full": self.full, "--resume": self.resume}
        given = [word for flag, value in flags if value for word in (flag, value)]
        return [self.method, *given, *(flag for flag, on in switches.items() if on)]

    @property
    def command(self) -> str:
        """The command of the card: DATA and DIR stand for the file or folder with the data and that of the images."""
        data = "DATA" if self.data or not is_generated(self.model) else ""
        images = "DIR" if self.format else ""
        plain = replace(self, device=AUTO, folder="", out="", resume=False)
        return replace(plain, data=data, images=images, variant=self.name).shell_command()

    def shell_command(self) -> str:
        """The command as a person types it."""
        return shlex.join([*COMMAND, *self.arguments()])

    def check(self) -> "FitSpec":
        """The spec itself. Raises `ExplanationError` for an unknown method and for what does not go together."""
        self._check_columns()
        if self.full:
            self._check_full()
        if self.method in NARRATORS.ids:
            self._check_narrator()
            return self
        if self.method not in learning_methods():
            choices = f"Choose one of: {', '.join(learning_methods())}, {ALL}"
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

    def _check_columns(self) -> None:
        if self.pair_column and not self.column:
            raise ExplanationError("--pair-column names the second texts of pairs. Name the first ones with --column.")
        if self.columns and (self.format or self.method in NARRATORS.ids):
            where = "--format" if self.format else self.method
            raise ExplanationError(f"--column does not go with {where}. Omit it.")

    def _check_narrator(self) -> None:
        if self.variant:
            raise ExplanationError(f"{self.method} has no variants. Omit --variant; give its settings with --set.")
        if self.seeds > 1:
            raise ExplanationError(f"{self.method} is trained with one seed. Omit --seeds.")
        if {"losses", "reads", "seed"} & set(dict(self.settings)):
            raise ExplanationError(
                "The name of the method sets its losses and what it reads, --seed the seed. Omit them from --set."
            )

    def _check_full(self) -> None:
        able = [spec.id for spec in METHODS if spec.trains_classifier]
        if self.method not in able:
            raise ExplanationError(f"{self.method} cannot train the classifier; {', '.join(able)} can. Omit --full.")
        if self.resume:
            raise ExplanationError("A training of the classifier itself cannot be resumed. Omit --resume.")
        if self.seeds > 1:
            raise ExplanationError("A training of the classifier itself has one seed. Omit --seeds.")


@cache
def _adapter() -> TypeAdapter[FitSpec]:
    return TypeAdapter(FitSpec)


def read_spec(content: str | bytes) -> FitSpec:
    """From `FitSpec.as_json`. Raises `ExplanationError` with a sentence for anything else."""
    try:
        return _adapter().validate_json(content)
    except ValidationError as error:
        raise ExplanationError(f"The training's spec cannot be read. {refused_fields(error)}") from error
