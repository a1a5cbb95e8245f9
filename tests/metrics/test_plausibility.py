from itertools import permutations

import numpy as np
import pytest

from explainers.datasets.example import Evidence
from explainers.metrics.plausibility import (
    EVIDENCE_METRICS,
    PLAUSIBILITY,
    area,
    auprc,
    evidence_scores,
    expected_at_random,
    expected_auprc,
    expected_iou,
    f1,
    iou,
    iou_f1,
    is_evidence,
    overlap,
    plausibility,
    plausibility_by_chance,
    ranked_kinds,
    roc_auc,
    run_iou,
    runs,
)
from explainers.models.inputs.encoding import Encoding, Unit

MARKED = np.array([True, True, False, False, True])
SCORES = (5.0, 1.0, 4.0, 2.0, 3.0)  # order of units: 0, 2, 4, 3, 1


def test_the_metrics_of_a_worked_example() -> None:
    # the three highest are 0, 2 and 4, of which 0 and 4 are marked
    assert f1(MARKED, SCORES) == pytest.approx(2 / 3)
    assert iou(MARKED, SCORES) == pytest.approx(2 / 4)
    # of 6 pairs of a marked and an unmarked unit, 0 wins two, 4 one and 1 none
    assert roc_auc(MARKED, SCORES) == pytest.approx(3 / 6)
    # precision at each rank is 1, 1/2, 2/3, 2/4, 3/5; recall rises at ranks 1, 3 and 5
    assert auprc(MARKED, SCORES) == pytest.approx(((1 + 1) / 2 + (1 / 2 + 2 / 3) / 2 + (2 / 4 + 3 / 5) / 2) / 3)
    # predicted runs 0, 2 and 4; marked runs 0-1 and 4: 0 shares half of its union with 0-1, 4 is 4, 2 matches none
    assert iou_f1(MARKED, SCORES) == pytest.approx(2 * 2 / (3 + 2))


def test_perfect_scores_reach_1_in_every_metric() -> None:
    scores = tuple(MARKED.astype(float).tolist())
    assert set(plausibility(MARKED, scores).values()) == {1.0}


def test_runs_are_neighbours() -> None:
    assert runs(MARKED) == [(0, 2), (4, 5)]
    assert runs(np.zeros(3, dtype=bool)) == []
    assert run_iou((0, 4), (2, 6)) == pytest.approx(2 / 6)


@pytest.mark.parametrize("marked", [1, 2, 4])
def test_the_exact_chance_values_are_the_means_over_all_orders(marked: int) -> None:
    truth = np.arange(5) < marked
    orders = [tuple(map(float, order)) for order in permutations(range(5))]
    for metric in PLAUSIBILITY:
        mean = np.mean([metric.score(truth, order) for order in orders])
        assert metric.chance(truth) == pytest.approx(mean, abs=0.12 if metric.id == "iou_f1" else 1e-9)


def test_chance_grows_with_the_share_of_marked_units() -> None:
    few, many = np.arange(50) < 5, np.arange(50) < 25
    assert expected_auprc(few) < expected_auprc(many)
    assert expected_iou(few) < expected_iou(many)


@pytest.mark.parametrize("truth", [np.ones(3, dtype=bool), np.zeros(3, dtype=bool)])
def test_without_marked_or_unmarked_units_nothing_is_defined(truth: np.ndarray) -> None:
    assert plausibility(truth, (1.0, 2.0, 3.0)) == {}
    assert plausibility_by_chance(truth) == {}


WORDS = (Unit("two", 0, 3), Unit("red", 4, 7), Unit("things", 8, 14))
PATCHES = tuple(
    Unit(f"row {top // 10 + 1}, column {left // 10 + 1}", 0, 0, segment=1, box=(left, top, left + 10, top + 10))
    for top in (0, 10)
    for left in (0, 10)
)
BOXES = {unit: unit.box for unit in PATCHES if unit.box}
RED = ((4, 7),)


def encoding(*units: Unit) -> Encoding:
    positions = tuple(range(len(units)))
    return Encoding(("two red things",), units, positions, (0,) * len(units), positions)


ALL = encoding(*WORDS, *PATCHES)


def of_patches(*numbers: int) -> Evidence:
    """The word "red" and these patches."""
    return Evidence(RED, tuple(BOXES[PATCHES[number]] for number in numbers))


def test_areas_and_overlaps_are_counted_in_pixels() -> None:
    assert area((2, 3, 5, 10)) == 3 * 7
    assert overlap((0, 0, 10, 10), (6, 8, 20, 20)) == (6, 8, 10, 10)
    assert area(overlap((0, 0, 10, 10), (10, 0, 20, 10))) == 0  # they touch
    assert area(overlap((0, 0, 4, 4), (6, 6, 9, 9))) == 0  # both sides would be negative


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((0, 0, 10, 10), True),
        ((0, 0, 40, 40), True),  # all of the patch
        ((4, 4, 6, 6), True),  # all of the thing, a 25th of the patch
        ((8, 0, 28, 10), True),  # 20 of the patch's 100 pixels
        ((9, 0, 29, 10), False),  # 10 of 100
        ((8, 0, 12, 2), True),  # half of the thing
        ((9, 0, 15, 2), False),  # 2 of the thing's 12 pixels
        ((10, 0, 20, 10), False),
        ((5, 5, 5, 9), False),  # nothing
    ],
)
def test_a_patch_is_evidence_by_a_fifth_of_it_or_of_the_box(box: tuple[int, int, int, int], expected: bool) -> None:
    assert is_evidence(PATCHES[0], Evidence(boxes=(box,))) is expected


