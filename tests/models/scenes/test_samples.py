import random
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from explainers.datasets.scenes.generator import SceneItem, generate_items
from explainers.datasets.scenes.nlvr import recover_scene
from explainers.datasets.scenes.statement_parser import parse_statement
from explainers.datasets.scenes.statements import CONTRADICTION, ENTAILMENT, Count, Kind, Number
from explainers.datasets.scenes.wording import WordedStatement
from explainers.datasets.scenes.world import Scene, Thing, draw
from explainers.models.scenes.network import split_patches
from explainers.models.scenes.samples import (
    NO_TARGETS,
    UNKNOWN,
    Sources,
    augmented,
    generate_sentences,
    item_sample,
    row_sample,
    swapped,
)

SQUARE = Thing("square", "blue", 30, 0, 30, 0)
CIRCLE = Thing("circle", "yellow", 10, 50, 50, 2)
TEXT = Count(Kind("blue"), Number("exactly", 1))


def item() -> SceneItem:
    scene = Scene((SQUARE, CIRCLE), towers=False)
    return SceneItem(scene, TEXT, WordedStatement("one blue thing", (), "x"), TEXT.judgement(scene))


def test_a_sample_is_its_sentence_image_and_count() -> None:
    result = item_sample(item())
    assert (result.text, result.label, result.targets.count) == ("one blue thing", ENTAILMENT, 1)
    assert np.array_equal(result.patches, split_patches(draw(item().scene)))


def test_of_human_statements_only_the_label_is_known() -> None:
    pixels = draw(item().scene)
    result = row_sample("one blue thing", CONTRADICTION, pixels)
    assert (result.text, result.label) == ("one blue thing", CONTRADICTION)
    assert np.array_equal(result.patches, split_patches(pixels))
    assert result.targets is NO_TARGETS
    assert all((np.asarray(var) == UNKNOWN).all() for var in vars(NO_TARGETS).values())


def test_whole_words_are_exchanged_all_at_once() -> None:
    words = {"black": "blue", "blue": "black", "left": "right"}
    assert swapped("Black on a blue one, blueish, LEFT", words) == "blue on a black one, blueish, right"


def test_a_disguised_row_is_as_true_as_before() -> None:
    """The sentence is parsed and the scene recovered again after boxes, colours and sides changed."""
    checked: set[int] = set()
    changed = 0
    for seed, generated in enumerate(islice(generate_items(41, held_out=False), 150)):
        meaning, pixels = parse_statement(generated.wording.text), draw(generated.scene)
        if (
            generated.scene.covered is not None
            or meaning is None
            or meaning.judgement(generated.scene).label != generated.label
        ):
            continue  # people's images have no cover
        text, new = augmented(generated.wording.text, pixels, random.Random(seed))
        recovered, again = recover_scene(new), parse_statement(text)
        assert recovered is not None
        assert again is not None
        assert again.judgement(recovered).label == generated.label, (generated.wording.text, text)
        checked.add(generated.label)
        changed += not np.array_equal(new, pixels)
    assert checked == {ENTAILMENT, CONTRADICTION}
    assert changed > 30


def test_boxes_sides_and_colours_all_change_in_time() -> None:
    pixels = draw(Scene((SQUARE, CIRCLE), towers=False))
    boxes, lefts, colours = set(), set(), set()
    for seed in range(25):
        text, new = augmented("a blue square at the left", pixels, random.Random(seed))
        recovered = recover_scene(new)
        assert recovered is not None
        (square,) = (thing for thing in recovered.things if thing.shape == "square")
        boxes.add(square.box)
        lefts.add(square.left)
        colours.add(square.colour)
        assert text == f"a {square.colour} square at the {'left' if square.left == 0 else 'right'}"
    assert (boxes, lefts, colours) == ({0, 1, 2}, {0, 70}, {"blue", "black", "yellow"})


def test_the_original_image_is_not_changed() -> None:
    pixels = draw(item().scene)
    before = pixels.copy()
    for seed in range(5):
        augmented("blue", pixels, random.Random(seed))
    assert np.array_equal(pixels, before)


def rows() -> list[tuple[str, int, NDArray[np.uint8]]]:
    return [("people said this", ENTAILMENT, draw(item().scene))]


def test_samples_follow_the_seed_and_the_shares() -> None:
    bank = (("people meant this", TEXT),)
    sources = Sources(rows(), bank)
    result, again, other = (sources.sample(seed, 60, human=0.3, borrowed=0.5) for seed in (5, 5, 6))
    assert len(result) == 60
    assert [sample.text for sample in result] == [sample.text for sample in again] != [sample.text for sample in other]
    assert all(np.array_equal(one.patches, two.patches) for one, two in zip(result, again, strict=True))
    texts = [sample.text for sample in result]
    assert 8 < texts.count("people said this") < 30
    assert 8 < texts.count("people meant this") < 36
    alone = [sample.text for sample in Sources().sample(5, 20, human=0.3, borrowed=0.5)]
    assert len(alone) == 20
    assert not {"people said this", "people meant this"} & set(alone)


def test_the_words_are_learned_from_generated_sentences_alone() -> None:
    assert generate_sentences(20, 1) == [
        scene_item.wording.text for scene_item in islice(generate_items(1, held_out=False), 20)
    ]
