"""The answer of a comparison in plain text, for page, document, terminal and notebook; nothing is escaped.

The words come first, then what they do to the probability, how far the methods and the operators bear it out, and the
methods in their groups. No sentence claims more than the one test of `explainers.metrics.chance` does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from explainers.methods.registry import method_spec
from explainers.metrics.chance import FEWEST_UNITS
from explainers.report import wording
from explainers.report.confidence import confidence_sentence, margin_sentence
from explainers.results.answer import CONSENSUS, DECIDING, LEAST, ORDER_OF_TESTS, Answer, ErasureEffect, Units

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

NAMED = 4  # words or methods at most in a list; the others are counted
NUMBERS = {1: "a", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
ONE_OF_THEM, ALL_OF_THEM = ("agrees", "agree"), ("names all of them", "name all of them")
CHANCE = "No order here is shown to be better than random"
UNDECIDED, NOT_DONE = "Not decided yet", "not all methods are done"
UNTESTED = "No random order had time, so this is not tested yet."
UNKNOWN = "Which {} decide cannot be told here"
NONE_ALONE = "By itself no method is shown to be better than random orders."
RANDOM = "not shown to be better than random"
NOT_TESTED = "not tested, because {}, tested before, failed"
SMALL = "They change p hardly more than random {} do."
SMALL_ONE = "It changes p hardly more than a random {} does."
REPORTED = "asked in words, so not compared"
OPTIMISED = "optimised on these metrics, so not compared"
RANDOM_MEANING = (
    f"The methods are tested one after the other against random orders: {ORDER_OF_TESTS}. The first that is no better "
    "than chance ends the test, and those after it are not tested."
)
SUPPORTED_MEANING = "Better than random orders, and most of its first {} are those of the consensus."
DIFFERS_MEANING = "Better than random orders, but its first {} are mostly others than those of the consensus."


@dataclass(frozen=True)
class Mark:
    """One of three independent facts about an answer. `holds` is None where nothing can be said."""

    kind: Literal["effect", "agreement", "robust"]
    text: str
    meaning: str
    holds: bool | None


def heading(answer: Answer, comparison: "Comparison", *, brief: bool = False) -> str:
    """Return such as "“charming” and “affecting” carry the decision for positive"; empty while it is pending.

    Words carry a decision if another class is predicted without them; else they weigh most in it. What holds under the
    comparison's own operator alone is said to. `brief` leaves out which of several equal words is meant, for a place
    where they are marked, unless several of them are named.
    """
    if answer.status == "pending":
        return ""
    if answer.undecided and not answer.leading:
        return UNDECIDED
    if answer.status == "open" and not answer.leading:
        return UNKNOWN.format(wording.plural(wording.name_of_units(comparison.decision))) if answer.refusal else CHANCE
    words, verb = quoted(answer.words, comparison, brief=brief), _verb(answer, comparison)
    own, _ = wording.holding_clauses([(comparison.decision.settings.erasure, True)], comparison)
    alone = f" when {own}" if answer.holds and not any(holds for _, holds in answer.holds) else ""
    sentence = f"{words} {verb} {_label(comparison)}{alone}"
    if answer.marked and answer.provisional:
        return f"So far, {sentence}"
    return f"{sentence[:1].upper()}{sentence[1:]}"


def heading_meaning(answer: Answer, comparison: "Comparison") -> str:
    """Return what the heading means by its units and its verb, for a hover; empty where no unit is named."""
    if answer.status == "pending" or not answer.marked:
        return ""
    unit, one = wording.name_of_units(comparison.decision), len(answer.words) == 1
    which = f"The {unit} that stands" if one else f"The {wording.plural(unit)} that stand"
    first, them = f"{which} first in the mean rank of the compared methods.", _them(answer)
    if not comparison.explains_predicted:
        return f"{first} The model predicts another class."
    if answer.leading:
        return first
    if answer.effect is not None and answer.effect.changes_class:
        return f"{first} Without {them} the model predicts another class."
    return f"{first} Without {them} the model predicts the same class, with another probability."


def _verb(answer: Answer, comparison: "Comparison") -> str:
    one = len(answer.words) == 1
    if answer.leading or not comparison.explains_predicted:
        return f"{'speaks' if one else 'speak'} most for"
    if answer.effect is not None and answer.effect.changes_class:
        return f"{'carries' if one else 'carry'} the decision for"
    return f"{'weighs' if one else 'weigh'} most in the decision for"


def effect_line(answer: Answer, comparison: "Comparison") -> str:
    """Return such as "p(positive) 0.95 → 0.07 without them; 0.84 without two random words"; by keeping where that tells
    more."""
    effect = answer.effect
    if effect is None or not answer.marked:
        return ""
    (own, chance), prefix = effect.shown, experiment(effect)
    change = (
        f"p({_label(comparison)}) {wording.decimals(effect.full)} → {wording.decimals(own)} {prefix} {_them(answer)}"
    )
    return f"{change}; {wording.decimals(chance)} {prefix} {random_units(answer, comparison)}"


def experiment(effect: ErasureEffect) -> str:
    """Return the one in which the units differ most from random ones: "without" or "with only"."""
    return "without" if effect.shows_by_removing else "with only"


def random_units(answer: Answer, comparison: "Comparison") -> str:
    """Return "two random words": as many as are decisive."""
    count, unit = len(answer.words), wording.name_of_units(comparison.decision)
    return f"{NUMBERS.get(count, str(count))} random {unit if count == 1 else wording.plural(unit)}"


def method_sentence(answer: Answer, comparison: "Comparison", *, brief: bool = False) -> str:
    """Return how many methods have all of the words among their first ones; empty before there is a consensus."""
    if not answer.words:
        return ""
    words, among = (
        quoted(answer.words, comparison, brief=brief),
        "first" if answer.cut == 1 else f"among {{}} first {answer.cut}",
    )
    if answer.naming == 0:
        every = "" if len(answer.words) == 1 else "all of "
        none = f"None of {answer.compared} compared methods ranks {every}{words} {among.format('its')}"
        return f"{none}; only their joint order does."
    every = "Both compared methods" if answer.compared == 2 else f"All {answer.compared} compared methods"
    who = every if answer.naming == answer.compared else f"{answer.naming} of {answer.compared} compared methods"
    verb, whose = ("ranks", "its") if answer.naming == 1 else ("rank", "their")
    return f"{who} {verb} {words} {among.format(whose)}."


def compared_sentence(answer: Answer, comparison: "Comparison") -> str:
    """Return such as "10 of 12 methods are compared, all but fAML and Random."; empty where all of them are.

    The methods are all that were asked for, also those without a result.
    """
    methods = dict.fromkeys((*comparison.order, *comparison.methods))
    others = [method for method in methods if method not in (CONSENSUS, *answer.members)]
    if not answer.compared or not others:
        return ""
    but = wording.join_names(_names(others)) if len(others) <= NAMED + 1 else names(others)
    return f"{answer.compared} of {answer.compared + len(others)} methods are compared, all but {but}."


def chance_sentence(answer: Answer) -> str:
    """Return how the joint order does against random ones; empty where that is not tested."""
    if answer.p is None or answer.refusal:
        return UNTESTED if answer.leading else ""
    if answer.status == "supported":
        alone = "" if answer.better_than_chance or not answer.random else f" {NONE_ALONE}"
        if answer.exact:
            share, p = _share(1 - answer.p), wording.number(answer.p)
            return f"The methods' joint order is better than {share} of all orders (p = {p}).{alone}"
        return f"The methods' joint order beats all {answer.orders} random ones.{alone}"
    if answer.leading:
        beaten = f"all {answer.orders} random ones" if answer.orders > 1 else "one random order"
        tested = f"With more time it is tested against {DECIDING}."
        return f"So far the methods' joint order beats {beaten} (p = {wording.number(answer.p)}). {tested}"
    as_good = round(answer.p * (answer.orders + 1)) - 1
    share = f"{_share(answer.p)} of all" if answer.exact else f"{as_good} of {answer.orders} random"
    do = "does" if as_good == 1 and not answer.exact else "do"
    if answer.undecided:
        return f"So far {share} orders {do} as well as the methods' joint order."
    return f"The methods' joint order is not shown to be better than random: {share} orders {do} as well."


def size_sentence(answer: Answer, comparison: "Comparison") -> str:
    """Return that the words of a supported answer change p hardly more than random ones; empty where they do."""
    if answer.status != "supported" or answer.effect is None or not answer.effect.is_small:
        return ""
    unit = wording.name_of_units(comparison.decision)
    return SMALL_ONE.format(unit) if len(answer.words) == 1 else SMALL.format(wording.plural(unit))


def operators_line(answer: Answer, comparison: "Comparison") -> str:
    """Return "Holds when words are deleted; not when embeddings are zeroed"; empty before another operator was
    tried."""
    holding, failing = wording.holding_clauses(answer.holds, comparison)
    if not holding:
        return f"Does not hold when {failing}" if failing else ""
    return f"Holds when {holding}{f'; not when {failing}' if failing else ''}"


def marks(answer: Answer, comparison: "Comparison") -> tuple[Mark, ...]:
    """Return effect, agreement and operators of a tested consensus; none where nothing was tested."""
    effect, agreed = answer.effect, answer.agreement
    if effect is None or agreed is None or answer.refusal:
        return ()
    units = wording.plural(wording.name_of_units(comparison.decision))
    supported, tried = answer.status == "supported", 1 + len(answer.holds)
    holding = supported + sum(holds for _, holds in answer.holds)
    operators = f"holds under {holding} of {tried} operators" if tried > 1 else "one operator tried"
    whole = (
        f"p({_label(comparison)}): {wording.decimals(effect.full)} with all {units}; "
        f"{wording.decimals(effect.removed)} without {_them(answer)}, "
        f"{wording.decimals(effect.random_removed)} without {random_units(answer, comparison)} on average; "
        f"{wording.decimals(effect.kept)} with only {_them(answer)}, "
        f"{wording.decimals(effect.random_kept)} with only random ones. {size_sentence(answer, comparison)}"
    ).rstrip()
    common = (
        f"Two methods have on average {_share(agreed)} of their first {answer.cut} {units} in common. "
        f"{method_sentence(answer, comparison)} {compared_sentence(answer, comparison)}"
    ).rstrip()
    robust = f"{operators_line(answer, comparison)}." if answer.holds else "No other operator was tried."
    own, _ = effect.shown
    majority = 2 * answer.naming > answer.compared
    verb, verbs = ONE_OF_THEM if len(answer.words) == 1 else ALL_OF_THEM
    agree = f"{answer.naming} of {answer.compared} compared methods {verb if answer.naming == 1 else verbs}"
    agree = agree if answer.naming else f"no compared method {verb}"
    return (
        Mark(
            "effect",
            f"{wording.decimals(effect.full)} → {wording.decimals(own)} {experiment(effect)} {_them(answer)}",
            whole,
            None if answer.undecided else supported and not effect.is_small,
        ),
        Mark("agreement", agree, common, majority),
        Mark("robust", operators, robust, answer.robust if tried > 1 else None),
    )


def group_title(answer: Answer, comparison: "Comparison", method: str) -> str:
    """Return the title of the group in which the row stands; empty for the consensus and for rows that take no part."""
    group = answer.group(method)
    if group == "supported":
        single = next((method for method in answer.supported if method == answer.single), "")
        if single:
            return f"supported; {method_spec(single).name} is ahead of the others"
        return "supported, cannot be told apart here" if len(answer.supported) > 1 else "supported"
    if group == "differs":
        ahead = "; ahead of the others" if method == answer.single else ""
        return f"differs from the consensus: {quoted(dict(answer.differs)[method], comparison)}{ahead}"
    if group != "random":
        return ""
    if answer.undecided:
        return UNDECIDED.lower()
    if answer.status == "supported" and method != answer.random[0]:
        return NOT_TESTED.format(method_spec(answer.random[0]).name)
    return RANDOM


def group_meaning(answer: Answer, comparison: "Comparison", method: str) -> str:
    """Return what the title says, in a sentence."""
    first = f"{answer.cut} {wording.plural(wording.name_of_units(comparison.decision))}" if answer.cut > 1 else (
        wording.name_of_units(comparison.decision)
    )  # fmt: skip
    meanings = {"supported": SUPPORTED_MEANING.format(first), "differs": DIFFERS_MEANING.format(first)}
    random = f"{NOT_DONE.capitalize()}." if answer.undecided else RANDOM_MEANING
    return (meanings | {"random": random}).get(answer.group(method), "")


def group_lines(answer: Answer, comparison: "Comparison") -> list[str]:
    """Return a line per group with its methods; none where nothing was tested."""
    titles = dict.fromkeys(group_title(answer, comparison, method) for method in answer.order)
    ahead = answer.single if answer.single in answer.supported and len(answer.supported) > 1 else ""  # in the title
    methods = {
        title: [one for one in answer.order if one != ahead and group_title(answer, comparison, one) == title]
        for title in titles
    }
    return [f"{title[:1].upper()}{title[1:]}: {names(methods[title])}" for title in titles if title]


def abstaining_line(answer: Answer, comparison: "Comparison") -> str:
    """Return such as "AML, CIMI explain the predicted class only, which is positive"; empty where none abstains."""
    labels, target = comparison.decision.card.labels, comparison.decision.target
    of_class = [method for method in answer.abstaining if target.is_contrast and method_spec(method).reads_class]
    predicted_only = [method for method in answer.abstaining if method not in of_class]
    lines = (
        _explains(of_class, f"{wording.one_line(labels[target.label])}, not {_label(comparison)}"),
        _explains(
            predicted_only, f"the predicted class only, which is {wording.one_line(labels[comparison.predicted])}"
        ),
    )
    return "; ".join(filter(None, lines))


def _explains(methods: Sequence[str], what: str) -> str:
    verb = "explains" if len(methods) == 1 else "explain"
    return f"{names(methods)} {verb} {what}" if methods else ""


def answer_sentences(answer: Answer, comparison: "Comparison") -> list[str]:
    """Return everything above in sentences; none while it is pending."""
    if answer.status == "pending":
        return []
    head, evidence = heading(answer, comparison), answer.refusal.removesuffix(".") or effect_line(answer, comparison)
    open_yet = answer.undecided and not answer.leading
    evidence = NOT_DONE if open_yet else evidence
    provisional = " (provisional)" if answer.provisional and not open_yet and not answer.marked else ""
    first = f"{head}{f': {evidence}' if evidence else ''}{provisional}."
    tested = "" if answer.refusal else method_sentence(answer, comparison)
    compared = "" if answer.refusal else compared_sentence(answer, comparison)
    lines = (
        scope_line(comparison),
        operators_line(answer, comparison),
        *group_lines(answer, comparison),
        abstaining_line(answer, comparison),
    )
    size = size_sentence(answer, comparison)
    sentences = [
        first,
        margin_sentence(comparison),
        size,
        tested,
        compared,
        chance_sentence(answer),
        confidence_sentence(answer),
    ]
    return [*filter(None, sentences), *(f"{line}." for line in lines if line)]


def scope_line(comparison: "Comparison") -> str:
    """Return what of the text is explained, where that is not all of it; without a full stop."""
    decision = comparison.decision
    if not decision.settings.opened:
        return ""
    sentences = len({decision.encoding.sentence_of(unit) for unit in decision.encoding.units})
    which = "one sentence" if sentences == 1 else f"{NUMBERS.get(sentences, str(sentences))} sentences"
    return f"The words of {which} are explained; the rest of the text stays as it is"


LONGER = {"example": "A prompt with more examples", "sentence": "The same text by word or a longer one"}


def advice(answer: Answer, comparison: "Comparison") -> str:
    """Return what can be tried where nothing can be told; empty where there is an answer, or one is to come."""
    if answer.status != "open" or answer.undecided:
        return ""
    opened = comparison.decision.settings.opened
    if comparison.probability <= LEAST:
        return "Another class can be explained."
    if answer.refusal and not answer.words:
        more = "More sentences" if opened else LONGER.get(comparison.decision.settings.unit, "A longer input")
        if len(comparison.decision.encoding.units) < FEWEST_UNITS:
            return f"{more} can be tested." if comparison.results else ""
        return f"{more}, another class or other methods may give an answer." if comparison.results else ""
    longer = "more sentences" if opened else "a longer text"
    return f"Another operator, {longer}, or interactions may show more."


def quoted(units: Units, comparison: "Comparison", *, brief: bool = False) -> str:
    """Return "“a”, “b” and 3 more"; `brief` without the text of a pair and the number of a word, unless two are
    equal."""
    everything = comparison.decision.encoding.units
    named = [
        wording.quoted_unit(everything[unit], wording.one_line(everything[unit].text))
        if brief
        else wording.quoted_among(comparison, unit)
        for unit in units
    ]
    if len(set(named)) < len(named):  # two that are equal, such as one in each text of a pair
        named = [
            wording.quoted_among(comparison, unit) if named.count(name) > 1 else name
            for unit, name in zip(units, named, strict=True)
        ]
    return (
        wording.join_names(named)
        if len(named) <= NAMED + 1
        else f"{', '.join(named[:NAMED])} and {len(named) - NAMED} more"
    )


def names(methods: Sequence[str]) -> str:
    """Return "A, B, C and 3 more"; without a comma in a name, because it stands in a list: "Attention (mean)", but for
    one in brackets: "IvRA (sim, softmax)"."""
    shown = _names(methods[: NAMED if len(methods) > NAMED + 1 else None])
    more = len(methods) - len(shown)
    return f"{', '.join(shown)}{f' and {more} more' if more else ''}"


def _names(methods: Sequence[str]) -> list[str]:
    return [_name(method) for method in methods]


def _name(method: str) -> str:
    name, comma, detail = method_spec(method).name.partition(", ")
    return f"{name} ({detail})" if comma and "(" not in name else method_spec(method).name


def _them(answer: Answer) -> str:
    return "it" if len(answer.words) == 1 else "them"


def _label(comparison: "Comparison") -> str:
    return wording.target_name(comparison.decision)


def _share(share: float) -> str:
    """ "71 %"; nothing but all is 100 %."""
    percent = round(100 * share)
    return "more than 99 %" if percent == 100 and share < 1 else f"{percent} %"
