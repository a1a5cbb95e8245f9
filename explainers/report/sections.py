"""The sections of a document about one comparison, each a pure function to HTML. What people typed is escaped here."""

import json
from typing import TYPE_CHECKING

from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS, method_spec, select
from explainers.metrics.faithfulness import METRICS, verdict_metric
from explainers.metrics.spec import MetricSpec
from explainers.report.ablated_inputs import ablated_inputs_line
from explainers.report.colours import line_of
from explainers.report.heatmap import heatmap, legend
from explainers.report.image_overlay import plain_image
from explainers.report.metric_rows import MetricRow, metric_rows
from explainers.report.text import decimals, escaped, number

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison, MethodResult

BORDERS = {"solid": "solid", "dash": "dashed", "dot": "dotted"}
OPTIMISED_NOTE = (
    "† was fitted on this very input and selected by AOPC-C and AOPC-S, to which log-odds and DFFOT are closely "
    "related, so it is not compared with the others. Compare it under an erasure operator that it was not fitted with."
)
TABLE_NOTES = (
    "Bold: the best, and all that noise does not tell from it; without bold, no method leads. "
    "Pale: not beyond the 95 % band of the random orders. Inputs with erased units can be unlike the training data."
)


def prediction(comparison: "Comparison") -> str:
    """The image, and every class with its probability, the likeliest first; the explained one is marked."""
    model, explained = comparison.question.model, comparison.question.label
    order = sorted(range(len(model.labels)), key=lambda index: -comparison.probabilities[index])
    bars = "".join(
        f"<dt><bdi>{escaped(model.labels[index])}</bdi>{' (explained)' if index == explained else ''}</dt>"
        f'<dd><span class="bar" style="width: {100 * comparison.probabilities[index]:.1f}%"></span></dd>'
        f"<dd>{decimals(comparison.probabilities[index], 3)}</dd>"
        for index in order
    )
    notes = [f"Model: {model.name}.", comparison.question.encoding.warning]
    if comparison.removed:
        notes.append(f"{len(comparison.removed)} removed before; the explanations are of the rest.")
    if comparison.ablated_inputs is not None:
        notes.append(f"{ablated_inputs_line(comparison.ablated_inputs)}.")
    note = " ".join(escaped(note) for note in notes if note)
    image = comparison.question.encoding.image
    return f'{plain_image(image) if image else ""}<dl class="bars">{bars}</dl><p class="note">{note}</p>'


def cards(comparison: "Comparison", preset: str) -> str:
    """A card per method with its heatmap, or with the reason why it failed."""
    finished = [_card(result, comparison, preset) for result in comparison.results]
    failures = [failure for failure in comparison.failures if failure.method not in NARRATORS.ids]
    names = (method_spec(failure.method).name for failure in failures)
    failed = [
        f'<section class="card"><h3>{escaped(name)}</h3><p>{escaped(failure.reason)}</p></section>'
        for name, failure in zip(names, failures, strict=True)
    ]
    return f'<div class="cards">{"".join([*finished, *failed])}</div>'


def _card(result: "MethodResult", comparison: "Comparison", preset: str) -> str:
    attribution, spec, label = result.attribution, method_spec(result.attribution.method), comparison.label
    notes = [spec.kind, "signed" if attribution.signed else "unsigned"]
    notes += [f"gap {decimals(attribution.gap, 4)}"] if attribution.gap is not None else []
    notes += [f"spread ±{number(max(attribution.spread))}"] if attribution.spread else []
    calls = f"{attribution.model_calls:,} call{'' if attribution.model_calls == 1 else 's'}"
    metric = verdict_metric("removing")
    value = f"{escaped(metric.name)} {decimals(result.metrics.get(metric.id))}"
    if comparison.random_control is not None and attribution.method == comparison.random_control.method:
        value = f"one of {len(comparison.random_control.curves)} orders; their metrics stand in the table"
    return (
        f'<section class="card"><h3>{escaped(spec.name)} <small>{escaped(" · ".join(notes))}</small></h3>'
        f'<div class="text">{heatmap(attribution, label, preset=preset, names=comparison.names)}</div>'
        f"{legend(attribution, label, preset=preset)}"
        f'<p class="note">{decimals(attribution.seconds)} s · {calls} · {value}</p></section>'
    )


