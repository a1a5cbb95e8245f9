"""`python -m explainers study set-cost`: what a brief evaluation of a set costs and says beside a thorough one.

Every input is explained both ways, one after the other, on one core; the rows are kept in set_cost.jsonl, so that an
interrupted run goes on. The tables stand in assets/docs/evaluate.md, between two marks.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from explainers.commands.options import ModelName, Yes, downloads, show_progress, user_errors
from explainers.errors import ExplanationError
from explainers.evaluation.record_file import Record, appending, read_records, resume_records
from explainers.installation import ASSETS
from explainers.metrics.bootstrap import Floats, Interval, mean_interval
from explainers.report.tables import Table, TableColumn, bounds, command_block, plus_minus
from explainers.report.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from explainers.datasets.labelled_rows import InputRow
    from explainers.models.frozen_model import FrozenModel

DOCUMENT = ASSETS / "docs" / "evaluate.md"
BEGIN, END = "<!-- study set-cost -->", "<!-- /study set-cost -->"
FILE = "set_cost.jsonl"
SAME = 5e-4  # below what three decimals show
BRIEF, THOROUGH = WAYS = ("brief", "thorough")


def set_cost_command(
    model: ModelName = "sst2",
    data: Annotated[Path | None, typer.Option(help="The data of the model, as for study evaluation.")] = None,
    texts: Annotated[int, typer.Option(min=2, help="Inputs of the test split, taken at random.")] = 60,
    out: Annotated[Path, typer.Option(help="Folder of the rows; an interrupted run goes on.")] = Path("runs/set_cost"),
    document: Annotated[Path, typer.Option(help="The document in which the tables stand.")] = DOCUMENT,
    yes: Yes = False,
) -> None:
    """Compare brief and thorough evaluations of a set: core seconds, passes, and every mean with its interval."""
    with user_errors(), downloads(yes=yes):
        import torch

        from explainers.models.catalog import load

        torch.set_num_threads(1)
        frozen = load(model, device="cpu")
        measure(frozen, rows_of(frozen, data, texts), out, show_progress)
        words = f".venv/bin/python -m explainers study set-cost --model {model} --texts {texts}"
        tables = tables_of(read_records(out / FILE), words + (" --data DATA" if data else ""))
        document.write_text(with_tables(document.read_text(encoding="utf-8"), tables), encoding="utf-8")
        typer.echo(tables)


def rows_of(model: "FrozenModel", data: Path | None, n: int) -> "tuple[InputRow, ...]":
    """Return so many inputs of the test split, with the ids that they have in a table."""
    from explainers.datasets.labelled_rows import InputRow, text_id
    from explainers.evaluation.data_set import split_inputs

    inputs = split_inputs(model.name, data, "test", n, model.input_names, seed=0)
    return tuple(InputRow(text_id(one.text, one.pair), one.text, one.pair, one.label) for one in inputs)


def measure(model: "FrozenModel", rows: "Sequence[InputRow]", out: Path, progress: Callable[[str], None]) -> None:
    """Explain every row in both ways, with the methods that run by default, and keep the records."""
    from explainers.evaluation.explain_batch import SetPlan, explain_row
    from explainers.evaluation.set_spec import SetSpec, offered_methods

    offered = offered_methods(model.name, model.version, pairs=rows[0].pair is not None)
    methods = tuple(spec.id for spec in offered if spec.default)
    specs = {way: SetSpec(model.name, "", thorough=way == THOROUGH) for way in WAYS}
    plans = {way: SetPlan(methods, spec.settings, thorough=spec.thorough) for way, spec in specs.items()}
    signature = {"plans": {way: plan.as_dict(model) for way, plan in plans.items()}, "ids": [row.id for row in rows]}
    done = {(record["way"], record["id"]) for record in resume_records(out / FILE, signature)}
    if not done:
        explain_row(model, plans[BRIEF], rows[0])  # the first passes and the weights of the methods take longer
    with appending(out / FILE) as append:
        for number, row in enumerate(rows, 1):
            for way, plan in plans.items():
                if (way, row.id) not in done:
                    began = time.process_time()
                    record = explain_row(model, plan, row)
                    append({**record, "way": way, "core_seconds": time.process_time() - began})
            progress(f"{number} of {len(rows)} inputs")


def with_tables(document: str, tables: str) -> str:
    """Return the document with these tables between its marks. Raises `ExplanationError` where it has none."""
    head, begin, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ExplanationError(f"The document needs the marks {BEGIN} and {END}, between which the tables stand.")
    return f"{head}{BEGIN}\n\n{tables}\n\n{END}{tail}"


@dataclass(frozen=True)
class CostRow:
    """What an evaluation costs per input: mean core seconds and passes with their intervals, over inputs."""

    way: str
    seconds: Interval
    passes: Interval


@dataclass(frozen=True)
class Means:
    """The mean of a metric over the set in both ways, and the thorough one less the brief one, paired by input."""

    thorough: Interval
    brief: Interval
    less: Interval


@dataclass(frozen=True)
class MethodMeans:
    """The means of a method under one operator, by metric."""

    method: str
    means: Mapping[str, Means]


COSTS: Table[CostRow] = Table(
    (
        TableColumn("evaluation", lambda row: row.way),
        TableColumn("core seconds per input", lambda row: row.seconds, bounds(2)),
        TableColumn("passes per input", lambda row: row.passes, bounds(0)),
    )
)
METRICS = {"evidence": "evidence", "aopc_c": "AOPC-C", "aopc_s": "AOPC-S"}


def means_table() -> Table[MethodMeans]:
    """Return the table of an operator: three columns for each metric."""

    def columns(metric: str, title: str) -> tuple[TableColumn[MethodMeans], ...]:
        return (
            TableColumn(title, lambda row: row.means[metric].thorough, plus_minus()),
            TableColumn(f"{title}, brief", lambda row: row.means[metric].brief, plus_minus()),
            TableColumn(f"{title}, less", lambda row: row.means[metric].less, signed_plus_minus),
        )

    metrics = (column for metric, title in METRICS.items() for column in columns(metric, title))
    return Table((TableColumn("method", lambda row: row.method), *metrics))


def signed_plus_minus(less: Interval) -> str:
    """Return the difference and half of its interval, "+0.005 ± 0.004"; "0" where it is smaller than what is shown."""
    half = (less.high - less.low) / 2
    return f"{less.mean:+.3f} ± {half:.3f}" if abs(less.mean) + half >= SAME else "0"


def tables_of(records: Sequence[Record], command: str) -> str:
    """Return the command, what both ways cost, and every mean with its interval."""
    both = pairs(records)
    costs = [CostRow(way, _mean(both[way], "core_seconds"), _mean(both[way], "passes")) for way in reversed(WAYS)]
    frames = {way: _frame(both[way]) for way in WAYS}
    units = np.mean([len(record["units"]) for record in both[BRIEF]])
    parts = [command_block(command), INTRODUCTION.format(inputs=len(both[BRIEF]), units=units), COSTS.markdown(costs)]
    for operator in operators_of(both[BRIEF][0]):
        rows = sorted(method_means(frames, operator), key=lambda row: -row.means["evidence"].thorough.mean)
        title = f"Under `{operator}`; Spearman's ρ of the two orders of the methods is {rank_correlation(rows):.3f}:"
        parts += [title, means_table().markdown(rows)]
    return "\n\n".join([*parts, statuses(both)])


INTRODUCTION = """\
{inputs} held-out inputs of {units:.0f} units on average, explained by the default methods in both ways, one after the
other, on one core of a machine that did other work too: compare the seconds with each other only. Brackets and ± are
95 % intervals over inputs. A metric's first column is its thorough mean, then follows the brief one, and “less” is the
thorough mean less the brief one, paired by input; 0 where three decimals show no difference."""


def pairs(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the records of the inputs that were explained both ways, in the same order."""
    by_way = {way: {one["id"]: one for one in records if one["way"] == way and "failed" not in one} for way in WAYS}
    shared = [id for id in by_way[BRIEF] if id in by_way[THOROUGH]]
    if not shared:
        raise ExplanationError("No input could be explained both ways.")
    return {way: [by_way[way][id] for id in shared] for way in WAYS}


