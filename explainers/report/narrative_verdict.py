"""Which of the narrators' sentences is best supported, in one line.

A sentence is supported if it names the model's class, fails no check and passes another one, and if its narrator's
sentences are mostly right on unseen inputs, where that is known. Among those the ones that pass most checks are named.
"""

from collections.abc import Mapping, Sequence

from explainers.methods.narrator_specs import narrator_spec
from explainers.report.narrative_checks import QUESTIONS, CheckLine
from explainers.report.text import join_names
from explainers.report.track_record import TrackRecord, percent

MOSTLY = 0.5  # share of right reasons on unseen inputs
KNOWN = "Right reasons on unseen inputs that the model classified correctly"
BEING_GENERATED = "The sentences are being generated."
BEING_CHECKED = "The sentences are being checked."
NO_CLASS = "No sentence can be trusted: none names the class that the model predicts."
FAILED = "No sentence can be trusted: each that names the model's class fails another check."
ONLY_CLASS = "No sentence is supported beyond the class that it names: nothing else could be decided."
SOME_FAILED = "No sentence is supported: those of which more than the class could be checked fail."

TRUE_FIRST = (QUESTIONS[1],)  # of two that pass one check each, the reason that is true comes before the words in use

Checks = Mapping[str, Sequence[CheckLine]]  # by narrator, in the order of QUESTIONS


def sentence_verdict(checks: Checks, records: Mapping[str, TrackRecord | None]) -> str:
    """Empty where nothing was generated. `records` may lack narrators."""
    if not checks:
        return ""
    if any(line.state == "waiting" for lines in checks.values() for line in lines):
        return BEING_CHECKED
    named = {method: lines for method, lines in checks.items() if lines[0].state == "yes"}
    sound = {method: lines for method, lines in named.items() if all(line.state != "no" for line in lines)}
    passed = {method: _passed(lines) for method, lines in sound.items()}
    supported = {method: questions for method, questions in passed.items() if questions}
    if not supported:
        return _nothing(len(named), len(sound))
    reliable = {method: questions for method, questions in supported.items() if not _mostly_wrong(method, records)}
    if not reliable:
        return _by_luck(supported, records)
    most = max(len(questions) for questions in reliable.values())
    candidates = [questions for questions in reliable.values() if len(questions) == most]
    best = TRUE_FIRST if TRUE_FIRST in candidates else candidates[0]
    same = [method for method, questions in reliable.items() if questions == best]
    return _best(same, sound[same[0]], records)


def _nothing(named: int, sound: int) -> str:
    """Why no sentence is supported: how many name the model's class, and how many of these fail no other check."""
    if not sound:
        return FAILED if named else NO_CLASS
    return SOME_FAILED if sound < named else ONLY_CLASS


def _passed(lines: Sequence[CheckLine]) -> tuple[str, ...]:
    """The questions beyond the class that are answered with yes."""
    return tuple(line.question for line in lines[1:] if line.state == "yes")


def _mostly_wrong(method: str, records: Mapping[str, TrackRecord | None]) -> bool:
    record = records.get(method)
    return record is not None and record.right is not None and record.right < MOSTLY


def _by_luck(supported: Mapping[str, object], records: Mapping[str, TrackRecord | None]) -> str:
    pass_ = "pass" if len(supported) > 1 else "passes"
    return (
        f"No sentence can be preferred. {_names(list(supported))} {pass_} the checks, perhaps by luck. "
        f"{_shares(list(supported), records)}"
    )


def _best(methods: Sequence[str], lines: Sequence[CheckLine], records: Mapping[str, TrackRecord | None]) -> str:
    they, name, their, is_ = ("They", "name", "their", "are") if len(methods) > 1 else ("It", "names", "its", "is")
    truth, use = (line.state for line in lines[1:])
    true = f" and {is_} true of the input" if truth == "yes" else ""
    used = f", and the model uses the words that {they.lower()} {name}" if use == "yes" else ""
    text = f"Best supported: {_names(methods)}. {they} {name} the model's class{true}{used}."
    if shares := _shares(methods, records):
        return f"{text} {shares}"
    if truth != "yes":
        return f"{text} Whether {their} reason{'s hold' if len(methods) > 1 else ' holds'} is not known."
    return text


def _shares(methods: Sequence[str], records: Mapping[str, TrackRecord | None]) -> str:
    """How often reasons of these narrators were right, for those of which it is known; empty where it is of none."""
    known = [(each, record.right) for each in methods if (record := records.get(each)) and record.right is not None]
    shares = [f"{narrator_spec(each).name} {percent(right)}" for each, right in known]
    return f"{KNOWN}: {join_names(shares)}." if shares else ""


def _names(methods: Sequence[str]) -> str:
    return join_names([narrator_spec(each).name for each in methods])
