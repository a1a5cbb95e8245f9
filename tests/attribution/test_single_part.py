import numpy as np
import pytest

from explainers.datasets.example import Example, InputImage
from explainers.methods.registry import applicable, select
from explainers.models.frozen_model import FrozenModel

ONLY, PARTS = ("premise_only", "hypothesis_only"), ("text_only", "image_only")


@pytest.mark.parametrize(("method", "scores"), [(ONLY[0], (1.0, 1.0, 0.0)), (ONLY[1], (0.0, 0.0, 1.0))])
def test_every_word_of_one_text_counts_and_no_word_of_the_other(
    bert: FrozenModel, method: str, scores: tuple[float, ...]
) -> None:
    (entry,) = select([method])
    attribution = entry.make(erasure="mask", seed=0, samples=50, steps=5).attribute(
        bert, bert.encode(Example("good film", "plot")), 2
    )
    assert (attribution.method, attribution.label, attribution.signed, attribution.scores) == (method, 2, False, scores)


def test_it_means_something_for_pairs_and_images_only() -> None:
    specs = select([*ONLY, *PARTS, "lime"])
    assert [spec.id for spec in applicable(specs, Example("a", "b"))] == ["lime", *ONLY]
    assert [spec.id for spec in applicable(specs, Example("a"))] == ["lime"]
    image = InputImage.of(np.zeros((2, 2, 3), np.uint8))
    assert [spec.id for spec in applicable(specs, Example("a", image=image))] == ["lime", *PARTS]


@pytest.mark.parametrize(("method", "scores"), [("first_only", (1.0, 0.0, 0.0)), ("last_only", (0.0, 0.0, 1.0))])
def test_one_position_counts(bert: FrozenModel, method: str, scores: tuple[float, ...]) -> None:
    (entry,) = select([method])
    made = entry.make(erasure="mask", seed=0, samples=50, steps=5)
    assert made.attribute(bert, bert.encode(Example("good film plot")), 1).scores == scores
    assert made.attribute(bert, bert.encode(Example("good")), 1).scores == (1.0,)
    assert entry.is_control
    assert not entry.default
