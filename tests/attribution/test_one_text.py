import pytest

from explainers.datasets.example import Example
from explainers.methods import METHODS, chosen, fitting
from explainers.models.classifier import FrozenModel

ONLY, PARTS = ("premise_only", "hypothesis_only"), ("text_only", "picture_only")


@pytest.mark.parametrize(("method", "scores"), [(ONLY[0], (1.0, 1.0, 0.0)), (ONLY[1], (0.0, 0.0, 1.0))])
def test_every_word_of_one_text_counts_and_no_word_of_the_other(
    bert: FrozenModel, method: str, scores: tuple[float, ...]
) -> None:
    (entry,) = chosen([method])
    found = entry.make(erasure="mask", seed=0, samples=50, steps=5).attribute(
        bert, bert.encode(Example("good film", "plot")), 2
    )
    assert (found.method, found.label, found.signed, found.scores) == (method, 2, False, scores)


def test_it_means_something_for_pairs_and_pictures_only() -> None:
    assert {each.id for each in METHODS if each.pairs_only} == set(ONLY)
    assert {each.id for each in METHODS if each.pictures_only} == set(PARTS)
    asked = chosen([*ONLY, *PARTS, "lime"])
    assert [each.id for each in fitting(asked, ("premise", "hypothesis"))] == ["lime", *ONLY]
    assert [each.id for each in fitting(asked, ("text",))] == ["lime"]
    assert [each.id for each in fitting(asked, ("text",), pictured=True)] == ["lime", *PARTS]
