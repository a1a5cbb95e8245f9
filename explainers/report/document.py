"""A comparison as HTML: a fragment for notebooks, and a self-contained page without scripts, light and dark.

Each section is a pure function to HTML; what people typed is escaped here.
"""

import json
from typing import TYPE_CHECKING

from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS, method_spec, select
from explainers.metrics.faithfulness import METRICS, decisive_metric
from explainers.metrics.spec import MetricSpec
from explainers.report import colours, narratives, wording
from explainers.report.answer import UNDECIDED
from explainers.report.heatmap import heatmap, legend, plain_image
from explainers.report.metric_rows import MetricRow, metric_rows
from explainers.report.summary import summary
from explainers.report.tables import Table, TableColumn

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison
    from explainers.results.events import MethodResult


BORDERS = {"solid": "solid", "dash": "dashed", "dot": "dotted"}
OPTIMISED_NOTE = (
    "† was fitted on this very input and selected by AOPC-C and AOPC-S, to which log-odds and DFFOT are closely "
    "related, so it is not compared with the others. Compare it under an erasure operator that it was not fitted with."
)
TABLE_NOTES = (
    "Bold: supported, that is better than random orders and in line with the consensus. Pale: not shown to be better "
    "than random. Inputs with erased units can be unlike the training data."
)


def prediction(comparison: "Comparison") -> str:
    """The image, and every class with its probability, the likeliest first; what is explained is marked."""
    model, target = comparison.decision.card, comparison.decision.target
    marks = {target.label: " (explained)", target.versus: " (explained rather than this one)"}
    order = sorted(range(len(model.labels)), key=lambda index: -comparison.probabilities[index])
    bars = "".join(
        f"<dt><bdi>{wording.escaped(model.labels[index])}</bdi>{marks.get(index, '')}</dt>"
        f'<dd><span class="bar" style="width: {100 * comparison.probabilities[index]:.1f}%"></span></dd>'
        f"<dd>{wording.decimals(comparison.probabilities[index], 3)}</dd>"
        for index in order
    )
    warning = comparison.decision.encoding.warning
    labels = wording.labels_line(model, comparison.probabilities)
    doubt = wording.class_words_warning(comparison.decision, comparison.probabilities)
    notes = [f"Model: {model.name}.", labels, wording.class_words_line(comparison.decision), doubt, warning]
    if comparison.removed:
        notes.append(f"{len(comparison.removed)} removed before; the explanations are of the rest.")
    if comparison.ablated_inputs is not None:
        notes.append(f"{wording.ablated_inputs_line(comparison.ablated_inputs)}.")
    note = " ".join(wording.escaped(note) for note in notes if note)
    image = comparison.decision.encoding.image
    prompt = "" if model.prompt is None else f'<pre class="note">{wording.escaped(model.prompt.template)}</pre>'
    return f'{plain_image(image) if image else ""}<dl class="bars">{bars}</dl><p class="note">{note}</p>{prompt}'


def cards(comparison: "Comparison", preset: str) -> str:
    """A card per method with its heatmap, or with the reason why it failed."""
    finished = [_card(result, comparison, preset) for result in comparison.results]
    failures = [failure for failure in comparison.failures if failure.method not in NARRATORS.ids]
    names = (method_spec(failure.method).name for failure in failures)
    failed = [
        f'<section class="card"><h3>{wording.escaped(name)}</h3><p>{wording.escaped(failure.reason)}</p></section>'
        for name, failure in zip(names, failures, strict=True)
    ]
    return f'<div class="cards">{"".join([*finished, *failed])}</div>'


def _card(result: "MethodResult", comparison: "Comparison", preset: str) -> str:
    attribution, spec, label = result.attribution, method_spec(result.attribution.method), comparison.explained
    notes = [spec.kind, "signed" if attribution.signed else "unsigned"]
    notes += ["ended early, more time would better it"] if attribution.ended_early else []
    notes += [f"gap {wording.decimals(attribution.gap, 4)}"] if attribution.gap is not None else []
    notes += [f"spread ±{wording.number(max(attribution.spread))}"] if attribution.spread else []
    calls = f"{attribution.model_calls:,} call{'' if attribution.model_calls == 1 else 's'}"
    metric = decisive_metric("removing")
    value = f"{wording.escaped(metric.name)} {wording.decimals(result.metrics.get(metric.id))}"
    if comparison.random_control is not None and attribution.method == comparison.random_control.method:
        value = f"one of {len(comparison.random_control.curves)} orders; their metrics stand in the table"
    return (
        f'<section class="card"><h3>{wording.escaped(spec.name)} '
        f"<small>{wording.escaped(' · '.join(notes))}</small></h3>"
        f'<div class="text">{heatmap(attribution, label, preset=preset, names=comparison.names)}</div>'
        f"{legend(attribution, label, preset=preset)}"
        f'<p class="note">{wording.decimals(attribution.seconds)} s · {calls} · {value}</p></section>'
    )


