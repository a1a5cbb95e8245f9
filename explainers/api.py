"""One call from an input to a comparison: what a notebook, the command line and the app share."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import overload

from transformers.utils.logging import tqdm
from typing_extensions import TypedDict, Unpack

from explainers.attribution.given import guess_spec
from explainers.comparison.answer import answered
from explainers.comparison.budget import Budget, expected_passes
from explainers.comparison.decision import checked_encoding, decide
from explainers.comparison.runner import example_of, run, with_pool
from explainers.comparison.two_models import ModelPair, second_question, two_models
from explainers.datasets.example import Example, InputImage
from explainers.errors import ExplanationError
from explainers.methods.registry import MethodSpec, Selection, applicable, default_methods, select, selection
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.function_model import FunctionModel
from explainers.models.inputs.requirements import to_example
from explainers.models.model_names import IN_MEMORY
from explainers.models.precision import checked_precision
from explainers.report import document, wording
from explainers.report.comparisons import comparisons_fragment
from explainers.report.summary import printed
from explainers.report.two_models import pair_fragment
from explainers.results.comparison import Comparison, Comparisons
from explainers.results.decision import DEFAULT_SAMPLING, UNTIL_SETTLED, Settings, checked_budget, checked_settings
from explainers.results.events import MethodResult
from explainers.training.artifacts import available_artifacts, find_artifact

Comparison.__str__ = printed  # type: ignore[method-assign, assignment]
Comparison._repr_html_ = document.fragment  # type: ignore[attr-defined]  # the notebook's view; results know no report
Comparisons._repr_html_ = comparisons_fragment  # type: ignore[attr-defined]
ModelPair._repr_html_ = pair_fragment  # type: ignore[attr-defined]


WORTH_SAYING = 5.0  # seconds that are left
Input = str | Example | tuple[str, str]  # one text, a pair, or anything as an example


class InputFailed(ExplanationError):
    """An input of a list could not be explained; the sentence gives its number, from 0. `finished` has the comparisons
    of those before it."""

    def __init__(self, sentence: str, finished: Comparisons) -> None:
        super().__init__(sentence)
        self.finished = finished


class Options(TypedDict, total=False):
    """The keywords of `explain`, which means the same for one input and for many."""

    methods: Sequence[str] | str | None
    label: str | int | None
    versus: str | int | None
    erasure: str | None
    unit: str
    samples: int
    steps: int
    seed: int
    sampling: str
    opened: Sequence[int]
    budget: float | None
    precision: str | None


@overload
def explain(
    model: FrozenModel,
    text: Input,
    text_pair: str | None = None,
    *,
    image: InputImage | Path | str | bytes | None = None,
    guess: Sequence[int] = (),
    **options: Unpack[Options],
) -> Comparison: ...
@overload
def explain(
    model: FrozenModel,
    text: list[str] | list[Example] | list[tuple[str, str]] | list[Input],
    **options: Unpack[Options],
) -> Comparisons: ...
def explain(
    model: FrozenModel,
    text: Input | list[str] | list[Example] | list[tuple[str, str]] | list[Input],
    text_pair: str | None = None,
    *,
    image: InputImage | Path | str | bytes | None = None,
    methods: Sequence[str] | str | None = None,
    label: str | int | None = None,
    versus: str | int | None = None,
    erasure: str | None = None,
    unit: str = "word",
    samples: int = UNTIL_SETTLED,
    steps: int = 50,
    seed: int = 0,
    sampling: str = DEFAULT_SAMPLING,
    opened: Sequence[int] = (),
    budget: float | None = None,
    precision: str | None = None,
    guess: Sequence[int] = (),
) -> Comparison | Comparisons:
    """Explains why the model predicts its class (or what supports `label`) with each method, and measures each.

    A list, series or array of texts, pairs (text, text) or examples is explained one after the other, with a progress
    bar. The tables have the index of a series.

    With `versus`, what supports the class rather than that other one: p(label) / (p(label) + p(versus)).

    `text_pair` is the second text for a model of pairs, such as the hypothesis; a tuple of two texts says the same.
    `image` is a file, its path or its content for a multimodal model; `methods` are ids of methods and narrators, or
    one id, by default those that the app chooses, without what a model in memory can never have, and all fitted
    narrators; a class is its name or its number; `samples` a number for LIME and KernelSHAP, by default as many as they
    need to settle; `sampling` is "captum" or "shared";
    `guess` are numbers of units that you find important, the most important first. `unit` is "word", "token",
    "sentence", or "example" for those of a prompt; with "sentence" and numbers from 0 in `opened`, the words of these
    sentences, while the rest of the text stays as it is. `erasure` is "mask" by default, "delete" for models without a
    mask token.
    `budget` are seconds per input: what does not fit is named in `postponed` and `ended_early`, and how much fits
    depends on the machine. Without one all is computed.
    `precision` is "float32" or "bfloat16" (see `models.precision`), by default that with which the model was loaded;
    the device is that of the model.
    Raises `ExplanationError` with a sentence for whatever is wrong with the input, and `InputFailed` where that shows
    only after other inputs of a list are explained.
    """
    if not isinstance(model, FrozenModel):
        raise ExplanationError(f"{type(model).__name__} is no model. Give what load(…) or wrap(…) returns.")
    if precision is not None:
        model = model.in_precision(checked_precision(precision))
    settings = checked_settings(unit, erasure or model.default_erasure, samples, steps, seed, sampling, opened)
    label, versus = class_name(model, label), class_name(model, versus)
    ids = (methods,) if isinstance(methods, str) else methods
    seconds = checked_budget(budget)
    explained = partial(compare, model, methods=ids, label=label, versus=versus, settings=settings, seconds=seconds)
    listed = getattr(text, "tolist", None)  # of a series or an array
    series_index = getattr(text, "index", None) if listed is not None else None
    text = text if listed is None else listed()
    if isinstance(text, list):
        if text_pair is not None or image is not None or guess:
            raise ExplanationError(
                "text_pair, image and guess belong to one input. Put pairs and images into the list."
            )
        index = [None] * len(text) if series_index is None else series_index.tolist()
        names = [input_name(number, index[number]) for number in range(len(text))]
        examples = [checked_input(model, name, item, settings) for name, item in zip(names, text, strict=True)]
        finished = Comparisons()
        for number, example in enumerate(tqdm(examples, desc="Explaining", unit="input")):
            try:
                finished.append(replace(explained(example), index=index[number]))
            except ExplanationError as error:
                raise InputFailed(f"{names[number]}: {error}", finished) from error
        return finished
    example = to_example(text, text_pair)
    if image is not None:
        example = replace(example, image=input_image(image))
    return explained(example, guess=guess)


def explain_beside(
    model: FrozenModel,
    second: FrozenModel,
    text: Input,
    text_pair: str | None = None,
    *,
    image: InputImage | Path | str | bytes | None = None,
    **options: Unpack[Options],
) -> ModelPair:
    """Explains one input for two models, with the same methods, and compares the rows of each method by rank.

    The options are those of `explain`, for both, but by default no narrator runs. The second model explains the class
    that the first one explains, where it has one of that name, else the one that it predicts; methods that learn and
    narrators that are not fitted to it are left out.
    Raises `ExplanationError` where either model cannot read the input, or they share no unit of it.
    """
    methods = options.get("methods")
    chosen = selection((methods,) if isinstance(methods, str) else methods_for(model) if methods is None else methods)
    narrators = chosen.narrators or ()
    options["methods"] = (*chosen.methods, *narrators)
    first = explain(model, to_example(text, text_pair), image=image, **options)
    asked = second_question(first.decision, first.order, second.name, second)
    possible = asked.methods if methods is not None else tuple(id for id in asked.methods if id in methods_for(second))
    fitted = {artifact.method for artifact in available_artifacts(second.name, second.version, "narrative")}
    other: Options = {
        **options,
        "methods": (*possible, *(narrator for narrator in narrators if narrator in fitted)),
        "label": asked.label,
        "versus": asked.versus,
        "erasure": asked.erasure,
    }
    return two_models(first, explain(second, to_example(text, text_pair), image=image, **other), narrators)


def input_name(number: int, index: object) -> str:
    """Return what an input of a list is called in an error."""
    return f"Input {number} (counted from 0{'' if index is None else f'; index {index!r}'})"


def checked_input(model: FrozenModel, name: str, item: Input, settings: Settings) -> Example:
    """Return an input of a list. Raises `ExplanationError` with its name, before the first one is explained."""
    try:
        example = to_example(item)
        checked_encoding(model, example, settings)
    except ExplanationError as error:
        raise ExplanationError(f"{name}: {error}") from error
    return example


def compare(
    model: FrozenModel,
    text: str | Example,
    methods: Sequence[str] | None,
    *,
    label: str | None,
    versus: str | None = None,
    settings: Settings,
    guess: Sequence[int] = (),
    given: Sequence[MethodSpec] = (),
    seconds: float | None = None,
    note: Callable[[str], None] | None = None,
) -> Comparison:
    """`explain` with the settings in one value, and with rows that are `given`, such as scores made elsewhere.

    `seconds` are a budget. `note` gets a line about the time that is left whenever a method is done, where the whole
    takes long.
    """
    chosen = Selection(methods_for(model)) if methods is None else selection(methods)
    specs = (*filter(None, [guess_spec(guess)]), *given, *select(chosen.methods))
    for narrator in chosen.narrators or ():
        find_artifact(model.name, model.version, narrator)
    model, began = with_pool(model), time.perf_counter()
    decision, probabilities = decide(model, text, label=label, versus=versus, settings=settings, budget=seconds)
    model = model.in_precision(decision.card.precision)
    order = tuple(spec.id for spec in applicable(select(spec.id for spec in specs), example_of(decision.encoding)))
    comparison = Comparison(decision, probabilities, order=order, budget=seconds)
    meter = Meter()
    budget = Budget(math.inf if seconds is None else seconds, meter, began)  # the check of bfloat16 counts
    able = [spec for spec in specs if spec.can_read(decision.encoding)]
    expected = expected_passes(able, settings, len(decision.encoding.units), len(model.erasures))
    for event in run(model, decision, specs, meter, narrators=chosen.narrators, budget=budget):
        comparison = comparison.with_event(event)
        left = budget.seconds_left(expected)
        if note is not None and isinstance(event, MethodResult) and left is not None and left >= WORTH_SAYING:
            note(f"{len(comparison.methods)} of {len(order)} methods done, about {wording.duration(left)} left")
    return answered(comparison, finished=True)


def methods_for(model: FrozenModel) -> tuple[str, ...]:
    """Return ids of the default methods, for a model in memory without those that learn, and for a function without
    those that need its inside."""
    in_memory, is_function = model.version.startswith(IN_MEMORY), isinstance(model, FunctionModel)
    return tuple(
        spec.id
        for spec in select(default_methods())
        if not (spec.learns and in_memory) and (spec.answers_only or not is_function)
    )


def class_name(model: FrozenModel, label: str | int | None) -> str | None:
    """The name of a class that is given by its name or its number. Raises `ExplanationError` for a wrong number."""
    if not isinstance(label, int):
        return label
    if not 0 <= label < len(model.labels):
        numbers = f"Choose a number from 0 to {len(model.labels) - 1}"
        raise ExplanationError(f"{model.name} has no class number {label}. {numbers}, or a name.")
    return model.labels[label]


def input_image(image: InputImage | Path | str | bytes) -> InputImage:
    """Raises `DataUnavailable` for an empty file; other defects show when it is read."""
    if isinstance(image, bytes):
        return InputImage.uploaded(image)
    return image if isinstance(image, InputImage) else InputImage(path=Path(image))
