"""The sentences of the narrators with what was checked about them, as lines for a terminal and a document's section.

The three things that are checked about a narrative, in words: for the page, a document and the terminal.

Which of the narrators' sentences is best supported, in one line.

A sentence is supported if it names the model's class, fails no check and passes another one, and if its narrator's
sentences are mostly right on unseen inputs, where that is known. Among those the ones that pass most checks are named.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from explainers.datasets.entailment import NO_RULES
from explainers.methods.narrator_specs import NARRATORS, narrator_spec
from explainers.narrative.content_words import reason_of
from explainers.report import narrator_overview, wording
from explainers.results.events import NO_WORD

if TYPE_CHECKING:
    from explainers.models.inputs.encoding import Encoding
    from explainers.results.comparison import Comparison
    from explainers.results.events import Narrative, NarrativeCheck


QUESTIONS = ("names the model's class", "true of the input", "used by the model")


@dataclass(frozen=True)
class CheckLine:
    """One of the questions with its answer in a word or two; `detail` explains it, for a tooltip."""

    question: str
    state: Literal["yes", "no", "none", "waiting"]
    answer: str
    detail: str


NO_WORD_LINE = CheckLine(QUESTIONS[2], "none", "names no word", "The sentence names no word of the input.")


def check_lines(
    narrative: "Narrative", check: "NarrativeCheck | None", predicted: int, labels: Sequence[str]
) -> tuple[CheckLine, CheckLine, CheckLine]:
    """In the order of `QUESTIONS`. `check` is None as long as nothing was checked."""
    return _class(narrative, predicted, labels), _truth(check), _use(narrative, check, predicted, labels)


def _class(narrative: "Narrative", predicted: int, labels: Sequence[str]) -> CheckLine:
    if narrative.stated is None:
        return CheckLine(QUESTIONS[0], "none", "names none", "The sentence states no class.")
    stated, model = wording.one_line(labels[narrative.stated]), wording.one_line(labels[predicted])
    if narrative.stated == predicted:
        return CheckLine(QUESTIONS[0], "yes", "yes", f"The sentence states {stated}, which the model predicts.")
    return CheckLine(QUESTIONS[0], "no", "no", f"The sentence states {stated}; the model predicts {model}.")


def _truth(check: "NarrativeCheck | None") -> CheckLine:
    if check is None:
        return CheckLine(QUESTIONS[1], "waiting", "…", "Not checked yet.")
    note = _sentence(check.true_note)
    if check.true is None:
        return CheckLine(QUESTIONS[1], "none", "not checked" if check.true_note == NO_RULES.note else "undecided", note)
    by_rules = "Checked by the generator's rules."
    return CheckLine(QUESTIONS[1], "yes" if check.true else "no", "yes" if check.true else "no", f"{note} {by_rules}")


def _use(narrative: "Narrative", check: "NarrativeCheck | None", predicted: int, labels: Sequence[str]) -> CheckLine:
    if not narrative.mentions:
        return NO_WORD_LINE
    if check is None:
        return CheckLine(QUESTIONS[2], "waiting", "…", "Not checked yet.")
    if check.full is None or check.removed is None:  # only patches are named, or erasing failed
        failed = CheckLine(QUESTIONS[2], "none", "not checked", _sentence(check.use_note))
        return NO_WORD_LINE if check.use_note == NO_WORD else failed
    label = wording.one_line(labels[predicted if narrative.stated is None else narrative.stated])
    effect = f"p({label}) without the named words: {wording.decimals(check.full)} → {wording.decimals(check.removed)}"
    if check.random_removed:
        mean, lowest = (
            wording.decimals(float(np.mean(check.random_removed))),
            wording.decimals(min(check.random_removed)),
        )
        effect += f"; without as many random words {mean} on average, {lowest} at the lowest"
    if check.used is None:
        return CheckLine(QUESTIONS[2], "none", "undecided", f"{effect}. {_sentence(check.use_note)}")
    effect += "."
    return CheckLine(QUESTIONS[2], "yes" if check.used else "no", "yes" if check.used else "no", effect)


def _sentence(note: str) -> str:
    """With a capital and one full stop; empty without a note."""
    return f"{note[:1].upper()}{note[1:].rstrip('.')}." if note else ""


MOSTLY = 0.5  # share of right reasons on unseen inputs, or chance of this one
UNSURE = 0.6  # probability of the predicted class
CLASS_MAY_BE_WRONG = "The model itself is unsure (p = {:.2f}), so its class may be wrong, whatever the reason says."
CHANCE = "Chance that the reason holds, estimated without a reader"
KNOWN = "Right reasons on unseen inputs that the model classified correctly"
BEING_GENERATED = "The sentences are being generated."
BEING_CHECKED = "The sentences are being checked."
NO_CLASS = "No sentence is supported: none names the class that the model predicts."
FAILED = "No sentence is supported: each that names the model's class fails another check."
ONLY_CLASS = "The sentences name the model's class. Whether their reasons hold could not be checked here."
UNDECIDED = "Only the class could be checked here. The reason that is likeliest to hold is that of {}."
SOME_FAILED = "No reason is supported: those that could be checked here fail."

TRUE_FIRST = (QUESTIONS[1],)  # of two that pass one check each, the reason that is true comes before the words in use

Checks = Mapping[str, Sequence[CheckLine]]  # by narrator, in the order of QUESTIONS
Records = Mapping[str, narrator_overview.TrackRecord | None]


def sentence_verdict(
    checks: Checks,
    records: Records,
    chances: Mapping[str, float] = MappingProxyType({}),
    certainty: float = 1.0,
) -> str:
    """Empty where nothing was generated. `records` may lack narrators, and so may `chances`, that the reason of this
    sentence holds. `certainty` is the probability of the class that the model predicts."""
    if not checks:
        return ""
    if any(line.state == "waiting" for lines in checks.values() for line in lines):
        return BEING_CHECKED
    unsure = CLASS_MAY_BE_WRONG.format(certainty) if certainty < UNSURE else ""
    return " ".join(filter(None, (_supported(checks, records, chances), unsure)))


def _supported(checks: Checks, records: Records, chances: Mapping[str, float]) -> str:
    named = {method: lines for method, lines in checks.items() if lines[0].state == "yes"}
    sound = {method: lines for method, lines in named.items() if all(line.state != "no" for line in lines)}
    passed = {method: _passed(lines) for method, lines in sound.items()}
    supported = {method: questions for method, questions in passed.items() if questions}
    if not supported:
        of_sound = {method: share for method in sound if (share := _share(method, records, chances)) is not None}
        likeliest = max(of_sound, key=lambda method: of_sound[method], default="")
        if likeliest and of_sound[likeliest] >= MOSTLY:
            return f"{UNDECIDED.format(_names([likeliest]))} {_shares([likeliest], records, chances)}"
        return _nothing(len(named), len(sound))
    shares = {method: share for method in supported if (share := _share(method, records, chances)) is not None}
    if shares and max(shares.values()) < MOSTLY:  # one of which nothing is known is not better for it
        return _by_luck(supported, records, chances)
    reliable = {method: questions for method, questions in supported.items() if shares.get(method, 1.0) >= MOSTLY}
    most = max(len(questions) for questions in reliable.values())
    candidates = [questions for questions in reliable.values() if len(questions) == most]
    best = TRUE_FIRST if TRUE_FIRST in candidates else candidates[0]
    same = [method for method, questions in reliable.items() if questions == best]
    known = [method for method in same if method in chances]
    same = [max(known, key=lambda method: chances[method])] if known else same
    return _best(same, sound[same[0]], records, chances)


def _nothing(named: int, sound: int) -> str:
    """Why no sentence is supported: how many name the model's class, and how many of these fail no other check."""
    if not sound:
        return FAILED if named else NO_CLASS
    return SOME_FAILED if sound < named else ONLY_CLASS