def metrics_table(comparison: "Comparison") -> str:
    """Methods by metrics, with the erasure operator on which they depend."""
    rows = metric_rows(comparison)
    optimised = f"<br>{OPTIMISED_NOTE}" if any(row.optimised for row in rows) else ""
    ties = "".join(f"<br>{wording.escaped(row.name)}: {wording.escaped(row.ties_note)}" for row in rows if row.ties)
    return (
        f'<div class="wide">{_metric_columns().html(rows)}</div>'
        f'<p class="note">Erased by {wording.escaped(comparison.decision.settings.erasure)}'
        f", per {wording.escaped(_units(comparison))}, for {wording.the_class(comparison.decision)}"
        f"<bdi>{wording.escaped(comparison.explained)}</bdi>. ↑ higher is better, ↓ lower is better. "
        f"{TABLE_NOTES}{optimised}{ties}</p>"
    )


def _units(comparison: "Comparison") -> str:
    name = comparison.decision.settings.name_of_unit
    return f"{name} and patch" if comparison.decision.encoding.multimodal else name


def _metric_columns() -> Table[MetricRow]:
    """Method, metrics and costs. Built when asked for, as metrics can be registered later."""
    return Table(
        (
            TableColumn("Method", lambda row: row.name),
            *map(_metric_column, METRICS),
            TableColumn("seconds", lambda row: row.seconds, wording.decimals, undefined=""),
            TableColumn("calls", lambda row: row.calls, ",", undefined=""),
        ),
        title=lambda row: row.title,
        kind=_kind_of_row,
    )


def _kind_of_row(row: MetricRow) -> str:
    """Return "best" where a row is supported, "pale" where it is not shown to be better than random."""
    if row.group == "random" and row.title != UNDECIDED.lower():
        return "pale"
    return "best" if row.group == "supported" else ""


def _metric_column(metric: MetricSpec) -> TableColumn[MetricRow]:
    def spread(row: MetricRow) -> str:
        noise = row.noise[metric.id]
        noisy = metric.sampling_noise and noise > 0  # false for NaN
        return f" ± {wording.decimals(noise, metric.places)}" if noisy else ""

    return TableColumn(
        f"{metric.name} {metric.arrow}",
        lambda row: row.metrics[metric.id],
        lambda value: wording.decimals(value, metric.places),
        note=spread,
        meaning=metric.meaning,
    )


def curves(comparison: "Comparison") -> str:
    """Both plots and one legend."""
    from explainers.report.plots import inline_svg, line_name  # matplotlib takes a while, and only files need it

    plots = "".join(f"<div>{inline_svg(comparison, kept=kept)}</div>" for kept in (False, True))
    results = comparison.displayed_results
    lines = [
        _legend_line(line_name(result), result.method, BORDERS[colours.line_of(result.method).dash])
        for result in results
    ]
    control = comparison.random_control
    if control is not None:
        lines.append(_legend_line(f"Random: mean and range of {len(control.curves)} orders", control.method, "solid"))
    return f'<div class="curves">{plots}</div><p class="lines">{"".join(lines)}</p>'


def _legend_line(name: str, method: str, border: str) -> str:
    return (
        f'<span><i style="border-top: 3px {border} {colours.line_of(method).colour}"></i>{wording.escaped(name)}</span>'
    )


def methods_explained(comparison: "Comparison") -> str:
    """What each method of the comparison is, and when not to believe it."""
    controls = {spec.id for spec in METHODS if spec.is_random}
    items = "".join(
        f"<dt>{wording.escaped(spec.name)}</dt><dd>{wording.escaped(spec.idea)} {wording.escaped(spec.caution)} "
        f"<small>{wording.escaped(spec.source)}</small></dd>"
        for spec in select({*comparison.methods, *controls})
    )
    return f'<dl class="methods">{items}</dl>'


def run_manifest(comparison: "Comparison") -> str:
    content = json.dumps(comparison.manifest(), ensure_ascii=False, indent=2)
    return f"<details><summary>How to reproduce these numbers</summary><pre>{wording.escaped(content)}</pre></details>"


POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
FAINT = "rgba(128, 128, 128, 0.35)"
FRAGMENT_STYLE = f"""
.crosslight {{ max-width: 72rem; line-height: 1.45; text-align: start; }}
.crosslight h2 {{ font-size: 1.15em; margin: 1.6em 0 0.5em; }}
.crosslight h3 {{ font-size: 1em; margin: 0 0 0.4em; }}
.crosslight small, .crosslight .note {{ font-size: 0.85em; font-weight: normal; opacity: 0.75; margin: 0.4em 0 0; }}
.crosslight .summary {{ font-size: 1.05em; max-width: 60rem; overflow-wrap: anywhere; }}
.crosslight .bars {{ display: grid; grid-template-columns: fit-content(45%) 1fr 4em; gap: 0.2em 0.8em;
  max-width: 40rem; margin: 0; align-items: center; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }}
.crosslight dd {{ margin: 0; }}
.crosslight .bar {{ display: block; height: 0.8em; border-radius: 3px; background: rgb(50, 130, 230); }}
.crosslight .cards {{ display: grid;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1em; }}
.crosslight .card {{ border: 1px solid {FAINT}; border-radius: 8px; padding: 0.8em; min-width: 0; }}
.crosslight .text {{ max-height: 24em; overflow-y: auto; margin-bottom: 0.5em; padding: 0 2px; }}
.crosslight .wide {{ overflow-x: auto; }}
.crosslight table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
.crosslight th, .crosslight td {{ text-align: right; padding: 0.3em 0.7em; border-bottom: 1px solid {FAINT};
  white-space: nowrap; background: none; color: inherit; }}
.crosslight th:first-child, .crosslight td:first-child {{ text-align: left; }}
.crosslight .best {{ font-weight: 700; }}
.crosslight .group td {{ font-size: 0.85em; opacity: 0.8; padding-top: 0.8em; border-bottom: none; text-align: left; }}
.crosslight .pale {{ opacity: 0.65; }}
.crosslight .curves {{ display: flex; flex-wrap: wrap; gap: 1em; }}
.crosslight .curves > div {{ flex: 1 1 18rem; max-width: 34rem; }}
.crosslight .curves svg {{ width: 100%; }}
.crosslight .lines {{ display: flex; flex-wrap: wrap; gap: 0.3em 1.4em; font-size: 0.9em; }}
.crosslight .lines i {{ display: inline-block; width: 2em; vertical-align: middle; margin-right: 0.5em; }}
.crosslight .methods dt {{ font-weight: 600; margin-top: 0.7em; }}
.crosslight pre {{ white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.85em; }}
"""
PAGE_STYLE = """
:root { color-scheme: light dark; --page: #ffffff; }
body { font-family: system-ui, "Segoe UI", "Noto Sans", sans-serif; margin: 1.5rem auto; padding: 0 1rem;
  max-width: 72rem; background: var(--page); color: #31333f; }
@media (prefers-color-scheme: dark) { :root { --page: #0e1117; } body { color: #fafafa; } }
.crosslight .wide { /* a shadow at the side where more can be scrolled to */
  background: linear-gradient(to right, var(--page) 40%, transparent),
    linear-gradient(to left, var(--page) 40%, transparent),
    linear-gradient(to right, #80808099, transparent), linear-gradient(to left, #80808099, transparent);
  background-position: left, right, left, right; background-repeat: no-repeat;
  background-size: 2rem 100%, 2rem 100%, 0.7rem 100%, 0.7rem 100%;
  background-attachment: local, local, scroll, scroll; }
h1 { font-size: 1.4em; overflow-wrap: anywhere; }
"""


def fragment(comparison: "Comparison", *, preset: str = "safe") -> str:
    """Prediction, summary, heatmaps, metrics and curves, in the colours of the surrounding page."""
    return (
        f'<style>{FRAGMENT_STYLE}</style><div class="crosslight">'
        f"{prediction(comparison)}"
        f'<p class="summary">{wording.escaped(summary(comparison)).replace(" %", "&nbsp;%")}</p>'
        f"{cards(comparison, preset)}{narratives.narratives_section(comparison)}"
        f"<h2>Metrics</h2>{metrics_table(comparison)}"
        f"<h2>Curves</h2>{curves(comparison)}</div>"
    )


def document(comparison: "Comparison", *, preset: str = "safe") -> str:
    """The page to send or print; its content security policy allows no scripts and no requests."""
    text, label = (
        wording.one_line(" / ".join(comparison.decision.encoding.texts), 80),
        wording.target_name(comparison.decision),
    )
    heading = f"“<bdi>{wording.escaped(text)}</bdi>”: what supports <bdi>{wording.escaped(label)}</bdi>"
    body = f"""{fragment(comparison, preset=preset)}
<div class="crosslight">
<h2>The methods, and when not to believe them</h2>
{methods_explained(comparison)}
{run_manifest(comparison)}
</div>"""
    return standalone_page(f"“{text}”: what supports {label}", body, heading=heading)


def standalone_page(title: str, body: str, *, heading: str = "", style: str = "") -> str:
    """Return a page without scripts, which loads nothing. `body`, and `heading` in place of the title, are HTML."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Crosslight">
<title>{wording.escaped(title)}</title>
<style>{PAGE_STYLE}{style}</style>
</head>
<body>
<h1>{heading or wording.escaped(title)}</h1>
{body}
</body>
</html>
"""
