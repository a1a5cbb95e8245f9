"""What follows from an exchange or a counterfactual check, in plain words. Pure functions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from explainers.narrative.entries import narrator
from explainers.report.text import listed, one_line

if TYPE_CHECKING:
    from explainers.metrics.intervals import Interval
    from explainers.narrative.intervening import Exchange
    from explainers.narrative.over_set import OverSet
    from explainers.narrative.switching import Spoken, Switch

FOLLOWED, CAME, STAYED, SILENT = (
    "followed the model",
    "came to the model's new class, but had not stated the old one",
    "did not follow the model",
    "stated no class",
)


def of_exchange(found: "Exchange", labels: Sequence[str]) -> str:
    """Did the exchange change anything, and do both say the same now?"""
    (first, _, then), (_, _, other) = found.model.classes, found.reader.classes
    moved = (
        f"The exchange brings the model from {one_line(labels[first])} to {one_line(labels[then])}"
        if first != then
        else f"The model stays with {one_line(labels[first])}"
    )
    reads = one_line(labels[other])
    if other == then:
        return f"{moved}; C2 says {reads} too: they agree."
    return f"{moved}; C2 says {reads}: they differ{'' if found.agree[0] else ', as before'}."


def of_switch(found: "Switch") -> str:
    """Which sentences followed the model to its new class."""
    if not found.met:
        return "The model kept its class on the way to the other one, so nothing follows about the sentences."
    groups = {
        went: [narrator(each.method).name for each in found.spoken if _went(found, each) == went]
        for went in (FOLLOWED, CAME, STAYED, SILENT)
    }
    parts = [_part(names, went) for went, names in groups.items() if names]
    return f"{parts[0][0].upper()}{'; '.join(parts)[1:]}." if parts else ""


def _part(names: Sequence[str], went: str) -> str:
    return f"the sentence{'s' if len(names) > 1 else ''} of {listed(names)} {went}"


def _went(found: "Switch", spoken: "Spoken") -> str:
    before, after = spoken.stated
    if after is None:
        return SILENT
    if after != found.target:
        return STAYED
    return FOLLOWED if before == found.label else CAME


def of_stated(stated: int | None, model: int, labels: Sequence[str]) -> str:
    """The class that a sentence states, beside the model's."""
    if stated is None:
        return "states no class"
    how = "as the model" if stated == model else f"the model says {one_line(labels[model])}"
    return f"states {one_line(labels[stated])}, {how}"


def over_set(found: "OverSet") -> list[dict[str, str]]:
    """A row per share."""
    rows: list[tuple[str, Interval | None]] = [
        ("C1 and C2 agree before the exchange", found.before),
        ("the exchange changes C1's class", found.changed),
        ("C1 and C2 agree after the exchange", found.after),
        ("they would agree if C2 had kept its class", found.unmoved),
        ("where C1's class changes, C2 comes to the same one", found.followed),
    ]
    return [
        {
            "how often": name,
            "share": f"{each.mean:.1%}" if each else "–",
            "95 % interval": f"{each.low:.1%} to {each.high:.1%}" if each else "it never changes",
            "ordered pairs": f"{each.texts:,}" if each else "0",
        }
        for name, each in rows
    ]
