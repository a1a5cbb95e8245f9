"""What a load test has measured: numbers for one number of sessions, and the table of all."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.load.scenario import Outcome
from app.load.server import Sample
from explainers.report.markdown_table import markdown_table

MOST_SENTENCES = 10  # different ones that a report repeats


@dataclass(frozen=True)
class LoadLevel:
    """One number of sessions. `cold` are the seconds of the comparison before, which loads the model."""

    sessions: int
    seconds: float
    cold: float | None
    outcomes: tuple[Outcome, ...]
    samples: tuple[Sample, ...]  # the first before, the last after

    def count(self, *ends: str) -> int:
        return sum(outcome.end in ends for outcome in self.outcomes)

    @property
    def errors(self) -> int:
        return self.count("failed", "late", "lost")

    def summary(self) -> dict[str, Any]:
        """Plain data, for JSON. Seconds; None where nothing was measured."""
        return {
            "sessions": self.sessions,
            "seconds": round(self.seconds, 1),
            "cold_seconds": self.cold,
            "comparisons": len(self.outcomes),
            "done": self.count("done"),
            "errors": self.errors,
            "refused": self.count("refused"),
            "first_column": spread([each.first for each in self.outcomes]),
            "all_columns": spread([each.last for each in self.outcomes if each.end == "done"]),
            "per_session": self.per_session(),
            "fairness": fairness(self.outcomes, self.sessions),
            "memory": [round(sample.memory) for sample in self.samples[:1] + self.samples[-1:]],
            "peak_memory": round(max((sample.memory for sample in self.samples), default=0)),
            "threads": [sample.threads for sample in self.samples[:1] + self.samples[-1:]],
            "sentences": Counter(each for outcome in self.outcomes for each in outcome.sentences).most_common(
                MOST_SENTENCES
            ),
        }

    def per_session(self) -> list[int]:
        """Finished comparisons of the session with the fewest and of the one with the most."""
        done = Counter(outcome.session for outcome in self.outcomes if outcome.end == "done")
        counts = [done[number] for number in range(self.sessions)]
        return [min(counts), max(counts)]


def spread(values: Sequence[float | None]) -> dict[str, float] | None:
    """Median and 95th percentile (nearest rank) of those that are known."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    nearest = -(-95 * len(known) // 100)  # rounded up
    return {"median": round(statistics.median(known), 3), "p95": round(known[nearest - 1], 3)}


def fairness(outcomes: Sequence[Outcome], sessions: int) -> float | None:
    """Mean seconds to all columns of the slowest session over those of the fastest; None if one finished nothing."""
    seconds = defaultdict(list)
    for outcome in outcomes:
        if outcome.end == "done" and outcome.last is not None:
            seconds[outcome.session].append(outcome.last)
    means = [statistics.fmean(each) for each in seconds.values()]
    return round(max(means) / min(means), 2) if means and len(means) == sessions else None


def table(summaries: Sequence[dict[str, Any]]) -> str:
    """In Markdown, a row for each number of sessions."""
    return markdown_table([_row(summary) for summary in summaries])


def _row(summary: dict[str, Any]) -> dict[str, str]:
    fewest, most = summary["per_session"]
    return {
        "sessions": str(summary["sessions"]),
        "comparisons": str(summary["comparisons"]),
        "first column, median / p95, s": _seconds(summary["first_column"]),
        "all columns, median / p95, s": _seconds(summary["all_columns"]),
        "errors": str(summary["errors"]),
        "refused": str(summary["refused"]),
        "done per session": f"{fewest}–{most}",
        "slowest / fastest": "–" if summary["fairness"] is None else f"{summary['fairness']:.2f}",
        "memory, MB": _change(summary["memory"]),
        "threads": _change(summary["threads"]),
    }


def _seconds(values: dict[str, float] | None) -> str:
    return "–" if values is None else f"{values['median']:.2f} / {values['p95']:.2f}"


def _change(values: Sequence[float]) -> str:
    return " → ".join(f"{value:,.0f}" for value in values) or "–"
