import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, starmap

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score

from explainers.annotations.agreement import (
    CONSTANT,
    FEW,
    NOTHING,
    AgreementValue,
    alpha,
    alphas,
    cohen,
    coincidences,
    confusion,
    f1,
    fleiss,
    kappas,
    levels,
    of_items,
    of_pairs,
    overall,
)
from explainers.annotations.judged import (
    JudgedItem,
    judged_answers,
    judged_classes,
    judged_item,
    word_encoding,
)
from explainers.annotations.records import Annotation, Item, Marked, Ranked, Rated, Rating, Simulated, Span
from explainers.datasets.example import Example

# Fleiss' example in Wikipedia: 10 subjects, 14 raters, 5 categories; κ = 0.210
FLEISS = np.array(
    [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]
)  # fmt: skip
# Krippendorff's own example: four observers, missing answers; nominal 0.743, ordinal 0.815
OBSERVERS = [
    "1 2 3 3 2 1 4 1 2 * * *",
    "1 2 3 3 2 2 4 1 2 5 * 3",
    "* 3 3 3 2 3 4 2 2 5 1 *",
    "1 2 3 3 2 4 4 1 2 5 1 *",
]


def judged_marks(items: Sequence[Item], annotations: Sequence[Annotation]) -> tuple[JudgedItem, ...]:
    """The evidence that people marked, 1 or 0 per word."""
    marks: dict[str, dict[str, Marked]] = {}
    classes: dict[str, dict[str, str]] = {}
    for annotation in annotations:
        assert isinstance(annotation.answer, Marked)
        marks.setdefault(annotation.item, {})[annotation.annotator] = annotation.answer
        classes.setdefault(annotation.item, {})[annotation.annotator] = annotation.own_class
    return tuple(
        judged_item(item, marks[item.id], word_encoding(item.example), classes[item.id])
        for item in items
        if item.id in marks
    )


def single(codes: list[dict[str, float]]) -> list[JudgedItem]:
    """Items of one question each."""
    return [JudgedItem(str(n), {who: {"q": code} for who, code in own.items()}) for n, own in enumerate(codes)]


def observed() -> list[JudgedItem]:
    rows = [line.split() for line in OBSERVERS]
    return single([{f"o{o}": float(row[n]) for o, row in enumerate(rows) if row[n] != "*"} for n in range(12)])


def random_items(seed: int, *, missing: float, values: int = 3) -> list[JudgedItem]:
    rng = np.random.default_rng(seed)
    return [
        JudgedItem(
            str(n),
            {who: {str(q): float(rng.integers(values)) for q in range(4) if rng.random() >= missing} for who in "abc"},
        )
        for n in range(8)
    ]


def matrix(items: list[JudgedItem], who: str) -> list[float]:
    return [item.codes[who].get(question, math.nan) for item in items for question in item.questions]


def test_fleiss_of_the_published_example() -> None:
    codes = [{f"r{r}": float(c) for r, c in enumerate(np.repeat(np.arange(5), counts).tolist())} for counts in FLEISS]
    value = fleiss(single(codes))
    assert value.value == pytest.approx(0.210, abs=5e-4)
    assert value.items == 10
    assert value.low is not None
    assert value.high is not None
    assert value.low < 0.21 < value.high


def test_alpha_of_the_published_example_with_missing_answers() -> None:
    assert alpha(observed(), ordinal=False).value == pytest.approx(0.743, abs=5e-4)
    assert alpha(observed(), ordinal=True).value == pytest.approx(0.815, abs=5e-4)
    assert alpha(observed(), ordinal=True).items == 11  # the last one has a single answer


