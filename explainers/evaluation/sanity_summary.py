"""What sanity checks say: of every method and check the value over the inputs, and whether that is as it should be.

A check has an aim: a value that a method should stay below or reach. It is passed if the whole 95 % interval over the
inputs is on the right side, failed if the whole interval is on the wrong one, and open otherwise or with fewer than
`FEWEST_CHECKED` inputs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from explainers.evaluation.record_file import Record
from explainers.methods.registry import method_spec
from explainers.metrics.bootstrap import Interval, mean_interval, share_interval

FEWEST_CHECKED = 5  # inputs
COLUMNS = ("id", "check", "step", "method", "value", "reason")
Verdict = Literal["passed", "failed", "open", "not applicable"]


@dataclass(frozen=True)
class SanityCheck:
    """`aim` is the value that is not exceeded where it is `low` that is good, or is reached."""

    id: str
    name: str
    question: str
    aim: float
    low: bool
    is_share: bool
    source: str


SANITY_CHECKS = (
    SanityCheck(
        "weights",
        "Random weights",
        "Does the explanation change when all weights of the model are random? |ρ| with the explanation of the model, "
        "less that of unrelated orders.",
        0.2,
        low=True,
        is_share=False,
        source="Adebayo et al., 2018",
    ),
    SanityCheck(
        "seed",
        "Other seed",
        "Is the explanation the same with another seed? ρ between two seeds.",
        0.8,
        low=False,
        is_share=False,
        source="",
    ),
    SanityCheck(
        "class",
        "Other class",
        "Does the explanation of the second most likely class differ? ρ with that of the predicted class; −1 with two "
        "classes for every method that reads the probability of the class.",
        0.3,
        low=True,
        is_share=False,
        source="Sixt et al., 2020",
    ),
    SanityCheck(
        "planted",
        "Planted word",
        "A word is added that alone decides the answer of a copy of the model. Share of inputs in which it is first.",
        0.5,
        low=False,
        is_share=True,
        source="after Bastings et al., 2022",
    ),
    SanityCheck(
        "reverse",
        "Reversed order",
        "Has the order more evidence, AOPC-C − AOPC-S, than its own reverse? Share of inputs.",
        0.5,
        low=False,
        is_share=True,
        source="",
    ),
)


@dataclass(frozen=True)
class SanityOutcome:
    """The value of a method in a check, and its verdict; without a value the reason."""

    method: str
    check: SanityCheck
    value: Interval | None
    reason: str = ""

    @property
    def verdict(self) -> Verdict:
        if self.value is None:
            return "not applicable"
        if self.value.texts < FEWEST_CHECKED:
            return "open"
        low, high, aim = self.value.low, self.value.high, self.check.aim
        right, wrong = (high <= aim, low > aim) if self.check.low else (low >= aim, high < aim)
        return "passed" if right else "failed" if wrong else "open"


def sanity_frame(records: Iterable[Record], steps: Sequence[str]) -> pd.DataFrame:
    """Return a row per input, check, step and method: the value, or the reason why there is none."""
    rows: list[dict[str, Any]] = []
    for record in records:
        if "failed" in record:
            rows.append({"id": record["id"], "check": "", "reason": record["failed"]})
            continue
        for check in SANITY_CHECKS:
            for method, value in record[check.id].items():
                values = zip(steps, value, strict=True) if check.id == "weights" else [("", value)]
                for step, one in values:
                    rows.append(
                        {"id": record["id"], "check": check.id, "step": step, "method": method, "value": float(one)}
                    )
            for method, reason in record["reasons"][check.id].items():
                rows.append({"id": record["id"], "check": check.id, "method": method, "reason": reason})
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype({"value": "float64"})
    return frame.astype({name: "string" for name in COLUMNS if name != "value"}).fillna({"step": "", "method": ""})


def outcomes(frame: pd.DataFrame) -> dict[str, list[SanityOutcome]]:
    """Return the outcomes of every method, in the order of the checks; random weights count when all are random."""
    methods = [str(method) for method in dict.fromkeys(frame["method"]) if method]
    return {method: [_outcome(frame, method, check) for check in SANITY_CHECKS] for method in methods}


def cascade(frame: pd.DataFrame, method: str) -> list[tuple[str, Interval]]:
    """Return |ρ| with the explanation of the model, less that of unrelated orders, after every step in which weights
    became random."""
    rows = frame[(frame["check"] == "weights") & (frame["method"] == method)].dropna(subset=["value"])
    steps = [step for step in dict.fromkeys(rows["step"]) if step]
    return [(str(step), mean_interval(rows[rows["step"] == step]["value"].to_numpy(float))) for step in steps]


def notes(frame: pd.DataFrame) -> list[str]:
    """Return why methods have no value in a check, and why inputs were not checked."""
    reasons = {
        f"{outcome.check.name}: {outcome.reason}"
        for results in outcomes(frame).values()
        for outcome in results
        if outcome.value is None
    }
    skipped = frame[frame["check"] == ""]
    return [*sorted(reasons), *(f"{row['id']}: {row['reason']}" for _, row in skipped.iterrows())]


def sentence(method: str, results: Sequence[SanityOutcome]) -> str:
    """Return in a sentence what a method passed."""
    by_verdict: dict[Verdict, list[str]] = {}
    for outcome in results:
        by_verdict.setdefault(outcome.verdict, []).append(outcome.check.name.lower())
    parts = {verdict: _listed(by_verdict[verdict]) for verdict in ("passed", "failed", "open") if verdict in by_verdict}
    said = [f"{verdict}: {checks}" for verdict, checks in parts.items()]
    return f"{method_spec(method).name} – {'; '.join(said) or 'no check applies'}."


def _outcome(frame: pd.DataFrame, method: str, check: SanityCheck) -> SanityOutcome:
    rows = frame[frame["check"] == check.id]
    values = rows[(rows["method"] == method) & rows["value"].notna()]
    if check.id == "weights" and len(values):
        values = values[values["step"] == values["step"].iloc[-1]]
    if not len(values):
        reasons = rows[rows["method"].isin([method, ""])]["reason"].dropna()
        return SanityOutcome(
            method, check, None, str(reasons.iloc[0]) if len(reasons) else "No input could be checked."
        )
    numbers = values["value"].to_numpy(float)
    return SanityOutcome(method, check, share_interval(numbers) if check.is_share else mean_interval(numbers))


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
