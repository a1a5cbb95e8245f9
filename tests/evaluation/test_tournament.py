"""The tournament's judge and points, worked out by hand, and a tournament of a model whose top word is known."""

from collections.abc import Callable

import pytest

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation.narrators import NarratorRun
from explainers.evaluation.tournament import (
    ALL,
    PAPER,
    WordJudgement,
    check_competitors,
    competitions,
    expected_points,
    overlap,
    points,
    run_tournament,
    standings,
    top_words,
)
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.results.attribution import Attribution
from explainers.results.decision import Settings


@pytest.mark.parametrize(
    ("overlaps", "expected"),
    [  # the paper's four cases, of φ, φ + TS and CAuSE
        ((0.1, 0.2, 0.3), (0, 1, 2)),
        ((0.1, 0.3, 0.3), (0, 1.5, 1.5)),
        ((0.1, 0.1, 0.3), (0.5, 0.5, 2)),
        ((0.2, 0.2, 0.2), (1, 1, 1)),
        ((0.5, 0.0, 0.5, 0.5), (2, 0, 2, 2)),  # (3 + 2 + 1) / 3
    ],
)
def test_points_are_the_papers_and_equal_narrators_share_the_mean(
    overlaps: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    assert points(overlaps) == pytest.approx(expected)


def test_naming_every_word_does_not_win() -> None:
    top, everything = frozenset({0, 1}), frozenset(range(10))
    assert overlap(everything, top) == pytest.approx(2 * 2 / 12)
    assert overlap(frozenset({0}), top) == pytest.approx(2 * 1 / 3)
    assert overlap(frozenset(), top) == 0


def attribution(scores: tuple[float, ...], patches: int = 0) -> Attribution:
    words = [Unit("word", 0, 0) for _ in range(len(scores) - patches)]
    units = (*words, *(Unit("patch", 0, 0, 1, (0, 0, 9, 9)) for _ in range(patches)))
    return Attribution("lime", Encoding(("",), units, (), (), ()), 0, scores, signed=True)


@pytest.mark.parametrize(("words", "expected"), [(1, 1), (5, 1), (6, 2), (15, 3), (16, 4)])
def test_the_top_words_are_a_fifth_rounded_up(words: int, expected: int) -> None:
    scores = tuple(float(number) for number in range(words))
    assert top_words(attribution(scores)) == frozenset(range(words - expected, words))


def test_patches_and_negative_scores_of_large_size_are_no_top_words() -> None:
    assert top_words(attribution((-5.0, 0.25, 0.5, 9.0), patches=1)) == {2}


def test_chance_is_the_exact_expectation_over_all_sets_of_as_many_words() -> None:
    judgement = WordJudgement({}, {}, top=2, content=4, content_top=1)
    # two of four words: with the top word in 3 of 6 sets, F1 = 2·1/(2+2) = 0.5, else 0; the rivals have 0.5 and 0
    assert expected_points(2, judgement, (0.5, 0.0)) == pytest.approx(0.5 * (0.5 + 1) + 0.5 * (0 + 0.5))
    assert expected_points(0, judgement, (0.5, 0.0)) == 0.5
    assert expected_points(0, WordJudgement({}, {}, 1, 0, 0), (0.0,)) == 0.5


def test_standings_are_means_over_seeds_and_inputs() -> None:
    first = WordJudgement({"a": (1.0, 0.0), "b": (0.0, 0.0)}, {"a": (1, 1), "b": (1, 1)}, 1, 2, 1)
    second = WordJudgement({"a": (0.0, 0.0), "b": (1.0, 1.0)}, {"a": (1, 1), "b": (1, 1)}, 1, 2, 1)
    table = standings([first, second], ("a", "b"))
    a, b = table["rows"]
    assert (a["points"]["mean"], b["points"]["mean"]) == (0.375, 0.625)  # (1 + ½ + 0 + 0) / 4
    assert (a["points"]["low"], a["points"]["high"]) == (0.0, 0.75)  # of the first input ¾, of the second 0
    assert (a["overlap"]["mean"], table["tied"]) == (0.25, 0.25)
    # one of two words: 1 or 0 with ½ each; against 0: ¾, against 1: ¼
    assert a["chance"]["mean"] == (0.75 + 0.75 + 0.25 + 0.25) / 4
    assert b["above_chance"]["mean"] == pytest.approx(0.625 - (0.25 + 0.75 + 0.75 + 0.75) / 4)


def test_the_paper_compares_three_with_cause_as_published_where_it_was_measured() -> None:
    three = ("cause_phi", "cause_phi_ts", "cause")
    assert competitions(three) == {PAPER: three}
    measured = ("cause_phi", "cause_phi_ts", "cause_published", "cause")
    assert competitions(measured) == {PAPER: measured[:3], ALL: measured}
    assert competitions(("cause_phi", "cause")) == {ALL: ("cause_phi", "cause")}
    with pytest.raises(ExplanationError, match="at least two narrators"):
        check_competitors(("cause",))


def test_the_narrator_that_names_the_word_that_decides_wins(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"good": 1.5, "plot": 1.0})
    text = "the very long plot of a good film"
    said = {"cause_phi": "the film", "cause_phi_ts": "the film is good", "cause": "it is good"}
    runs = {method: [NarratorRun((f"It is so because {reason}.",), (), (), (), ())] for method, reason in said.items()}
    lines: list[str] = []
    result = run_tournament(model, [Example(text)], [1, 1], runs, lines.append, Settings(samples=120))
    assert (result["inputs"], len(lines)) == (1, 1)
    assert [(table["judge"], table["narrators"]) for table in result["tables"]] == [
        ("lime", PAPER),
        ("kernel_shap", PAPER),
    ]
    for table in result["tables"]:  # T = {plot, good}, so F1 is 0 for {film}, ½ for {film, good} and ⅔ for {good}
        assert [row["overlap"]["mean"] for row in table["rows"]] == pytest.approx([0, 1 / 2, 2 / 3])
        assert [row["points"]["mean"] for row in table["rows"]] == [0, 1, 2]


def test_one_training_competes_with_every_training_of_the_others(bag: Callable[..., FrozenModel]) -> None:
    model, text = bag({"good": 1.5, "plot": 1.0}), "the very long plot of a good film"
    runs = {
        method: [NarratorRun((f"It is so because {reason}.",), (), (), (), ()) for reason in said]
        for method, said in {"cause_phi": ("the film", "it is good"), "cause": ("it is good",)}.items()
    }
    result = run_tournament(model, [Example(text)], [1], runs, lambda _line: None, Settings(samples=120))
    rows = {row["method"]: row for row in result["tables"][0]["rows"]}
    assert rows["cause"]["overlap"]["mean"] == pytest.approx(2 / 3)
    assert rows["cause_phi"]["overlap"]["mean"] == pytest.approx(1 / 3)
    assert result["tables"][0]["tied"] == 0.5
