"""What an explained set says, as tables, as Markdown for the terminal, and as a page that stands alone."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from explainers.evaluation import names, sanity_summary, set_frames, set_summary
from explainers.methods.registry import METHODS, method_spec
from explainers.metrics import bootstrap, faithfulness, plausibility
from explainers.metrics.spec import MetricSpec
from explainers.report import document, wording
from explainers.report.tables import Table, TableColumn, as_percent, bounds, interval_cell
from explainers.results.manifest import strict_json

SET_STYLE = """
.crosslight .wide table { font-size: 0.8em; }
.crosslight .wide th, .crosslight .wide td { white-space: normal; padding: 0.3em 0.4em; }
.crosslight .wide td:first-child { min-width: 8em; }
.crosslight .curves { margin-top: 1em; }
.crosslight .curves > div { flex-basis: min(28rem, 100%); min-width: 0; }
"""
WORDS_SHOWN = 15  # per class
EVIDENCE_MEANING = (
    "AOPC-C − AOPC-S: how much further the probability falls when the first words are erased than when only they are "
    "kept. What random orders have is chance."
)
BY_PEOPLE = ("auprc", "f1")  # metrics of the agreement with people that the table shows
PEOPLE_NOTE = (
    "They count where they are for the class that the model predicts, and cover some units but not all. Random orders "
    "have what is expected by chance. Agreement with people does not mean that a method shows what the model used."
)
NOTE = (
    "Means with 95 % bootstrap intervals over inputs. Behind: how much less evidence a method has than the best one on "
    "the same inputs; where the interval holds 0 the two are level. The consensus is made of the others and is not "
    "recommended."
)
OPTIMISED_NOTE = "† was optimised on these metrics, so it is listed and not compared."


def method_columns(operators: Sequence[str]) -> Table[set_summary.MethodSummary]:
    """Return the table of methods: evidence, its distance to the best, AOPC under each operator, and costs."""
    metrics = [_metric_column(metric, operator) for operator in operators for metric in faithfulness.decisive_metrics()]
    return Table(
        (
            TableColumn("method", lambda row: set_summary.name_of(row.method), align="left"),
            TableColumn("inputs", lambda row: row.inputs, ",", align="right"),
            TableColumn(
                "evidence ↑",
                lambda row: row.metrics.get(set_frames.metric_column(set_frames.EVIDENCE, operators[0])),
                bounds(),
                align="right",
                meaning=EVIDENCE_MEANING,
            ),
            TableColumn("behind", lambda row: row.behind, distance_cell, align="right", undefined=""),
            *metrics,
            *(_people_column(metric) for metric in plausibility.PLAUSIBILITY if metric.id in BY_PEOPLE),
            TableColumn("seconds", lambda row: row.seconds, wording.decimals, align="right", undefined=""),
            TableColumn("passes", lambda row: row.passes, ".0f", align="right", undefined=""),
            TableColumn("failed", lambda row: row.failed or None, ",", align="right", optional=True, undefined=""),
        )
    )


def distance_cell(value: bootstrap.Interval) -> str:
    """As `interval_cell`, with as many decimals as tell whether the interval holds 0."""
    places = next((places for places in range(3, 7) if round(value.low, places)), 3)
    return interval_cell(value, places=places)


STATUSES: Table[set_summary.StatusShare] = Table(
    (
        TableColumn("inputs", lambda row: row.group, align="left"),
        TableColumn("n", lambda row: row.inputs, ",", align="right"),
        TableColumn("supported", lambda row: row.supported, bounds(2), align="right"),
        TableColumn("agreement", lambda row: row.agreement, bounds(2), align="right"),
        TableColumn("failed", lambda row: row.failed or None, ",", align="right", optional=True, undefined=""),
    )
)
WORDS: Table[Mapping[str, Any]] = Table(
    (
        TableColumn("word", lambda row: row["word"], align="left"),
        TableColumn("mean score", lambda row: row["score"], "+.3f", align="right"),
        TableColumn("spread", lambda row: row["spread"], ".3f", align="right"),
        TableColumn("inputs", lambda row: row["inputs"], ",", align="right"),
        TableColumn(f"in the top {set_summary.TOP} %", lambda row: row["top"], as_percent, align="right"),
    )
)


Checked = tuple[
    str, Sequence[sanity_summary.SanityOutcome]
]  # a method, and its outcomes in the order of `SANITY_CHECKS`
SANITY_MARKS = {"passed": "✓", "failed": "✗", "open": "?"}
SANITY_NOTE = (
    "✓ passed, ✗ failed, ? open: a check is passed or failed where the whole 95 % interval over the inputs is on one "
    "side of the bound beside its name. A random order and single parts of the input are controls: a check that they "
    "pass too says little."
)


def sanity_table() -> Table[Checked]:
    """Return the table of sanity checks: a row per method."""
    return Table(
        (
            TableColumn("method", lambda row: set_summary.name_of(row[0]), align="left"),
            *(_sanity_column(place, check) for place, check in enumerate(sanity_summary.SANITY_CHECKS)),
        )
    )


def _sanity_column(place: int, check: sanity_summary.SanityCheck) -> TableColumn[Checked]:
    def written(outcome: sanity_summary.SanityOutcome) -> str:
        assert outcome.value is not None
        return f"{SANITY_MARKS[outcome.verdict]} {interval_cell(outcome.value, places=2)}"

    bound = f"Passed {'up to' if check.low else 'from'} {check.aim:g}{' on' if not check.low else ''}."
    return TableColumn(
        f"{check.name.lower()} ({'≤' if check.low else '≥'} {check.aim:g})",
        lambda row: row[1][place] if row[1][place].value is not None else None,
        written,
        align="right",
        undefined="",
        meaning=f"{check.question} {bound}{f' ({check.source})' if check.source else ''}",
    )


def metric_columns(operators: Sequence[str]) -> list[str]:
    """Return the columns of the frame that the table of methods shows."""
    metrics = [metric.id for metric in faithfulness.decisive_metrics()]
    columns = [
        set_frames.metric_column(metric, operator)
        for operator in operators
        for metric in (set_frames.EVIDENCE, *metrics)
    ]
    return [*columns, *map(set_frames.plausibility_column, BY_PEOPLE)]


def table_note(methods: pd.DataFrame) -> str:
    """Return what the table of these methods shows."""
    present = set(methods["method"])
    optimised = any(spec.optimised and spec.id in present for spec in METHODS)
    return " ".join(filter(None, (NOTE, OPTIMISED_NOTE if optimised else "", plausibility_note(methods))))


def plausibility_note(methods: pd.DataFrame) -> str:
    """Return how many inputs have marks of people that count, and what agreement says; empty without any."""
    column = set_frames.plausibility_column(BY_PEOPLE[0])
    if column not in methods:
        return ""
    chance = methods[methods["method"] == names.RANDOM]
    return f"Marks of people count in {int(chance[column].notna().sum()):,} of {len(chance):,} inputs. {PEOPLE_NOTE}"


def word_methods(methods: pd.DataFrame, operator: str) -> list[str]:
    """Return the methods whose scores of words can be summed up: the one to use first, no controls."""
    best = set_summary.recommendation(methods, operator).best
    chosen = [str(method) for method in dict.fromkeys(methods["method"]) if set_summary.may_be_chosen(str(method))]
    return sorted(chosen, key=lambda method: method != best)


def top_words(words: pd.DataFrame, predicted: str, number: int = WORDS_SHOWN) -> list[Mapping[str, Any]]:
    """Return the first words of a class."""
    rows: list[Mapping[str, Any]] = words[words["class"] == predicted].head(number).to_dict("records")
    return rows


def set_markdown(manifest: Mapping[str, Any], rows: pd.DataFrame, methods: pd.DataFrame, sanity: pd.DataFrame) -> str:
    """Return the tables of a set for the terminal."""
    checked = sanity_summary.outcomes(sanity)
    operators = manifest["operators"]
    table = set_summary.method_table(methods, metric_columns(operators), operators[0])
    sections = [
        set_summary.recommendation(methods, operators[0]).sentence,
        method_columns(operators).markdown(table),
        plausibility_note(methods),
        STATUSES.markdown(_all_shares(rows)),
        *(f"{title}:\n\n{WORDS.markdown(words)}" for title, words in _words(rows, methods, operators[0])),
        f"Sanity checks:\n\n{sanity_table().markdown(checked.items())}" if checked else "",
        "\n".join(
            [
                *(sanity_summary.sentence(method, results) for method, results in checked.items()),
                *sanity_summary.notes(sanity),
            ]
        ),
    ]
    left_out = manifest["data"]["left_out"]
    are = f"{wording.counted(left_out, 'row')} {'is' if left_out == 1 else 'are'}"
    sections += [f"{are} left out: {' '.join(manifest['data']['problems'][:5])}"] if left_out else []
    return "\n\n".join(filter(None, sections))


def set_document(manifest: Mapping[str, Any], rows: pd.DataFrame, methods: pd.DataFrame, sanity: pd.DataFrame) -> str:
    """Return a page without scripts, which loads nothing; with the plots of the Evaluate page."""
    from explainers.report.plots import cascade_plot, method_plots, trust_plot  # matplotlib takes a while

    operators = manifest["operators"]
    table = set_summary.method_table(methods, metric_columns(operators), operators[0])
    title = f"{manifest['model']['name']} on {manifest['data']['name']}: which explanation method?"
    words = "".join(
        f"<h3>{wording.escaped(title)}</h3>{_wide(WORDS.html(listed))}"
        for title, listed in _words(rows, methods, operators[0])
    )
    checked = sanity_summary.outcomes(sanity)
    cascades = {method: steps for method in checked if (steps := sanity_summary.cascade(sanity, method))}
    remarks = "".join(f"<li>{wording.escaped(note)}</li>" for note in sanity_summary.notes(sanity))
    checks = (
        f"<h2>Sanity checks</h2>{_wide(sanity_table().html(checked.items()))}"
        f'<p class="note">{wording.escaped(SANITY_NOTE)}</p>{cascade_plot(cascades)}<ul>{remarks}</ul>'
        if len(sanity)
        else ""
    )
    note = wording.escaped(table_note(methods))
    body = f"""<div class="crosslight">