def operators_of(record: Record) -> list[str]:
    """Return the operators under which the methods were measured."""
    return list(dict.fromkeys(operator for content in record["methods"].values() for operator in content["metrics"]))


def method_means(frames: "dict[str, pd.DataFrame]", operator: str) -> Iterator[MethodMeans]:
    """Yield the means of every method that both ways measured under the operator."""
    from explainers.evaluation.set_frames import metric_column
    from explainers.evaluation.set_summary import name_of

    tables = {
        metric: [
            frames[way].pivot(index="id", columns="method", values=metric_column(metric, operator)) for way in WAYS
        ]
        for metric in METRICS
    }
    for method in dict.fromkeys(frames[THOROUGH]["method"]):
        values = {metric: shared_values(*(table[method] for table in both)) for metric, both in tables.items()}
        if all(brief.size for brief, _ in values.values()):  # methods that cannot lead have one operator only
            means = {
                metric: Means(mean_interval(thorough), mean_interval(brief), mean_interval(thorough - brief))
                for metric, (brief, thorough) in values.items()
            }
            yield MethodMeans(name_of(method), means)


def shared_values(brief: "pd.Series[float]", thorough: "pd.Series[float]") -> tuple[Floats, Floats]:
    """Return the values of both ways on the inputs on which both are defined."""
    both = np.array([brief, thorough.loc[brief.index]], dtype=float)  # (2, inputs)
    short, long = both[:, ~np.isnan(both).any(axis=0)]
    return short, long


def rank_correlation(rows: Sequence[MethodMeans]) -> float:
    """Return Spearman's ρ of the methods' evidence in both ways."""
    from explainers.metrics.agreement import spearman

    evidence = [row.means["evidence"] for row in rows]
    return spearman(tuple(one.thorough.mean for one in evidence), tuple(one.brief.mean for one in evidence))


def statuses(both: dict[str, list[Record]]) -> str:
    """Return how often an answer is supported both ways."""
    supported = {way: np.array([one["answer"]["status"] == "supported" for one in both[way]]) for way in WAYS}
    same = counted(int((supported[BRIEF] == supported[THOROUGH]).sum()), "input")
    shares = ", ".join(f"{supported[way].sum()} {way}" for way in reversed(WAYS))
    return f"Supported answers: {shares}; the same on {same}."


def _mean(records: Sequence[Record], name: str) -> Interval:
    return mean_interval(np.array([record[name] for record in records], dtype=float))


def _frame(records: Sequence[Record]) -> "pd.DataFrame":
    from explainers.evaluation.set_frames import method_frame
    from explainers.metrics.faithfulness import METRICS

    return method_frame(records, METRICS.ids, operators_of(records[0]))
