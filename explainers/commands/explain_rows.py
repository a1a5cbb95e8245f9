"""`python -m explainers explain --data`: every row of a table, and one table of all scores. Nothing is measured.

TABLE.part    a signature, then a line per finished row, with which an interrupted run goes on
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer
from transformers.utils.logging import tqdm

from explainers.comparison import consensus
from explainers.comparison.decision import decide
from explainers.comparison.runner import with_pool
from explainers.datasets.labelled_rows import Columns, InputRow, ReadRows, read_file
from explainers.errors import ExplanationError
from explainers.evaluation.explain_batch import SetPlan
from explainers.evaluation.measurement import explained_by, final_attribution
from explainers.evaluation.record_file import Record, appending, read_records, resume_records
from explainers.installation import VERSION
from explainers.methods.registry import check_applicable, select
from explainers.models.frozen_model import FrozenModel
from explainers.report.tables import write_frame
from explainers.report.wording import counted
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison
from explainers.results.decision import Settings
from explainers.results.events import Failure
from explainers.results.frames import SIDES

NAMED = 3  # rows that could not be explained, in the summary


@dataclass(frozen=True)
class RowsPlan:
    """What is asked about every row, and the `table` that is written."""

    table: Path
    methods: tuple[str, ...]
    label: str | None
    versus: str | None
    settings: Settings

    @property
    def part(self) -> Path:
        """Return the file with which an interrupted run goes on."""
        return self.table.with_name(f"{self.table.name}.part")

    def signature(self, model: FrozenModel, read: ReadRows, columns: Columns) -> Record:
        """Return what decides the scores."""
        asked = {key: value for key, value in asdict(self).items() if key != "table"}
        about = {"name": model.name, "model": model.version, "device": str(model.device)}
        return {**about, "data": read.sha256, "columns": asdict(columns), "crosslight": VERSION, **asked}


def explain_rows(model: FrozenModel, data: Path, columns: Columns, plan: RowsPlan, chosen: Sequence[str] = ()) -> str:
    """Explain every row of `data`, write the scores of all, and return a summary.

    Methods that do not suit the inputs are left out, unless they were `chosen`. A row that cannot be explained does not
    keep the others away; it is named in the summary. Raises `DataUnavailable` if no row can be read, and
    `ExplanationError` if none can be explained.
    """
    read = read_file(data, columns, model.labels, model.input_names)
    about = SetPlan((), plan.settings, str(data.parent))
    check_applicable(chosen, about.example(read.rows[0]))
    done = {record["id"] for record in resume_records(plan.part, plan.signature(model, read, columns))}
    left = [row for row in read.rows if row.id not in done]
    try:
        with appending(plan.part) as append:
            for row in tqdm(left, desc="Explaining", unit="row", initial=len(done), total=len(read.rows)):
                append({"id": row.id, "line": row.line, **_explained(model, about, row, plan)})
                done.add(row.id)
    except KeyboardInterrupt as interrupt:
        if not done:
            plan.part.unlink()
        so_far = f"Interrupted after {len(done)} of {len(read.rows)} rows."
        typer.echo(f"{so_far} The same command goes on from there.", err=True)
        raise typer.Exit(130) from interrupt
    records = read_records(plan.part)
    failed = [record for record in records if "problem" in record]
    if len(failed) == len(records):
        plan.part.unlink()
        raise ExplanationError(f"No row could be explained. {_named(failed[:1])}")
    write_frame(plan.table, _frame(records))
    plan.part.unlink()
    return "\n".join(filter(None, _summary(plan, read, failed)))


def _explained(model: FrozenModel, about: SetPlan, row: InputRow, plan: RowsPlan) -> Record:
    """Return the scores of a row as records, of the consensus first, or why there are none."""
    try:
        model = with_pool(model)
        example = about.example(row)
        decision, probabilities = decide(model, example, label=plan.label, versus=plan.versus, settings=plan.settings)
    except ExplanationError as error:
        return {"problem": str(error)}
    model = model.in_precision(decision.card.precision)
    found = [one for _, one in explained_by(select(plan.methods), model, decision, final_attribution)]
    explained = [one for one in found if isinstance(one, Attribution)]
    if not explained:
        return {"problem": next((one.reason for one in found if isinstance(one, Failure)), "No method applies.")}
    predicted = int(np.argmax(probabilities))
    rows = [one.scores for one in explained if consensus.takes_part(one, decision.target, predicted=predicted)]
    if len(rows) >= consensus.FEWEST_METHODS:
        joint = consensus.consensus_scores(rows)
        explained = [Attribution(CONSENSUS, decision.encoding, decision.label, joint, signed=False), *explained]
    frame = Comparison(decision, probabilities).scores_of(explained).astype(object)
    return {"scores": frame.where(frame.notna(), None).to_dict("records")}


def _frame(records: Sequence[Record]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {"id": record["id"], "line": record["line"], **score}
        for record in records
        for score in record.get("scores", ())
    ]
    return pd.DataFrame(rows).astype({**dict.fromkeys(SIDES, "Int64"), "spread": "float64"})


def _summary(plan: RowsPlan, read: ReadRows, failed: Sequence[Record]) -> list[str]:
    lines = [f"{counted(len(read.rows) - len(failed), 'row')} explained: {plan.table}"]
    if read.left_out:
        lines += [f"{counted(read.left_out, 'row')} cannot be read:", *read.problems[:NAMED]]
    if failed:
        lines.append(f"{counted(len(failed), 'row')} could not be explained. {_named(failed[:NAMED])}")
    return lines


def _named(failed: Sequence[Record]) -> str:
    return " ".join(f"{record['id']}: {record['problem']}" for record in failed)