<p class="summary">{wording.escaped(set_summary.recommendation(methods, operators[0]).sentence)}</p>
<h2>Methods</h2>{_wide(method_columns(operators).html(table))}<p class="note">{note}</p>
{method_plots(table, set_summary.mean_curves(methods), operators[0])}
<h2>How often an answer is supported</h2>{_wide(STATUSES.html(_all_shares(rows)))}
{trust_plot(set_summary.trust_points(rows, methods, operators[0]))}
<h2>Words</h2>{words}
{checks}
<h2>Manifest</h2><pre>{wording.escaped(strict_json(manifest))}</pre>
</div>"""
    return document.standalone_page(title, body, style=document.FRAGMENT_STYLE + SET_STYLE)


def _wide(table: str) -> str:
    """Return a table in a box of its own, in which it scrolls where the page is narrow; intervals are not torn."""
    whole = re.sub(r"(\[[-+]?[\d.]+), ", r"\1,&nbsp;", table)
    return f'<div class="wide" tabindex="0">{whole}</div>'


def latex_caption(manifest: Mapping[str, Any]) -> str:
    """Return what the table of methods shows."""
    return (
        f"Explanation methods for the model {manifest['model']['name']}, compared over "
        f"{wording.counted(manifest['inputs'], 'input')}: means with 95 % bootstrap intervals. Evidence is "
        f"AOPC-C − AOPC-S under {manifest['operators'][0]}."
    )


def _all_shares(rows: pd.DataFrame) -> list[set_summary.StatusShare]:
    return [share for by in set_summary.GROUPINGS for share in set_summary.status_shares(rows, by)]


def _words(rows: pd.DataFrame, methods: pd.DataFrame, operator: str) -> Iterable[tuple[str, list[Mapping[str, Any]]]]:
    """Yield a title and the first words, for each predicted class, by the method to use."""
    for method in word_methods(methods, operator)[:1]:
        words = set_summary.words_over_set(rows, methods, method)
        for predicted in sorted(words["class"].unique()):
            yield f"Words for {predicted}, by {method_spec(method).name}", top_words(words, predicted)


def _people_column(metric: plausibility.PlausibilityMetric) -> TableColumn[set_summary.MethodSummary]:
    column = set_frames.plausibility_column(metric.id)
    return TableColumn(
        f"{metric.name} ↑ people",
        lambda row: row.metrics.get(column),
        bounds(),
        align="right",
        undefined="",
        optional=True,
        meaning=f"Agreement with what people marked. {PEOPLE_NOTE}",
    )


def _metric_column(metric: MetricSpec, operator: str) -> TableColumn[set_summary.MethodSummary]:
    column = set_frames.metric_column(metric.id, operator)
    return TableColumn(
        f"{metric.name} {metric.arrow} {operator}",
        lambda row: row.metrics.get(column),
        bounds(),
        align="right",
        meaning=metric.meaning,
    )