def _passed(lines: Sequence[CheckLine]) -> tuple[str, ...]:
    """The questions beyond the class that are answered with yes."""
    return tuple(line.question for line in lines[1:] if line.state == "yes")


def _share(method: str, records: Records, chances: Mapping[str, float]) -> float | None:
    """The chance of this sentence, else the share of its narrator's right reasons; None where neither is known."""
    record = records.get(method)
    return chances.get(method, None if record is None else record.right)


def _by_luck(
    supported: Mapping[str, object],
    records: Records,
    chances: Mapping[str, float],
) -> str:
    pass_ = "pass" if len(supported) > 1 else "passes"
    return (
        f"No sentence can be preferred. {_names(list(supported))} {pass_} the checks, perhaps by luck. "
        f"{_shares(list(supported), records, chances)}"
    )


def _best(
    methods: Sequence[str],
    lines: Sequence[CheckLine],
    records: Records,
    chances: Mapping[str, float],
) -> str:
    they, name, their, is_ = ("They", "name", "their", "are") if len(methods) > 1 else ("It", "names", "its", "is")
    truth, use = (line.state for line in lines[1:])
    true = f" and {is_} true of the input" if truth == "yes" else ""
    used = f", and the model uses the words that {they.lower()} {name}" if use == "yes" else ""
    text = f"Best supported: {_names(methods)}. {they} {name} the model's class{true}{used}."
    if shares := _shares(methods, records, chances):
        return f"{text} {shares}"
    if truth != "yes":
        return f"{text} Whether {their} reason{'s hold' if len(methods) > 1 else ' holds'} is not known."
    return text


def _shares(methods: Sequence[str], records: Records, chances: Mapping[str, float]) -> str:
    """The chance of these sentences where it is known, else how often reasons of their narrators were right; empty
    where neither is known of any."""
    likely = [
        f"{narrator_spec(one).name} {narrator_overview.percent(chances[one])}" for one in methods if one in chances
    ]
    if likely:
        return f"{CHANCE}: {wording.join_names(likely)}."
    known = [
        (method, record.right) for method in methods if (record := records.get(method)) and record.right is not None
    ]
    shares = [f"{narrator_spec(narrator).name} {narrator_overview.percent(right)}" for narrator, right in known]
    return f"{KNOWN}: {wording.join_names(shares)}." if shares else ""


