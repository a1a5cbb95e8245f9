"""fAML, LIME and KernelSHAP at equal numbers of passes: the samplers get as many masks as fAML used passes on a text.

fAML starts from the weights selected by AOPC-C minus AOPC-S, and from those selected by AOPC-C; the passes are those of
the first. Every method starts without known answers and explains the predicted class under the operator `mask`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from explainers.attribution.kernel_shap import KernelShap
from explainers.attribution.lime import Lime
from explainers.comparison.question import ask
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.learned.aml import FineTunedAml
from explainers.metrics.erasure import Answers, erasure_curves
from explainers.metrics.faithfulness import aopc_comprehensiveness, aopc_sufficiency
from explainers.metrics.intervals import Interval, paired
from explainers.models.answer_pool import AnswerPool
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.models.meter import Meter
from explainers.results.attribution import Attribution
from explainers.results.comparison import Question
from explainers.results.erasure_curves import metric_counts

STEPS = (20, 80)  # of fAML: the method's own, and those that take about as many passes as 500 samples
FEWEST_UNITS = 9  # texts of fewer have fewer masks than fAML takes passes


@dataclass(frozen=True)
class EqualCalls:
    """One method at the passes of fAML with `steps`; `minus_faml` are differences text by text, AOPC-C and AOPC-S."""

    steps: int
    method: str
    calls: float  # mean
    aopc_c: Interval
    aopc_s: Interval
    minus_faml: tuple[Interval, Interval] | None


@dataclass(frozen=True)
class _Result:
    steps: int
    method: str
    figures: tuple[float, float, float]  # passes, AOPC-C, AOPC-S


def equal_calls(
    model: FrozenModel, inputs: Sequence[Example], most: int, progress: Callable[[str], None]
) -> list[EqualCalls]:
    """The rows of every number of steps, fAML first; on the first `most` inputs that have `FEWEST_UNITS` or more.

    Raises `ExplanationError` if there is none, or if the model has no weights of AML.
    """
    results: list[_Result] = []
    texts = 0
    for example in inputs:
        question, _ = ask(model, example)
        if len(question.encoding.units) >= FEWEST_UNITS:
            texts += 1
            progress(f"text {texts} of at most {most}")
            results += _results(question)
        if texts == most:
            break
    if not texts:
        raise ExplanationError(f"None of the texts has {FEWEST_UNITS} words or more.")
    return list(_rows(results))


def _results(question: Question) -> Iterator[_Result]:
    for steps in STEPS:
        calls, figures = _measured(question, FineTunedAml(steps=steps).attribute)
        yield _Result(steps, "faml", figures)
        yield _Result(steps, "faml:comp", _measured(question, FineTunedAml("comp", steps).attribute)[1])
        shared = {"samples": calls, "seed": question.settings.seed, "sampling": "shared"}
        for method in (Lime(**shared), KernelShap(**shared, per_unit=0)):  # type: ignore[arg-type]
            name = "lime" if isinstance(method, Lime) else "kernel_shap"
            yield _Result(steps, name, _measured(question, method.attribute)[1])


def _measured(
    question: Question, attribute: Callable[[FrozenModel, Encoding, int], Attribution]
) -> tuple[int, tuple[float, float, float]]:
    meter = Meter()
    alone = replace(question, model=question.model.pooled(AnswerPool()).metered(meter))
    scores = attribute(alone.model, alone.encoding, alone.label).scores
    calls = meter.calls
    answers = Answers(question.model, question.encoding, "mask")
    curves = erasure_curves(answers, scores, question.label, metric_counts(len(scores)))
    return calls, (calls, aopc_comprehensiveness(curves), aopc_sufficiency(curves))


def _rows(results: Sequence[_Result]) -> Iterator[EqualCalls]:
    methods = tuple(dict.fromkeys(each.method for each in results))
    for steps in STEPS:
        by_method = {
            method: np.array([each.figures for each in results if (each.steps, each.method) == (steps, method)])
            for method in methods
        }
        for method, figures in by_method.items():
            gained = figures - by_method["faml"]
            differences = None if method == "faml" else (paired(gained[:, 1]), paired(gained[:, 2]))
            comp, suff = paired(figures[:, 1]), paired(figures[:, 2])
            yield EqualCalls(steps, method, float(figures[:, 0].mean()), comp, suff, differences)
