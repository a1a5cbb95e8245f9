"""What follows from an interchange intervention or a counterfactual check, in words. Pure functions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from explainers.methods.narrator_specs import narrator_spec
from explainers.narrative.content_words import reason_of
from explainers.report.wording import join_names, one_line

if TYPE_CHECKING:
    from explainers.metrics.bootstrap import Interval
    from explainers.narrative.counterfactual import CounterfactualCheck, NarratorCheck
    from explainers.narrative.interchange_check import InterchangeCheck, InterchangeRates

TRIED = 100  # draws, by `explainers.narrative.counterfactual`
FOLLOWED, ARRIVED, STAYED, SILENT = (
    "followed the model",
    "arrived at the model's new class, but had not stated the old one",
    "did not follow the model",
    "stated no class",
)


def of_interchange(check: "InterchangeCheck", labels: Sequence[str]) -> str:
    """Return whether the intervention changes the model's class, and whether both classifiers agree afterwards."""
    (before, _, after), (_, _, read) = check.model.classes, check.reader.classes
    moved = (
        f"The intervention moves the model from {one_line(labels[before])} to {one_line(labels[after])}"
        if before != after
        else f"The model stays with {one_line(labels[before])}"
    )
    if read == after:
        return f"{moved}; C2 reads {one_line(labels[read])} too: they agree."
    return f"{moved}; C2 reads {one_line(labels[read])}: they differ{'' if check.agree[0] else ', as before'}."


def of_draws(draw: int, changing: Sequence[int], *, opened: bool) -> str:
    """Return how many draws change the model's class; `opened`: the page opens with this base, source and draw."""
    tried = f"the draws 0 to {TRIED - 1}"
    if not changing:
        return f"None of {tried} changes the model's class for this base and source."
    if opened:
        verb = "does" if len(changing) == 1 else "do"
        return (
            "Chosen because it changes the model's class: the first base and source of the set for which draw "
            f"{draw} does so. For these two, {len(changing)} of {tried} {verb}."
        )
    many = f"{len(changing)} of {tried} {'changes' if len(changing) == 1 else 'change'} the model's class"
    return f"{many} for this base and source; the first is draw {changing[0]}."


def of_no_change(count: int, layer: str) -> str:
    """Return what was tried where no exchange was found to begin with, for a set of `count` examples."""
    from explainers.narrative.counterfactual import OPENING_DRAWS, OPENING_EXAMPLES  # brings torch

    return (
        f"No exchange was found to begin with: in {layer}, none of the draws 0 to {OPENING_DRAWS - 1} changes the "
        f"model's class for any two of the first {min(count, OPENING_EXAMPLES)} examples of the set."
    )


def of_counterfactual(check: "CounterfactualCheck") -> str:
    """Return which sentences followed the model to its new class."""
    if not check.met:
        return "The model did not reach the other class, so nothing follows about the sentences."
    outcomes = {narrator.method: _outcome(check, narrator) for narrator in check.narrators}
    groups = (
        ([narrator_spec(method).name for method in outcomes if outcomes[method] == outcome], outcome)
        for outcome in (FOLLOWED, ARRIVED, STAYED, SILENT)
    )
    text = "; ".join(
        f"the sentence{'s' if len(names) > 1 else ''} of {join_names(names)} {outcome}"
        for names, outcome in groups
        if names
    )
    return f"{text[0].upper()}{text[1:]}.{_unmoved(check)}" if text else ""


def _unmoved(check: "CounterfactualCheck") -> str:
    """Return of whom only the class followed, and nothing else of the sentence; empty if of nobody."""
    names = [
        narrator_spec(narrator.method).name
        for narrator in check.narrators
        if _outcome(check, narrator) == FOLLOWED
        and reason_of(narrator.sentences[0])
        and reason_of(narrator.sentences[0]) == reason_of(narrator.sentences[1])
    ]
    if not names:
        return ""
    return f" Only the class: the reason{'s' if len(names) > 1 else ''} of {join_names(names)} did not change."


def of_following(rates: "InterchangeRates", reader: str) -> str:
    """Return how often C2 followed, in a sentence; empty where nothing was to follow."""
    if rates.followed is None:
        return ""
    moved, count = rates.followed.texts, round(rates.followed.mean * rates.followed.texts)
    if moved == 1:
        verb = "followed" if count else "did not follow"
        return f"C2 of {reader} {verb} the one exchange that changes the model's class."
    if not count:
        return f"C2 of {reader} followed none of the {moved:,} exchanges that change the model's class."
    return f"C2 of {reader} followed {count:,} of the {moved:,} exchanges that change the model's class."


def _outcome(check: "CounterfactualCheck", narrator: "NarratorCheck") -> str:
    before, after = narrator.stated
    if after is None:
        return SILENT
    if after != check.target:
        return STAYED
    return FOLLOWED if before == check.label else ARRIVED


def of_stated(stated: int | None, model: int, labels: Sequence[str]) -> str:
    """Return the class that a sentence states, beside the model's."""
    if stated is None:
        return "states no class"
    comparison = "as the model" if stated == model else f"the model predicts {one_line(labels[model])}"
    return f"states {one_line(labels[stated])}, {comparison}"


def over_set(rates: "InterchangeRates") -> list[dict[str, str]]:
    """Return a row per share, with its interval."""
    rows: list[tuple[str, Interval | None]] = [
        ("C1 and C2 agree before the intervention", rates.before),
        ("the intervention changes C1's class", rates.changed),
        ("C1 and C2 agree after the intervention", rates.after),
        ("they would agree if C2 had kept its class", rates.unmoved),
        ("where C1's class changes, C2 changes to the same one", rates.followed),
    ]
    return [
        {
            "how often": name,
            "share": f"{share.mean:.1%}" if share else "–",
            "95 % interval": f"{share.low:.1%} to {share.high:.1%}" if share else "it never changes",
            "ordered pairs": f"{share.texts:,}" if share else "0",
        }
        for name, share in rows
    ]