def alpha_by_pairs(data: list[list[float]], *, ordinal: bool) -> float:
    """1 - D_o / D_e as Krippendorff (2011) writes it: over all pairs within a question, and over all pairs at all."""
    units = [[code for code in column if not math.isnan(code)] for column in zip(*data, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    values = [code for unit in units for code in unit]

    def distance(one: float, other: float) -> float:
        if not ordinal:
            return float(one != other)
        low, high = sorted((one, other))
        return (sum(low <= code <= high for code in values) - (values.count(one) + values.count(other)) / 2) ** 2

    observed = sum(distance(*pair) / (len(unit) - 1) for unit in units for pair in permutations(unit, 2)) / len(values)
    expected = sum(starmap(distance, permutations(values, 2))) / (len(values) * (len(values) - 1))
    return 1 - observed / expected


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_the_definitions_and_so_are_the_resampled_statistics(seed: int, missing: float) -> None:
    items = random_items(seed, missing=missing)
    known, data = levels(items), [matrix(items, who) for who in "abc"]
    for ordinal in (False, True):
        expected = alpha_by_pairs(data, ordinal=ordinal)
        tables = np.sum([coincidences(item, known) for item in items], axis=0)[None]
        assert alpha(items, ordinal=ordinal).value == pytest.approx(expected)
        assert alphas(tables, ordinal=ordinal)[0] == pytest.approx(expected)
    both = [(x, y) for x, y in zip(data[0], data[1], strict=True) if not math.isnan(x + y)]
    kappa = cohen_kappa_score(*([int(value) for value in side] for side in zip(*both, strict=True)))
    assert cohen(items, "a", "b").value == pytest.approx(kappa)
    assert kappas(np.sum([confusion(item, "a", "b", known) for item in items], axis=0)[None])[0] == pytest.approx(kappa)


TEXT = "It is not very good, but it is short."


def mark(item: str, who: str, *words: str, version: int = 1) -> Annotation:
    spans = tuple(Span(TEXT.index(word), TEXT.index(word) + len(word)) for word in words)
    return Annotation("p", item, who, "mark", version, 1.0, 1.0, Marked(spans))


ITEMS = tuple(Item(id, Example(TEXT)) for id in "12")
MARKS = (
    mark("1", "Ann", "not very good"),
    mark("1", "Bob", "very good", "short"),
    mark("2", "Ann", "short"),
    mark("2", "Bob", "short"),
)


def test_f1_of_units_and_spans_by_hand() -> None:
    items = judged_marks(ITEMS, MARKS)
    # Ann marks 3 + 1 units, Bob 3 + 1; they share very, good and, in the second, short: 2 · 3 / 8
    assert f1(items, "Ann", "Bob", "units").value == pytest.approx(6 / 8)
    # of Ann's two spans one is exactly Bob's; of Bob's three, one is Ann's: P 1/2, R 1/3
    assert f1(items, "Ann", "Bob", "exact spans").value == pytest.approx(2 / 5)
    # both of Ann's touch one of Bob's, two of Bob's three touch one of Ann's: P 1, R 2/3
    assert f1(items, "Ann", "Bob", "relaxed spans").value == pytest.approx(4 / 5)


def test_f1_of_units_is_that_of_scikit_learn() -> None:
    items = judged_marks(ITEMS, MARKS)
    mine, theirs = ([code for item in items for code in item.codes[who].values()] for who in ("Ann", "Bob"))
    assert f1(items, "Ann", "Bob", "units").value == pytest.approx(f1_score(mine, theirs))


def test_half_a_word_is_a_word() -> None:
    items = judged_marks(ITEMS, (*MARKS, mark("1", "Bob", "not very goo")))
    assert items[0].codes["Ann"] == items[0].codes["Bob"]
    assert f1(items, "Ann", "Bob", "exact spans").value == 1


def test_the_overview_has_every_pair_every_item_and_all() -> None:
    items = judged_marks(ITEMS, (*MARKS, mark("1", "Cem", "good")))
    assert set(of_pairs(items)) == {("Ann", "Bob"), ("Ann", "Cem"), ("Bob", "Cem")}
    assert set(of_items(items, ordinal=False)) == {"1", "2"}
    values = {value.name: value for value in overall(items, ordinal=False)}
    pairs = [f1(items, *pair, "units").value for pair in of_pairs(items)]
    assert values["F1 of units"].value == pytest.approx(np.mean(pairs))
    assert values["F1 of units"].items == 2
    assert set(values) == {
        "Cohen's κ", "Fleiss' κ", "Krippendorff's α, nominal",
        "F1 of units", "F1 of exact spans", "F1 of relaxed spans",
    }  # fmt: skip


def test_the_interval_of_several_pairs_contains_the_mean_and_narrows_with_items() -> None:
    def width(items: list[JudgedItem]) -> float:
        value = overall(items, ordinal=True)[0]
        assert value.low is not None
        assert value.high is not None
        assert value.value is not None
        assert value.low <= value.value <= value.high
        return value.high - value.low

    few = random_items(0, missing=0.0, values=2)
    many = [replace(item, id=f"{copy}-{item.id}") for copy in range(9) for item in few]
    assert width(many) < width(few) / 2


def chosen(given: Annotation, own_class: str) -> Annotation:
    return replace(given, own_class=own_class)


def test_marks_for_opposite_classes_are_not_compared() -> None:
    same = [chosen(mark("1", who, "good"), "positive") for who in ("Ann", "Bob")]
    opposite = [chosen(mark("2", who, word), name) for who, word, name in
                (("Ann", "good", "positive"), ("Bob", "short", "negative"))]  # fmt: skip
    items = judged_marks(ITEMS, [*same, *opposite])
    together = judged_marks(ITEMS, [chosen(annotation, "") for annotation in (*same, *opposite)])
    # item 2 shares no mark: it counts only where the classes are not told apart, as 1 hit of 2 marks each
    assert f1(items, "Ann", "Bob", "units").value == 1.0
    assert f1(together, "Ann", "Bob", "units").value == pytest.approx(1 / 2)
    assert (f1(items, "Ann", "Bob", "units").items, alpha(items, ordinal=False).items) == (1, 1)
    assert alpha(items, ordinal=False).value == 1.0
    assert of_pairs(judged_marks(ITEMS, opposite)) == {}
    assert overall(judged_marks(ITEMS, opposite), ordinal=False)[0].reason == FEW


def test_marks_of_three_are_compared_by_class() -> None:
    given = [chosen(mark("1", who, "good"), name) for who, name in (("Ann", "a"), ("Bob", "a"), ("Cem", "b"))]
    items = judged_marks(ITEMS, given)
    assert list(of_pairs(items)) == [("Ann", "Bob")]
    assert cohen(items, "Ann", "Bob").value == 1.0


def test_agreement_on_the_class_itself() -> None:
    """Two people, four items: a a, a b, b b, b b. p_o = 3/4, p_e = (2·1 + 2·3)/16 = 1/2, so κ = 1/2."""
    answers = ("aa", "ab", "bb", "bb")
    classes = {str(number): dict(zip(("Ann", "Bob"), pair, strict=True)) for number, pair in enumerate(answers)}
    items = judged_classes({**classes, "without": {"Ann": "a", "Bob": ""}})
    assert cohen(items, "Ann", "Bob").value == pytest.approx(1 / 2)
    assert cohen(items, "Ann", "Bob").items == 4


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (alpha(single([{"a": 1}, {"a": 2}]), ordinal=False), FEW),
        (alpha(single([{"a": 1, "b": 1}]), ordinal=True), CONSTANT),
        (alpha(single([{"a": 1, "b": 1}, {"a": 2}]), ordinal=False), CONSTANT),
        (alpha([], ordinal=False), FEW),
        (cohen(single([{"a": 1, "b": 1}, {"a": 1, "b": 1}]), "a", "b"), CONSTANT),
        (cohen(single([{"a": 1}, {"b": 1}]), "a", "b"), FEW),
        (fleiss(single([{"a": 1}])), FEW),
        (fleiss(single([{"a": 1, "b": 1}])), CONSTANT),
        (f1(judged_marks(ITEMS, (mark("1", "Ann"), mark("1", "Bob"))), "Ann", "Bob", "units"), NOTHING),
        (overall(single([{"a": 1}]), ordinal=False)[0], FEW),
        (overall([], ordinal=False)[0], FEW),
    ],
)
def test_what_is_not_defined_is_none_with_a_reason(value: AgreementValue, reason: str) -> None:
    assert (value.value, value.low, value.high, value.reason) == (None, None, None, reason)


