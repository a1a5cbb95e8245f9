"""The verdict on a run, made once per state of its results."""

from app.compare.runs import Run
from explainers.comparison.verdict import Verdict, verdict


def verdict_of(run: Run) -> Verdict:
    """What the results so far say; pending before there is a prediction."""
    if run.question is None:
        return Verdict("pending", provisional=True)
    finished = run.status == "done"  # what was stopped stays provisional
    return run.view("verdict", (finished, run.settled), lambda: verdict(run.comparison(), finished=finished))
