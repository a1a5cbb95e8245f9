import random
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from explainers.datasets.scenes.drawing import drawn
from explainers.datasets.scenes.generator import Item, items
from explainers.datasets.scenes.seeing import scene_of
from explainers.datasets.scenes.statements import CONTRADICTION, ENTAILMENT, Count, Kind, Number
from explainers.datasets.scenes.understanding import understood
from explainers.datasets.scenes.wording import Worded
from explainers.datasets.scenes.world import Scene, Thing
from explainers.models.scenes.hints import NOTHING, UNKNOWN
from explainers.models.scenes.network import cut
from explainers.models.scenes.samples import Sources, disguised, of_item, of_row, sentences, swapped

SQUARE = Thing("square", "blue", 30, 0, 30, 0)
CIRCLE = Thing("circle", "yellow", 10, 50, 50, 2)
SAID = Count(Kind("blue"), Number("exactly", 1))


def item() -> Item:
    scene = Scene((SQUARE, CIRCLE), towers=False)
    return Item(scene, SAID, Worded("one blue thing", (), "x"), SAID.judged(scene))


def test_a_sample_is_its_sentence_picture_and_count() -> None:
    found = of_item(item())
    assert (found.text, found.label, found.hints.count) == ("one blue thing", ENTAILMENT, 1)
    assert np.array_equal(found.patches, cut(drawn(item().scene)))


def test_of_what_people_wrote_only_the_label_is_known() -> None:
    pixels = drawn(item().scene)
    found = of_row("one blue thing", CONTRADICTION, pixels)
    assert (found.text, found.label) == ("one blue thing", CONTRADICTION)
    assert np.array_equal(found.patches, cut(pixels))
    assert found.hints is NOTHING
    assert all((np.asarray(each) == UNKNOWN).all() for each in vars(NOTHING).values())


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