def test_one_item_has_no_interval() -> None:
    value = cohen([JudgedItem("1", {who: {"x": 0.0, "y": 1.0} for who in "ab"})], "a", "b")
    assert (value.value, value.items, value.low) == (1.0, 1, None)


def test_items_without_a_common_question_do_not_count() -> None:
    apart = [JudgedItem(str(n), {"a": {"x": 1.0}, "b": {"y": 0.0}}) for n in range(40)]
    items = [*random_items(0, missing=0.0), *apart]
    alone = random_items(0, missing=0.0)
    assert cohen(items, "a", "b") == cohen(alone, "a", "b")
    assert overall(items, ordinal=False)[0] == overall(alone, ordinal=False)[0]
    assert cohen(alone, "a", "b").low is not None
    assert (cohen(apart, "a", "b").items, overall(apart, ordinal=False)[0].items) == (0, 0)


def test_answers_become_numbers_by_method() -> None:
    base = replace(MARKS[0], task="rank", answer=Ranked(("lime", "aml")))
    assert judged_answers([base], "rank")[0].codes == {"Ann": {"lime": 1.0, "aml": 2.0}}
    rated = replace(base, task="rate", answer=Rated((Rating("A", "gpt", 4, 5),)))
    assert judged_answers([rated], "rate")[0].codes == {"Ann": {"gpt: relatedness": 4.0, "gpt: fluency": 5.0}}
    simulated = replace(base, task="simulate", answer=Simulated("lime", 1))
    assert judged_answers([simulated, base], "simulate")[0].codes == {"Ann": {"lime": 1.0}}
