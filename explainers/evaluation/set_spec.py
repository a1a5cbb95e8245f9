"""The evaluation of a set as one record: as JSON for a job, and as a command line; and its presets.

`python -m explainers evaluate --spec FILE` carries out what the JSON says. Importing this module does not load torch.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from explainers.comparison.budget import expected_passes, explaining_passes, measuring_passes
from explainers.datasets.example import UNSEEN, Example, InputImage
from explainers.datasets.labelled_rows import Columns
from explainers.errors import ExplanationError, refused_fields
from explainers.evaluation.names import ROTATIONS
from explainers.methods.registry import METHODS, SLOW, MethodSpec, applicable, select
from explainers.models import tasks
from explainers.models.precision import checked_precision
from explainers.models.ray_cluster import LOCAL, check_engine
from explainers.results.decision import (
    DEFAULT_SAMPLING,
    RANDOM_ORDERS,
    UNTIL_SETTLED,
    Settings,
    checked_settings,
)
from explainers.training.artifacts import available_artifacts
from explainers.training.spec import validated

AUTO = "auto"
MOST_SMOOTH = 50  # noisy copies
WHOLE = "1/1"  # the only part of a set
TABLE, OWN, ERASER = FORMATS = ("table", "own", "eraser")
COMMAND = ("python", "-m", "explainers", "evaluate")
SHARD = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})")

Row = TypeVar("Row")


@dataclass(frozen=True)
class Shard:
    """Part `number` of `count`, from 1."""

    number: int = 1
    count: int = 1

    def of(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """Return the rows of this part: every `count`-th."""
        return tuple(rows[self.number - 1 :: self.count])

    @property
    def file(self) -> str:
        return f"part-{self.number}-of-{self.count}.jsonl"


def parse_shard(text: str) -> Shard:
    """Return the part that "2/4" names. Raises `ExplanationError` for anything else."""
    match = SHARD.fullmatch(text)
    if match is None or int(match[1]) > int(match[2]):
        raise ExplanationError(f"--shard needs i/n with i from 1 to n, such as 2/4, not {text!r}.")
    return Shard(int(match[1]), int(match[2]))


@dataclass(frozen=True)
class SetPreset:
    """How large an evaluation is: at most `n` inputs, 0 for all; `samples` of LIME and KernelSHAP, `BRIEF_SAMPLES` in
    place of those until they settle unless it is thorough; sanity checks on `sanity` inputs. A `quick` one omits
    methods that need hundreds of passes, except LIME, and those that no page chooses by itself; none has the search for
    the best order."""

    id: str
    meaning: str
    n: int
    samples: int
    quick: bool
    sanity: int

    def methods(self, specs: Sequence[MethodSpec]) -> tuple[str, ...]:
        """Return the ids of those of the methods that it runs."""
        quick = (spec for spec in specs if spec.default and (spec.kind not in SLOW or spec.id == "lime"))
        full = (spec for spec in specs if spec.default or not spec.optimised)
        return tuple(spec.id for spec in (quick if self.quick else full))


def offered_methods(
    model: str, version: str, *, pairs: bool = False, multimodal: bool = False
) -> tuple[MethodSpec, ...]:
    """Return the methods that can explain texts, pairs, or images with texts, with this model: those that learn if they
    were fitted to it.
    No single random order, which is a control anyway."""
    fitted = (
        {(artifact.method, artifact.variant) for artifact in available_artifacts(model, version)} if version else set()
    )
    image = InputImage(path=Path("image")) if multimodal else None  # which is not read
    example = Example("text", "pair" if pairs else None, image=image)
    return tuple(
        spec
        for spec in applicable(METHODS, example)
        if not spec.is_random
        and spec.suits(model)
        and (not spec.learns or (spec.weights_of, spec.default_variant) in fitted)
    )


QUICK = SetPreset(
    "quick",
    "those of the default methods that take one pass, gradients, occlusion, LIME with 100 samples; at most 50 inputs",
    50,
    100,
    True,
    0,
)
FULL = SetPreset("full", "all methods on all inputs; sanity checks", 0, UNTIL_SETTLED, False, 10)
PRESETS = (QUICK, FULL)
BRIEF_SAMPLES, BRIEF_STEPS = 300, 20  # of an evaluation that is not thorough


@validated
@dataclass(frozen=True)
class SetSpec:
    """An evaluation of the rows of the table `data`, or of what `format` says. Without `methods` those of the preset
    run; `n`, `samples`, `steps` and `sanity` of None are the preset's. `name` is that of the file that a person gave,
    where `data` is a copy of it. A `thorough` one explains every input as the Compare page does, any other in
    `brief_run`."""

    model: str
    data: str
    columns: Columns = field(default_factory=Columns)
    format: str = TABLE
    split: str = ""  # of a data set with parts: empty is test, or where there is none the first one
    name: str = ""
    preset: str = FULL.id
    methods: tuple[str, ...] = ()
    n: int | None = None
    unit: str = "word"
    erasure: str | None = None  # None: that of the model
    samples: int | None = None
    steps: int | None = None
    sampling: str = DEFAULT_SAMPLING
    seed: int = 0
    thorough: bool = False
    sanity: int | None = None  # inputs of the sanity checks
    smooth: int = 0  # noisy copies over which their explanations of random weights are averaged
    shard: str = WHOLE
    processes: int = 1
    engine: str = LOCAL
    address: str = ""  # of a Ray cluster; empty: one is started on this machine
    device: str = AUTO
    precision: str = "float32"
    out: str = ""

    @property
    def title(self) -> str:
        """Return the name of the data, or of the model, where no data are named."""
        if self.format == OWN and not self.data:
            return self.name or self.model
        return self.name or (Path(self.data).resolve().name if self.data else "")

    @property
    def chosen_preset(self) -> SetPreset:
        """Raises `ExplanationError` for an unknown one."""
        for preset in PRESETS:
            if preset.id == self.preset:
                return preset
        raise ExplanationError(
            f"Unknown preset {self.preset!r}. Choose one of: {', '.join(preset.id for preset in PRESETS)}."
        )

    @property
    def most(self) -> int:
        """Return how many inputs are explained at most; 0 for all."""
        return self.chosen_preset.n if self.n is None else self.n

    @property
    def checked(self) -> int:
        """Return on how many inputs the sanity checks run; 0 for none, as in every part of a set."""
        if self.shard != WHOLE:
            return 0
        return self.chosen_preset.sanity if self.sanity is None else self.sanity

    @property
    def default_settings(self) -> Settings:
        """Return the settings where none is given."""
        samples = self.chosen_preset.samples
        return (
            Settings(samples=samples)
            if self.thorough
            else Settings(samples=samples or BRIEF_SAMPLES, steps=BRIEF_STEPS)
        )

    def passes(self, specs: Sequence[MethodSpec], units: int, operators: int) -> int:
        """Return how many passes of the model an input of so many units takes at most."""
        if self.thorough:
            return expected_passes(specs, self.settings, units, operators)
        explaining = explaining_passes([spec.in_brief for spec in specs], self.settings, units)
        control = measuring_passes(RANDOM_ORDERS, units) + (operators - 1) * measuring_passes(ROTATIONS, units)
        return explaining + control + operators * measuring_passes(len(specs) + 2, units)

    @property
    def settings(self) -> Settings:
        """Raises `ExplanationError` with what is possible."""
        default = self.default_settings
        samples = default.samples if self.samples is None else self.samples
        steps = default.steps if self.steps is None else self.steps
        return checked_settings(self.unit, self.erasure or "mask", samples, steps, self.seed, self.sampling)

    def check(self) -> "SetSpec":
        """Return the spec. Raises `ExplanationError` for what can be checked before the model is loaded."""
        if self.most < 0:
            raise ExplanationError(f"--n must be 0 (all rows) or more, not {self.n}.")
        if self.shard != WHOLE and self.sanity:
            raise ExplanationError("The sanity checks need the whole set. Omit --sanity for a part of it.")
        if not 0 <= self.smooth <= MOST_SMOOTH:
            raise ExplanationError(f"--smooth must be 0 to {MOST_SMOOTH}, not {self.smooth}.")
        if self.checked < 0:
            raise ExplanationError(f"--sanity must be 0 (no checks) or more, not {self.sanity}.")
        check_engine(self.engine, self.address)
        self._check_format()
        if self.processes < 1:
            raise ExplanationError(f"There must be at least 1 process, not {self.processes}.")
        select(self.methods)
        checked_precision(self.precision)
        if not self.out:
            raise ExplanationError("Name the folder for the results with --out DIR.")
        checked_settings(**self.settings.as_dict())
        return self

    def _check_format(self) -> None:
        if self.format not in FORMATS:
            raise ExplanationError(f"Unknown format {self.format!r}. Choose one of: {', '.join(FORMATS)}.")
        if self.format == TABLE and self.split:
            raise ExplanationError("A table has no parts. Omit --split, or add --format own or --format eraser.")
        if self.format == OWN:
            tasks.own_task(self.model)  # before the model is loaded
        if self.format == OWN and self.columns.classes:
            raise ExplanationError("--label-class does not go with --format own. Omit it.")
        if self.format == OWN and self.split not in ("", *UNSEEN):
            raise ExplanationError(f"Unknown split {self.split!r}. Choose one of: {', '.join(UNSEEN)}.")

    def as_json(self) -> str:
        return _adapter().dump_json(self, indent=2).decode()

    def shell_command(self) -> str:
        """Return what a person types for the same numbers: without folder, part, processes, engine and device."""
        columns = {"--column": self.columns.text, "--pair-column": self.columns.pair}
        columns |= {"--label-column": self.columns.label, "--id-column": self.columns.id}
        columns |= {"--rationale-column": self.columns.rationale, "--image-column": self.columns.image}
        if self.format != TABLE:
            columns = {"--format": self.format, "--split": self.split}
        settings, default = self.settings.as_dict(), self.default_settings.as_dict()
        default["erasure"] = "" if self.erasure else settings["erasure"]  # without one it is that of the model
        words = ["--model", self.model, *(["--data", self.title] if self.data or self.format != OWN else [])]
        words += [word for flag, column in columns.items() if column for word in (flag, column)]
        words += [word for pair in self.columns.classes for word in ("--label-class", "=".join(pair))]
        words += ["--preset", self.preset, *(["--thorough"] if self.thorough else [])]
        words += ["--methods", ",".join(self.methods)] if self.methods else []
        words += ["--n", str(self.n)] if self.n is not None else []
        words += [
            word for name, value in settings.items() if value != default[name] for word in (f"--{name}", str(value))
        ]
        words += ["--sanity", str(self.sanity)] if self.sanity is not None else []
        words += ["--smooth", str(self.smooth)] if self.smooth else []
        words += ["--precision", self.precision] if self.precision != "float32" else []
        return shlex.join([*COMMAND, *words])


@cache
def _adapter() -> TypeAdapter[SetSpec]:
    return TypeAdapter(SetSpec)


def read_set_spec(content: str | bytes) -> SetSpec:
    """From `SetSpec.as_json`. Raises `ExplanationError` with a sentence for anything else."""
    try:
        return _adapter().validate_json(content)
    except ValidationError as error:
        raise ExplanationError(f"The evaluation's spec cannot be read. {refused_fields(error)}") from error
