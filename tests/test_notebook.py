"""What a notebook imports, as README shows it."""

from collections.abc import Callable
from html.parser import HTMLParser

import pytest

import explainers
from explainers import METHODS, Comparison, ExplanationError, explain, load
from explainers.models.cards import bundled
from explainers.models.classifier import FrozenModel


def test_the_names_are_there() -> None:
    assert METHODS[0].id == "aml"
    assert callable(explain)
    assert callable(load)
    assert issubclass(ExplanationError, Exception)
    assert set(explainers.__all__) == {"METHODS", "Comparison", "ExplanationError", "explain", "load"}


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'shap'"):
        _ = explainers.shap


class Text(HTMLParser):
    def __init__(self, source: str) -> None:
        super().__init__()
        self.read = ""
        self.tags: set[str] = set()
        self.feed(source)

    def handle_starttag(self, tag: str, _attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.read += data


def test_a_comparison_shows_itself(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"good": 2.0, "film": 0.0})
    found = explain(model, "good <script>film</script>", methods=["occlusion", "lime"], samples=50)
    assert isinstance(found, Comparison)
    shown = Text(found._repr_html_())
    assert "Occlusion" in shown.read
    assert "LIME" in shown.read
    assert "good" in shown.read
    assert "script" not in shown.tags
    assert "body" not in shown.tags  # a fragment: the notebook has a page already


@pytest.mark.skipif("sst2" not in bundled(), reason="the bundle sst2 is not in assets/bundles")
def test_a_bundle_is_a_model_that_can_be_asked() -> None:
    model = load("sst2", device="cpu")
    assert model.labels == ("negative", "positive")
    encoding = model.encode("A wonderful film.")
    assert [unit.text for unit in encoding.units] == ["A", "wonderful", "film", "."]
    whole, masked = model.probabilities(encoding, [[True] * 4, [True, False, True, True]])
    assert whole[1] > 0.9
    assert masked[1] < whole[1]
    assert whole.sum() == pytest.approx(1)
