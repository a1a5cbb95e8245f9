"""The verdict on a run."""

from app.compare.runs import Run
from explainers.results.verdict import Verdict


def verdict_of(run: Run) -> Verdict:
    """That of the run's comparison; pending before there is a prediction."""
    verdict = None if run.question is None else run.comparison().verdict
    return verdict or Verdict("pending", provisional=True)