def _names(methods: Sequence[str]) -> str:
    return wording.join_names([narrator_spec(method).name for method in methods])


Item = TypeVar("Item")
NOTE = (
    "Generated by language models from the classifier's internal states, or by φ (words) from the words. The reasons "
    "are learned from human explanations, or from the rules of a generator; only the class is tied to the model."
)


def checks_of(comparison: "Comparison", narrative: "Narrative") -> tuple[CheckLine, ...]:
    """Return whether the sentence names the model's class, is true of the input, and is used by the model."""
    check = comparison.narrative_check(narrative.method)
    return check_lines(narrative, check, comparison.predicted, comparison.decision.card.labels)


def grouped(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Items with equal keys together, in the order of the first of each: equal sentences stand once."""
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def names_of(methods: Sequence[str]) -> str:
    """ "φ, φ + TS and CAuSE"."""
    return wording.join_names([narrator_spec(method).name for method in methods])


def best_sentence(comparison: "Comparison") -> str:
    """Which sentence is best supported; empty without sentences. What was not checked by now is not waited for."""
    decision, narratives = comparison.decision, comparison.narratives
    checks = {narrative.method: _by_now(checks_of(comparison, narrative)) for narrative in narratives}
    records = applicable_records(known_records(decision.card.name, checks), decision.encoding, narratives)
    return sentence_verdict(checks, records, chances_of(comparison), max(comparison.probabilities))


def known_records(model: str, narrators: Iterable[str]) -> Records:
    """Return by narrator how often its reasons were right on unseen inputs, None where that is not known."""
    return {narrator: narrator_overview.track_record(model, narrator) for narrator in narrators}


def applicable_records(records: Records, encoding: "Encoding", narratives: Iterable["Narrative"]) -> Records:
    """Return the records that say something of this input: none where it is unlike those that were measured, nor for
    a sentence that gives no reason."""
    without = {narrative.method for narrative in narratives if not reason_of(narrative.text)}
    return {
        narrator: None if encoding.unlike_training or narrator in without else record
        for narrator, record in records.items()
    }


def chances_of(comparison: "Comparison") -> dict[str, float]:
    """Return by narrator how likely the reason of its sentence holds, where that is known."""
    return {check.method: check.chance for check in comparison.narrative_checks if check.chance is not None}


def _by_now(lines: Sequence[CheckLine]) -> list[CheckLine]:
    return [replace(line, state="none") if line.state == "waiting" else line for line in lines]


def narrative_lines(comparison: "Comparison") -> Iterator[str]:
    if comparison.narratives:
        yield best_sentence(comparison)
    for narrative in comparison.narratives:
        yield f"{narrative.method:22} “{narrative.text}” ({narrative.seconds:.2f} s)"
        for line in checks_of(comparison, narrative):
            yield f"{'':22} {line.question}: {line.answer}. {line.detail}"


def narratives_section(comparison: "Comparison") -> str:
    """Every sentence once, with what was checked about it, as HTML; empty for a model without narrators."""
    failures = [failure for failure in comparison.failures if failure.method in NARRATORS.ids]
    if not comparison.narratives and not failures:
        return ""
    items = [_item(comparison, group) for group in grouped(comparison.narratives, _text)]
    items += [
        f"<dt>{wording.escaped(narrator_spec(failure.method).name)}</dt><dd>{wording.escaped(failure.reason)}</dd>"
        for failure in failures
    ]
    verdict = f"<p>{wording.escaped(best_sentence(comparison))}</p>" if comparison.narratives else ""
    return f'<h2>In words</h2>{verdict}<p class="note">{NOTE}</p><dl class="methods">{"".join(items)}</dl>'


def _text(narrative: "Narrative") -> str:
    return narrative.text


def _item(comparison: "Comparison", narratives: Sequence["Narrative"]) -> str:
    first, units = narratives[0], comparison.decision.encoding.units
    checks = "".join(
        f"<li>{wording.escaped(line.question)}: <b>{wording.escaped(line.answer)}</b> "
        f"<small>{wording.escaped(line.detail)}</small></li>"
        for line in checks_of(comparison, first)
    )
    notes = [_reading(comparison, narrative) for narrative in narratives if narrative.read]
    mentioned = [units[unit].text for unit in first.mentions if units[unit].kind == "word"]
    if mentioned:
        notes.append(f"mentions (derived): {', '.join(mentioned)}")
    return (
        f"<dt>{wording.escaped(names_of([narrative.method for narrative in narratives]))} <small>generated</small></dt>"
        f"<dd>“{wording.escaped(first.text)}”<ul>{checks}</ul><small>{wording.escaped('; '.join(notes))}</small></dd>"
    )


def _reading(comparison: "Comparison", narrative: "Narrative") -> str:
    labels = comparison.decision.card.labels
    likeliest = max(range(len(narrative.read)), key=lambda index: narrative.read[index])
    whose = narrator_spec(narrative.method).name
    return f"C2 of {whose} reads {wording.one_line(labels[likeliest])} {wording.decimals(narrative.read[likeliest])}"