def metrics_table(comparison: "Comparison") -> str:
    """Methods by metrics, with the erasure operator on which they depend."""
    head = "".join(
        f'<th title="{escaped(metric.meaning)}">{escaped(metric.name)} {metric.arrow}</th>' for metric in METRICS
    )
    rows = metric_rows(comparison)
    body = "".join(_row(row) for row in rows)
    optimised = f"<br>{OPTIMISED_NOTE}" if any(row.optimised for row in rows) else ""
    ties = "".join(f"<br>{escaped(row.name)}: {escaped(row.ties_note)}" for row in rows if row.ties)
    return (
        f'<div class="wide"><table><thead><tr><th>Method</th>{head}<th>seconds</th><th>calls</th></tr></thead>'
        f'<tbody>{body}</tbody></table></div><p class="note">Erased by {escaped(comparison.question.settings.erasure)}'
        f", per {escaped(_units(comparison))}, for the class <bdi>{escaped(comparison.label)}</bdi>. "
        f"↑ higher is better, ↓ lower is better. {TABLE_NOTES}{optimised}{ties}</p>"
    )


def _units(comparison: "Comparison") -> str:
    return f"{comparison.question.settings.unit}{' and patch' if comparison.question.encoding.multimodal else ''}"


def _row(row: MetricRow) -> str:
    cells = "".join(_cell(row, metric) for metric in METRICS)
    seconds = "" if row.seconds is None else decimals(row.seconds)
    calls = "" if row.calls is None else f"{row.calls:,}"
    return f"<tr><td>{escaped(row.name)}</td>{cells}<td>{seconds}</td><td>{calls}</td></tr>"


def _cell(row: MetricRow, metric: MetricSpec) -> str:
    value, noise = row.metrics[metric.id], row.noise[metric.id]
    kind = "best" if metric.id in row.best else "" if metric.id in row.beats_random or row.optimised else "pale"
    noisy = metric.sampling_noise and noise > 0  # false for NaN
    spread = f" ± {decimals(noise, metric.places)}" if noisy else ""
    return f'<td class="{kind}">{decimals(value, metric.places)}{spread}</td>'


def curves(comparison: "Comparison") -> str:
    """Both plots and one legend."""
    from explainers.report.plots import inline_svg  # matplotlib takes a while, and only files need it

    plots = "".join(f"<div>{inline_svg(comparison, kept=kept)}</div>" for kept in (False, True))
    specs = select(result.attribution.method for result in comparison.displayed_results)
    lines = [_legend_line(spec.name, spec.id, BORDERS[line_of(spec.id).dash]) for spec in specs]
    control = comparison.random_control
    if control is not None:
        lines.append(_legend_line(f"Random: mean and range of {len(control.curves)} orders", control.method, "solid"))
    return f'<div class="curves">{plots}</div><p class="lines">{"".join(lines)}</p>'


def _legend_line(name: str, method: str, border: str) -> str:
    return f'<span><i style="border-top: 3px {border} {line_of(method).colour}"></i>{escaped(name)}</span>'


def methods_explained(comparison: "Comparison") -> str:
    """What each method of the comparison is, and when not to believe it."""
    controls = {spec.id for spec in METHODS if spec.is_random}
    items = "".join(
        f"<dt>{escaped(spec.name)}</dt><dd>{escaped(spec.idea)} {escaped(spec.caution)} "
        f"<small>{escaped(spec.source)}</small></dd>"
        for spec in select({*comparison.methods, *controls})
    )
    return f'<dl class="methods">{items}</dl>'


def run_manifest(comparison: "Comparison") -> str:
    content = json.dumps(comparison.manifest(), ensure_ascii=False, indent=2)
    return f"<details><summary>How to reproduce these numbers</summary><pre>{escaped(content)}</pre></details>"
