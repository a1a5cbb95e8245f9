"""fAML, LIME and KernelSHAP at equal numbers of passes: the samplers get as many masks as fAML used passes on a text.

fAML starts from the weights selected by AOPC-C minus AOPC-S, and from those selected by AOPC-C; the passes are those of
the first. Every method starts without known answers and explains the predicted class under the operator `mask`.
The document is assets/docs/equal_calls.md.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from explainers.attribution.kernel_shap import KernelShap
from explainers.attribution.lime import Lime
from explainers.commands.options import show_progress
from explainers.comparison.decision import decide
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.learned.aml import FineTunedAml
from explainers.methods.registry import method_spec
from explainers.metrics import bootstrap, erasure, faithfulness
from explainers.models.calls import Meter, PredictionCache
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.report.tables import Table, TableColumn, bounds, command_block
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision
from explainers.studies.sampling.measure import sampling_texts

STEPS = (20, 80)  # of fAML: the method's own, and those that take about as many passes as 500 samples
FEWEST_UNITS = 9  # texts of fewer have fewer masks than fAML takes passes


@dataclass(frozen=True)
class EqualCalls:
    """One method at the passes of fAML with `steps`; `minus_faml` are differences text by text, AOPC-C and AOPC-S."""

    steps: int
    method: str
    calls: float  # mean
    aopc_c: bootstrap.Interval
    aopc_s: bootstrap.Interval
    minus_faml: tuple[bootstrap.Interval, bootstrap.Interval] | None


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
        decision, _ = decide(model, example)
        if len(decision.encoding.units) >= FEWEST_UNITS:
            texts += 1
            progress(f"text {texts} of at most {most}")
            results += _results(model, decision)
        if texts == most:
            break
    if not texts:
        raise ExplanationError(f"None of the texts has {FEWEST_UNITS} words or more.")
    return list(_rows(results))


def _results(model: FrozenModel, decision: Decision) -> Iterator[_Result]:
    for steps in STEPS:
        calls, figures = _measured(model, decision, FineTunedAml(steps=steps).attribute)
        yield _Result(steps, "faml", figures)
        yield _Result(steps, "faml:comp", _measured(model, decision, FineTunedAml("comp", steps).attribute)[1])
        shared = {"samples": calls, "seed": decision.settings.seed, "sampling": "shared"}
        for method in (Lime(**shared), KernelShap(**shared, per_unit=0)):  # type: ignore[arg-type]
            name = "lime" if isinstance(method, Lime) else "kernel_shap"
            yield _Result(steps, name, _measured(model, decision, method.attribute)[1])


def _measured(
    model: FrozenModel, decision: Decision, attribute: Callable[[FrozenModel, Encoding, int], Attribution]
) -> tuple[int, tuple[float, float, float]]:
    meter = Meter()
    scores = attribute(model.pooled(PredictionCache()).metered(meter), decision.encoding, decision.label).scores
    calls = meter.calls
    answers = erasure.MaskedPredictor(model, decision.encoding, "mask")
    values = faithfulness.measured(answers, scores, decision.label, faithfulness.decisive_metrics())
    return calls, (calls, values["aopc_c"], values["aopc_s"])


def _rows(results: Sequence[_Result]) -> Iterator[EqualCalls]:
    methods = tuple(dict.fromkeys(result.method for result in results))
    for steps in STEPS:
        by_method = {
            method: np.array([result.figures for result in results if (result.steps, result.method) == (steps, method)])
            for method in methods
        }
        for method, figures in by_method.items():
            gained = figures - by_method["faml"]
            differences = (
                None
                if method == "faml"
                else (bootstrap.mean_interval(gained[:, 1]), bootstrap.mean_interval(gained[:, 2]))
            )
            comp, suff = bootstrap.mean_interval(figures[:, 1]), bootstrap.mean_interval(figures[:, 2])
            yield EqualCalls(steps, method, float(figures[:, 0].mean()), comp, suff, differences)


HEAD = """Generated by this command for `{model}`, on {texts} {source} with {fewest} words or more. On every text LIME
and KernelSHAP get as many shared masks as fAML used passes, with the same steps. fAML keeps the best of its maps by the
metric itself, and the passes for that are counted; the samplers know no metric. The operator is `mask`; a difference is
that to fAML, text by text, and brackets are 95 % intervals."""


def equal_calls_document(rows: Sequence[EqualCalls], model: str, source: str, command: str) -> str:
    """`rows` are not empty; `source` says which texts."""
    head = HEAD.format(model=model, texts=rows[0].aopc_c.texts, source=source, fewest=FEWEST_UNITS)
    parts = ["# Methods at equal numbers of passes", command_block(command), head]
    for steps in dict.fromkeys(row.steps for row in rows):
        parts += [f"## {steps} steps of fAML", TABLE.markdown(row for row in rows if row.steps == steps)]
    return "\n\n".join(parts) + "\n"


def _difference(row: EqualCalls, metric: int) -> bootstrap.Interval | None:
    return None if row.minus_faml is None else row.minus_faml[metric]


TABLE: Table[EqualCalls] = Table(
    (
        TableColumn("method", lambda row: method_spec(row.method).name),
        TableColumn("passes", lambda row: row.calls, ".0f"),
        TableColumn("AOPC-C ↑", lambda row: row.aopc_c, bounds()),
        TableColumn("AOPC-S ↓", lambda row: row.aopc_s, bounds()),
        TableColumn("difference, AOPC-C", lambda row: _difference(row, 0), bounds(sign="+"), optional=True),
        TableColumn("difference, AOPC-S", lambda row: _difference(row, 1), bounds(sign="+"), optional=True),
    )
)


def write_equal_calls(path: Path, name: str, most: int, data: Path | None) -> str:
    """Writes the document, and returns it."""
    model = load(name)
    rows = equal_calls(model, sampling_texts(name, model.input_names, data), most, show_progress)
    command = f".venv/bin/python -m explainers study equal-calls --model {name} --out {path} --texts {most}"
    source = "texts of its test split" if data else "sentences of our own"
    document = equal_calls_document(rows, name, source, command + (" --data DATA" if data else ""))
    path.write_text(document, encoding="utf-8")
    return document
