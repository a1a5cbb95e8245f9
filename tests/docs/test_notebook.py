"""The public names that a notebook imports, as in README."""

from collections.abc import Callable
from html.parser import HTMLParser

import pytest

import explainers
from explainers import METHODS, Comparison, ExplanationError, explain, load, wrap
from explainers.models.bundle_cards import bundle_names
from explainers.models.frozen_model import FrozenModel


def test_the_names_are_there() -> None:
    assert METHODS[0].id == "aml"
    assert callable(explain)
    assert callable(load)
    assert callable(wrap)
    assert issubclass(ExplanationError, Exception)
    assert explainers.Prompt("{text}?", {"no": "no", "yes": "yes"}).labels == ("no", "yes")
    functions = {"explain", "explain_beside", "load", "wrap"}
    types = {"Comparison", "ExplanationError", "InputFailed", "Prompt"}
    assert set(explainers.__all__) == {"METHODS", "__version__", *types, *functions}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'shap'"):
        _ = explainers.shap


class Text(HTMLParser):
    def __init__(self, source: str) -> None:
        super().__init__()
        self.text = ""
        self.tags: set[str] = set()
        self.feed(source)

    def handle_starttag(self, tag: str, _attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_comparison_shows_itself(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"good": 2.0, "film": 0.0})
    comparison = explain(model, "good <script>film</script>", methods=["occlusion", "lime"], samples=50)
    assert isinstance(comparison, Comparison)
    page = Text(comparison._repr_html_())
    assert "Occlusion" in page.text
    assert "LIME" in page.text
    assert "good" in page.text
    assert "script" not in page.tags
    assert "body" not in page.tags  # a fragment: the notebook has a page already


@pytest.mark.skipif("sst2" not in bundle_names(), reason="the bundle sst2 is not in assets/bundles")
def test_a_bundle_predicts() -> None:
    model = load("sst2", device="cpu")
    assert model.labels == ("negative", "positive")
    encoding = model.encode("A wonderful film.")
    assert [unit.text for unit in encoding.units] == ["A", "wonderful", "film", "."]
    whole, masked = model.probabilities(encoding, [[True] * 4, [True, False, True, True]])
    assert whole[1] > 0.9
    assert masked[1] < whole[1]
    assert whole.sum() == pytest.approx(1)