def test_one_of_several_boxes_is_enough_but_their_slivers_are_not_added() -> None:
    sliver, whole = (9, 0, 29, 10), (0, 0, 10, 10)
    assert is_evidence(PATCHES[0], Evidence(boxes=(sliver, whole)))
    assert not is_evidence(PATCHES[0], Evidence(boxes=(sliver, sliver, sliver)))


@pytest.mark.parametrize(
    ("span", "expected"), [((4, 7), True), ((0, 5), True), ((6, 14), True), ((0, 4), False), ((7, 8), False)]
)
def test_a_word_is_evidence_if_a_letter_of_it_is(span: tuple[int, int], expected: bool) -> None:
    assert is_evidence(WORDS[1], Evidence(words=(span,))) is expected


def test_spans_are_of_the_text_and_not_of_a_second_one() -> None:
    assert not is_evidence(Unit("red", 4, 7, segment=1), Evidence(RED))


def test_words_and_patches_are_judged_alone() -> None:
    kinds = ranked_kinds(ALL, of_patches(1, 2))
    assert [(kind, units, truth.tolist()) for kind, units, truth in kinds] == [
        ("patch", (3, 4, 5, 6), [False, True, True, False]),
        ("word", (0, 1, 2), [False, True, False]),
    ]


@pytest.mark.parametrize(
    ("scores", "auc", "pointing", "iou"),
    [
        ((1, 4, 3, 2), 1, 1, 1),
        ((4, 2, 1, 3), 0, 0, 0),
        (
            (3, 4, 1, 2),
            2 / 4,
            1,
            1 / 3,
        ),  # 4 is above 3 and 2, 1 above none; the top two are patches 1 and 2
        ((4, 3, 2, 1), 2 / 4, 0, 1 / 3),
        ((3, 4, 2, 1), 3 / 4, 1, 1 / 3),
        ((-1, 5, -3, -2), 2 / 4, 1, 1 / 3),  # raw scores: evidence against the class does not count by its size
        ((0, 0, 0, 0), 1 / 2, 0, 1 / 3),  # ties: half a pair each; the first patches of the image are taken
    ],
)
def test_metrics_of_patches_follow_from_their_order(
    scores: tuple[float, ...], auc: float, pointing: float, iou: float
) -> None:
    metrics = evidence_scores(ALL, of_patches(1, 2), (0, 9, 0, *scores))
    assert [metrics[f"patch_{name}"] for name in ("auc", "pointing", "iou")] == pytest.approx([auc, pointing, iou])
    assert [metrics[f"word_{name}"] for name in ("auc", "pointing", "iou")] == [1, 1, 1]


def test_high_words_do_not_hide_patches() -> None:
    metrics = evidence_scores(ALL, of_patches(0), (7, 8, 9, 0.3, 0.2, 0.1, 0.0))
    assert metrics["patch_pointing"] == metrics["patch_auc"] == metrics["patch_iou"] == 1
    assert (metrics["word_auc"], metrics["word_pointing"], metrics["word_iou"]) == (0.5, 0, 0)  # "red" is the second


@pytest.mark.parametrize(
    ("evidence", "kinds"),
    [
        (Evidence(), set()),
        (Evidence(RED), {"word"}),  # "there is no circle", and there is none
        (Evidence(boxes=((0, 0, 10, 10),)), {"patch"}),
        (Evidence(RED, ((0, 0, 20, 20),)), {"word"}),  # the whole image
        (Evidence(((0, 14),), ((0, 0, 10, 10),)), {"patch"}),
        (Evidence(((0, 14),), ((0, 0, 20, 20),)), set()),
    ],
    ids=["nothing", "no patch", "no word", "every patch", "every word", "everything"],
)
def test_a_kind_of_which_all_or_none_is_evidence_has_no_metric(evidence: Evidence, kinds: set[str]) -> None:
    for metrics in (evidence_scores(ALL, evidence, (1, 2, 3, 4, 5, 6, 7)), expected_at_random(ALL, evidence)):
        assert set(metrics) == {name for name in EVIDENCE_METRICS if name.partition("_")[0] in kinds}


def test_a_text_without_an_image_has_metrics_of_words_alone() -> None:
    assert evidence_scores(encoding(*WORDS), of_patches(1), (3, 2, 1)) == {
        "word_auc": 0.5,  # above "things" and below "two"
        "word_pointing": 0,
        "word_iou": 0,
    }


@pytest.mark.parametrize("numbers", [(0,), (1, 2), (0, 1, 3)])
def test_chance_is_the_mean_over_all_orders(numbers: tuple[int, ...]) -> None:
    evidence = of_patches(*numbers)
    every = [
        evidence_scores(ALL, evidence, (*words, *order)) for words in [(0, 1, 2)] for order in permutations(range(4))
    ]
    every += [evidence_scores(ALL, evidence, (*words, 0, 1, 2, 3)) for words in permutations(range(3))]
    exact = expected_at_random(ALL, evidence)
    assert set(exact) == set(EVIDENCE_METRICS)
    for name in EVIDENCE_METRICS:
        values = every[:24] if name.startswith("patch") else every[24:]
        assert exact[name] == pytest.approx(sum(value[name] for value in values) / len(values)), name


def test_chance_of_two_in_four_by_hand() -> None:
    # of two drawn from four with two right: 0, 1 and 2 are right in 1, 4 and 1 of 6 draws, and the IOU is 0, 1/3 and 1
    metrics = expected_at_random(ALL, of_patches(0, 3))
    assert metrics["patch_iou"] == pytest.approx((4 / 3 + 1) / 6)
    assert (metrics["patch_auc"], metrics["patch_pointing"]) == (0.5, 0.5)
    assert metrics["word_pointing"] == metrics["word_iou"] == pytest.approx(1 / 3)
