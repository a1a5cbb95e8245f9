import random
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from explainers.datasets.scenes.drawing import drawn
from explainers.datasets.scenes.generator import Item, items
from explainers.datasets.scenes.seeing import scene_of
from explainers.datasets.scenes.statements import CONTRADICTION, ENTAILMENT, NEUTRAL, Count, Kind, Number, Unsaid
from explainers.datasets.scenes.understanding import understood
from explainers.datasets.scenes.wording import Worded
from explainers.datasets.scenes.world import Scene, Thing
from explainers.models.scenes.network import cut
from explainers.models.scenes.samples import (
    COVERED,
    NOTHING,
    UNKNOWN,
    Sources,
    disguised,
    of_item,
    of_row,
    sentences,
    swapped,
    tiles,
)

SQUARE = Thing("square", "blue", 30, 0, 30, 0)  # its middle (15, 45) lies in row 2, column 1
CIRCLE = Thing("circle", "yellow", 10, 50, 50, 2)  # its middle (355, 55) in row 3, column 11
SAID = Count(Kind("blue"), Number("exactly", 1))


def item(covered: int | None = None) -> Item:
    scene = Scene((SQUARE, CIRCLE), towers=False, covered=covered)
    return Item(scene, SAID, Worded("one blue thing", (), "x"), SAID.judged(scene))


def test_patches_know_what_they_hold() -> None:
    found = of_item(item(covered=1)).holds
    # 9 for each colour before it, 3 for each shape, 1 for each size: black, blue, yellow; triangle, square, circle
    assert dict(zip(np.flatnonzero(found).tolist(), found[found != NOTHING].tolist(), strict=True)) == {
        12: 1 + 9 + 3 + 2,
        34: 1 + 18 + 6,
        **{12 * row + column: COVERED for row in range(4) for column in range(4, 8)},
    }


def test_patches_know_whether_they_matter() -> None:
    assert np.flatnonzero(of_item(item()).matters).tolist() == [12, 13, 24, 25]  # rows 30 to 60, columns 0 to 30
    open_one = of_item(item(covered=1))
    assert open_one.label == NEUTRAL
    assert open_one.matters.reshape(4, 12)[:, 4:8].all()
    assert open_one.matters.sum() == 4 + 16


@pytest.mark.parametrize(
    ("box", "rows", "columns"),
    [
        ((0, 0, 25, 25), [0], [0]),
        ((24, 24, 26, 26), [0, 1], [0, 1]),
        ((150, 75, 250, 100), [3], [4, 5, 6, 7]),
        ((399, 99, 400, 100), [3], [11]),
    ],
)
def test_a_box_touches_these_patches(box: tuple[int, int, int, int], rows: list[int], columns: list[int]) -> None:
    found = np.zeros((4, 12), bool)
    found[tiles(box)] = True
    assert np.argwhere(found).tolist() == [[row, column] for row in rows for column in columns]


def test_a_sample_is_its_sentence_picture_and_count() -> None:
    found = of_item(item())
    assert (found.text, found.label, found.count) == ("one blue thing", ENTAILMENT, 1)
    assert np.array_equal(found.patches, cut(drawn(item().scene)))


def test_what_no_picture_shows_has_no_count() -> None:
    made = next(each for each in items(1, held_out=False) if isinstance(each.statement, Unsaid))
    assert of_item(made).count == UNKNOWN


def test_of_what_people_wrote_only_the_label_is_known() -> None:
    pixels = drawn(item().scene)
    found = of_row("one blue thing", CONTRADICTION, pixels)
    assert (found.text, found.label, found.count) == ("one blue thing", CONTRADICTION, UNKNOWN)
    assert np.array_equal(found.patches, cut(pixels))
    assert set(found.holds.tolist()) == set(found.matters.tolist()) == {UNKNOWN}


def test_whole_words_are_exchanged_all_at_once() -> None:
    words = {"black": "blue", "blue": "black", "left": "right"}
    assert swapped("Black on a blue one, blueish, LEFT", words) == "blue on a black one, blueish, right"


def test_a_disguised_row_is_as_true_as_before() -> None:
    """The sentence is understood again, and the picture looked at again, after boxes, colours and sides changed."""
    checked: set[int] = set()
    changed = 0
    for seed, made in enumerate(islice(items(41, held_out=False), 150)):
        meaning, pixels = understood(made.said.text), drawn(made.scene)
        if made.scene.covered is not None or meaning is None or meaning.judged(made.scene).label != made.label:
            continue  # people's pictures have no cover
        text, new = disguised(made.said.text, pixels, random.Random(seed))
        seen, again = scene_of(new), understood(text)
        assert seen is not None
        assert again is not None
        assert again.judged(seen).label == made.label, (made.said.text, text)
        checked.add(made.label)
        changed += not np.array_equal(new, pixels)
    assert checked == {ENTAILMENT, CONTRADICTION}
    assert changed > 30


def test_boxes_sides_and_colours_all_change_in_time() -> None:
    pixels = drawn(Scene((SQUARE, CIRCLE), towers=False))
    boxes, lefts, colours = set(), set(), set()
    for seed in range(25):
        text, new = disguised("a blue square at the left", pixels, random.Random(seed))
        seen = scene_of(new)
        assert seen is not None
        (square,) = (thing for thing in seen.things if thing.shape == "square")
        boxes.add(square.box)
        lefts.add(square.left)
        colours.add(square.colour)
        assert text == f"a {square.colour} square at the {'left' if square.left == 0 else 'right'}"
    assert (boxes, lefts, colours) == ({0, 1, 2}, {0, 70}, {"blue", "black", "yellow"})


def test_the_given_picture_stays_as_it_was() -> None:
    pixels = drawn(item().scene)
    before = pixels.copy()
    for seed in range(5):
        disguised("blue", pixels, random.Random(seed))
    assert np.array_equal(pixels, before)


def rows() -> list[tuple[str, int, NDArray[np.uint8]]]:
    return [("people said this", ENTAILMENT, drawn(item().scene))]


def test_samples_are_drawn_by_their_seed_in_the_wanted_shares() -> None:
    bank = (("people meant this", SAID),)
    sources = Sources(rows(), bank)
    found, again, other = (sources.drawn(seed, 60, human=0.3, borrowed=0.5) for seed in (5, 5, 6))
    assert len(found) == 60
    assert [each.text for each in found] == [each.text for each in again] != [each.text for each in other]
    assert all(np.array_equal(one.patches, two.patches) for one, two in zip(found, again, strict=True))
    texts = [each.text for each in found]
    assert 8 < texts.count("people said this") < 30
    assert 8 < texts.count("people meant this") < 36
    alone = [each.text for each in Sources().drawn(5, 20, human=0.3, borrowed=0.5)]
    assert len(alone) == 20
    assert not {"people said this", "people meant this"} & set(alone)


def test_the_words_are_learned_from_generated_sentences_alone() -> None:
    assert sentences(20, 1) == [each.said.text for each in islice(items(1, held_out=False), 20)]
