"""One call from an input to a comparison: what a notebook, the command line and the app share."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from explainers.comparison.decision import decide
from explainers.comparison.runner import run
from explainers.comparison.verdict import verdict
from explainers.datasets.example import Example
from explainers.datasets.image import InputImage
from explainers.methods.given_specs import guess_spec
from explainers.methods.registry import select
from explainers.methods.selection import selection
from explainers.methods.spec import MethodSpec
from explainers.models.answer_pool import AnswerPool
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.requirements import to_example
from explainers.models.meter import Meter
from explainers.report.document import fragment
from explainers.results.comparison import Comparison, Failure, MethodResult, RandomControl
from explainers.results.narrative import Narrative, NarrativeCheck
from explainers.results.operator_check import OperatorCheck
from explainers.results.sampling import DEFAULT_SAMPLING
from explainers.results.settings import UNTIL_SETTLED, Settings, checked_settings
from explainers.training.artifacts import find_artifact

Comparison._repr_html_ = fragment  # type: ignore[attr-defined]  # the notebook's view; results know no report


def explain(
    model: FrozenModel,
    text: str | Example,
    text_pair: str | None = None,
    *,
    image: InputImage | Path | str | bytes | None = None,
    methods: Sequence[str] | None = None,
    label: str | None = None,
    erasure: str = "mask",
    unit: str = "word",
    samples: int = UNTIL_SETTLED,
    steps: int = 50,
    seed: int = 0,
    sampling: str = DEFAULT_SAMPLING,
    guess: Sequence[int] = (),
) -> Comparison:
    """Explains why the model predicts its class (or what supports `label`) with each method, and measures each.

    `text_pair` is the second text for a model of pairs, such as the hypothesis; `image` a file, its path or its content
    for a multimodal model; `methods` are ids of methods and narrators, by default those that the app chooses and all
    fitted narrators; `samples` a number for LIME and KernelSHAP, by default as many as they need to settle; `sampling`
    is "captum" or "shared"; `guess` are numbers of units that you find important, the most
    important first. Raises `ExplanationError` with a sentence for whatever is wrong with the input.
    """
    example = to_example(text, text_pair)
    settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
    if image is not None:
        example = replace(example, image=input_image(image))
    return compare(model, example, methods, label=label, settings=settings, guess=guess)


def compare(
    model: FrozenModel,
    text: str | Example,
    methods: Sequence[str] | None,
    *,
    label: str | None,
    settings: Settings,
    guess: Sequence[int] = (),
    given: Sequence[MethodSpec] = (),
) -> Comparison:
    """`explain` with the settings in one value, and with rows that are `given`, such as scores made elsewhere."""
    chosen = selection(methods)
    specs = (*filter(None, [guess_spec(guess)]), *given, *select(chosen.methods))
    for narrator in chosen.narrators or ():
        find_artifact(model.name, model.version, narrator)
    decision = decide(model.pooled(AnswerPool()), text, label=label, settings=settings)
    events = list(run(decision.question, specs, Meter(), narrators=chosen.narrators))
    comparison = Comparison(
        decision.question,
        decision.probabilities,
        results=in_display_order([event for event in events if isinstance(event, MethodResult)]),
        random_control=next((event for event in events if isinstance(event, RandomControl)), None),
        failures=tuple(event for event in events if isinstance(event, Failure)),
        ablated_inputs=decision.ablated_inputs,
        narratives=tuple(event for event in events if isinstance(event, Narrative)),
        narrative_checks=tuple(event for event in events if isinstance(event, NarrativeCheck)),
        operator_checks=tuple(event for event in events if isinstance(event, OperatorCheck)),
    )
    return replace(comparison, verdict=verdict(comparison, finished=True))


def input_image(image: InputImage | Path | str | bytes) -> InputImage:
    """Raises `DataUnavailable` for an empty file; other defects show when it is read."""
    if isinstance(image, bytes):
        return InputImage.uploaded(image)
    return image if isinstance(image, InputImage) else InputImage(path=Path(image))


def in_display_order(results: Sequence[MethodResult]) -> tuple[MethodResult, ...]:
    order = [spec.id for spec in select({result.attribution.method for result in results})]
    return tuple(sorted(results, key=lambda result: order.index(result.attribution.method)))
