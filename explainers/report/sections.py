"""The parts of a document about one comparison, each a pure function to HTML. What people typed is escaped here."""

import json
from typing import TYPE_CHECKING

from explainers.methods import chosen
from explainers.metrics.faithfulness import METRICS
from explainers.narrative.entries import IDS as NARRATORS
from explainers.report.colours import line_of
from explainers.report.heatmap import heatmap, legend
from explainers.report.patches import plain
from explainers.report.rows import RANDOM, MetricRow, metric_rows, shown
from explainers.report.text import decimals, escaped, number

if TYPE_CHECKING:
    from explainers.api import Comparison
    from explainers.comparison import Measured

BORDERS = {"solid": "solid", "dash": "dashed", "dot": "dotted"}
APART_NOTE = (
    "† was fitted on this very text and kept by AOPC-C and AOPC-S, of which log-odds and DFFOT are near kin, so it is "
    "not compared with the others; score it by a way of erasing that it did not see."
)
TABLE_NOTES = (
    "Bold: best, and the lead is larger than chance explains; nothing bold means that no method leads. "
    "Pale: not beyond the 95 % band of the random orders. Erasing can leave what the model was trained on."
)


def prediction(comparison: "Comparison") -> str:
    """The picture, and every class with its probability, the likeliest first; the explained one is marked."""
    model, explained = comparison.question.model, comparison.question.label
    order = sorted(range(len(model.labels)), key=lambda index: -comparison.probabilities[index])
    bars = "".join(
        f"<dt><bdi>{escaped(model.labels[index])}</bdi>{' (explained)' if index == explained else ''}</dt>"
        f'<dd><span class="bar" style="width: {100 * comparison.probabilities[index]:.1f}%"></span></dd>'
        f"<dd>{decimals(comparison.probabilities[index], 3)}</dd>"
        for index in order
    )
    notes = [f"Model: {model.name}.", comparison.question.encoding.notice]
    if comparison.removed:
        notes.append(f"{len(comparison.removed)} removed before; what is left is explained.")
    if comparison.one_text_alone is not None:
        notes.append(f"{comparison.one_text_alone}.")
    said = " ".join(escaped(note) for note in notes if note)
    picture = comparison.question.encoding.picture
    return f'{plain(picture) if picture else ""}<dl class="bars">{bars}</dl><p class="note">{said}</p>'


def cards(comparison: "Comparison", preset: str) -> str:
    """A card per method with its heatmap; a method that failed keeps its place with the reason."""
    made = [_card(result, comparison.label, comparison.names, preset) for result in comparison.results]
    for failure in (each for each in comparison.failures if each.method not in NARRATORS):
        (entry,) = chosen([failure.method])
        made.append(f'<section class="card"><h3>{escaped(entry.name)}</h3><p>{escaped(failure.reason)}</p></section>')
    return f'<div class="cards">{"".join(made)}</div>'


def _card(result: "Measured", label: str, names: tuple[str, ...], preset: str) -> str:
    found = result.attribution
    (entry,) = chosen([found.method])
    kind = [entry.kind, "signed" if found.signed else "unsigned"]
    kind += [f"gap {decimals(found.gap, 4)}"] if found.gap is not None else []
    kind += [f"spread ±{number(max(found.spread))}"] if found.spread else []
    calls = f"{found.model_calls:,} call{'' if found.model_calls == 1 else 's'}"
    cost = f"{decimals(found.seconds)} s · {calls} · AOPC-C {decimals(result.metrics['aopc_c'])}"
    coloured = heatmap(found, label, preset=preset, names=names)
    return (
        f'<section class="card"><h3>{escaped(entry.name)} <small>{escaped(" · ".join(kind))}</small></h3>'
        f'<div class="text">{coloured}</div>{legend(found, label, preset=preset)}'
        f'<p class="note">{cost}</p></section>'
    )


def table(comparison: "Comparison") -> str:
    """Methods by figures, with the operator that they depend on."""
    settings = comparison.question.settings
    head = "".join(
        f'<th title="{escaped(metric.meaning)}">{escaped(metric.name)} {"↑" if metric.higher_is_better else "↓"}</th>'
        for metric in METRICS
    )
    rows = metric_rows(comparison)
    body = "".join(_row(row) for row in rows)
    apart = f"<br>{APART_NOTE}" if any(row.apart for row in rows) else ""
    ties = "".join(f"<br>{escaped(row.name)}: {escaped(row.ties_note)}" for row in rows if row.ties)
    return (
        f'<div class="wide"><table><thead><tr><th>Method</th>{head}<th>seconds</th><th>calls</th></tr></thead>'
        f'<tbody>{body}</tbody></table></div><p class="note">Erased by {escaped(settings.erasure)}, per '
        f"{escaped(_per(comparison))}, for the class <bdi>{escaped(comparison.label)}</bdi>. ↑ higher is better, "
        f"↓ lower is better. {TABLE_NOTES}{apart}{ties}</p>"
    )


def _per(comparison: "Comparison") -> str:
    return f"{comparison.question.settings.unit}{' and patch' if comparison.question.encoding.pictured else ''}"


def _row(row: MetricRow) -> str:
    cells = []
    for metric in METRICS:
        kind = "best" if metric.id in row.best else "" if metric.id in row.beyond_chance or row.apart else "pale"
        spread = f" ± {decimals(row.noise[metric.id], 3)}" if row.noise[metric.id] and metric.id != "dffot" else ""
        cells.append(f'<td class="{kind}">{decimals(row.metrics[metric.id], 3)}{spread}</td>')
    seconds = "" if row.seconds is None else decimals(row.seconds)
    calls = "" if row.calls is None else f"{row.calls:,}"
    return f"<tr><td>{escaped(row.name)}</td>{''.join(cells)}<td>{seconds}</td><td>{calls}</td></tr>"


def curves(comparison: "Comparison") -> str:
    """Both drawings and one legend."""
    from explainers.report.figures import inline_svg  # matplotlib takes a while, and only files need it

    drawn = "".join(f"<div>{inline_svg(comparison, kept=kept)}</div>" for kept in (False, True))
    lines = [(entry.name, entry.id) for entry in chosen(result.attribution.method for result in shown(comparison))]
    if comparison.chance:
        lines.append((f"Random: mean and range of {len(comparison.chance.paths)} orders", RANDOM))
    names = "".join(
        f'<span><i style="border-top: 3px {"solid" if method == RANDOM else BORDERS[line_of(method).dash]} '
        f'{line_of(method).colour}"></i>{escaped(name)}</span>'
        for name, method in lines
    )
    return f'<div class="curves">{drawn}</div><p class="lines">{names}</p>'


def methods_explained(comparison: "Comparison") -> str:
    """What each method of the comparison is, and when not to believe it."""
    present = {result.attribution.method for result in comparison.results} | {RANDOM}
    items = "".join(
        f"<dt>{escaped(entry.name)}</dt><dd>{escaped(entry.idea)} {escaped(entry.caution)} "
        f"<small>{escaped(entry.source)}</small></dd>"
        for entry in chosen(present)
    )
    return f'<dl class="methods">{items}</dl>'


def run_manifest(comparison: "Comparison") -> str:
    from explainers.manifest import manifest

    shown_as = json.dumps(
        manifest(comparison.question, comparison.methods),
        ensure_ascii=False,
        indent=2,
    )
    return f"<details><summary>How to get the same figures again</summary><pre>{escaped(shown_as)}</pre></details>"
