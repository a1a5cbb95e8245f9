import re
import time
from collections.abc import Callable
from typing import Any

import pytest
import streamlit as st

from app import model_info
from app import session as sessions
from app.compare import session
from app.interventions import computations, examples, heading
from explainers.datasets.example import Example
from explainers.errors import ModelUnavailable
from explainers.methods.narrator_specs import NARRATORS
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel

Opened = Callable[..., Any]
SCRIPT = "<script>alert(1)</script>"
PAIRS = (
    Example("the good film", "a good plot"),
    Example("a dull film", "the film was very bad"),
    Example("not good", "good"),
    Example(f"very dull {SCRIPT}", "unwatchable , bad"),
    Example("the plot", "a film was not the plot"),
    Example("good good good", "bad"),
)


class Interventions:
    """The page in the hands of a person."""

    def __init__(self, opened: Opened, **address: str) -> None:
        self.page = opened(**address)
        self.at = self.page.at
        self.at.switch_page("pages/interventions.py")
        self.run()

    def run(self) -> "Interventions":
        self.at.run()
        assert not self.at.exception, self.at.exception
        return self

    def choose(self, key: str, value: object) -> "Interventions":
        self.at.get_by_key(key).set_value(value)
        return self.run()

    @property
    def texts(self) -> str:
        elements = [*self.at.markdown, *self.at.caption, *self.at.info, *self.at.error]
        return "\n".join([*(each.value for each in elements), *self.page.plain()])

    @property
    def errors(self) -> list[str]:
        return list(self.page.sentences)

    @property
    def obeyed(self) -> bool:
        """Whether a tag stands anywhere on the page."""
        texts = [each.value for each in (*self.at.markdown, *self.at.caption, *self.at.error)]
        return any("<script" in each for each in (*texts, self.page.html))

    @property
    def shares(self) -> list[dict[str, str]]:
        rows: list[dict[str, str]] = self.at.table[0].value.to_dict("records")
        return rows

    @property
    def bars(self) -> list[str]:
        """The three bar charts in words: C1 and C2 after the intervention, C1 after ν."""
        return re.findall(r'aria-label="([^"]*)"', self.page.html)


@pytest.fixture
def speaks(speaker: FrozenModel, narrators: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, own_engine: None) -> None:
    """The small model with narrators is the only one, with a small set of pairs."""

    def load(name: str, **_rest: object) -> FrozenModel:
        if name != "speaker":
            raise ModelUnavailable(f"The model {name!r} is not available.")
        return speaker

    monkeypatch.setattr(catalog, "load", load)
    for module in (sessions, model_info, computations):
        monkeypatch.setattr(module, "bundle_names", lambda: ("speaker",))
    card = {"labels": list(speaker.labels), "texts": ["premise", "hypothesis"], "sha256": "1"}
    monkeypatch.setattr(model_info, "read_card", lambda _folder: card)
    monkeypatch.setattr(examples, "shipped_pairs", lambda _model: PAIRS)
    st.cache_data.clear()


@pytest.fixture
def page(opened: Opened, speaks: None) -> Interventions:
    return Interventions(opened)


@pytest.mark.usefixtures("small")
def test_without_narrators_the_page_says_what_to_do(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computations, "bundle_names", lambda: ("small",))
    page = Interventions(opened)
    assert [each.value for each in page.at.info] == [heading.NO_NARRATORS]
    assert not page.at.selectbox


def test_a_multimodal_model_is_not_offered(opened: Opened, speaks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    info = model_info.ModelInfo(multimodal=True, version="1")
    monkeypatch.setattr(computations, "model_info", lambda _pool, _name: info)
    page = Interventions(opened)
    assert [each.value for each in page.at.info] == [heading.NO_NARRATORS]


def test_it_opens_with_an_intervention_and_a_check_already_made(page: Interventions) -> None:
    assert not page.errors
    assert len(page.bars) == 3
    assert "entailment: 0." in page.bars[0]
    assert page.shares[0]["how often"] == "C1 and C2 agree before the intervention"
    assert page.shares[0]["ordered pairs"] == "30"
    for spec in NARRATORS:
        assert spec.name in page.page.plain("paragraph")
    assert "The class " in page.texts


def test_the_same_example_as_base_and_source_changes_nothing(page: Interventions) -> None:
    first = page.at.selectbox(key="base").value
    page.choose("source", first)
    for row in page.bars[0].split("; "):
        before, after = re.findall(r"\d\.\d{3}", row)
        assert before == after
    assert "stays with" in page.texts


def test_all_neurons_make_the_base_the_source(page: Interventions) -> None:
    page.choose("which", "typed").choose("neurons", "0-127")
    assert not page.errors
    after = [float(each) for each in re.findall(r"(\d\.\d{3}) after", page.bars[0])]
    base, source = page.at.selectbox(key="base").value, page.at.selectbox(key="source").value
    page.choose("base", source).choose("source", base)
    before = [float(each) for each in re.findall(r"(\d\.\d{3}) before", page.bars[0])]
    assert after == pytest.approx(before, abs=0.002)


@pytest.mark.parametrize(
    ("typed", "sentence"), [("a", "is not a neuron"), ("5-900", "from 0 to 127"), ("", "from 0 to 127")]
)
def test_bad_neurons_are_reported(page: Interventions, typed: str, sentence: str) -> None:
    page.choose("which", "typed").choose("neurons", typed)
    (error,) = page.errors
    assert sentence in error


def test_another_draw_and_another_narrator_are_another_intervention(page: Interventions) -> None:
    before = page.bars[:2]
    page.choose("draw", 7)
    after = page.bars[:2]
    page.choose("narrator", "φ + TS")
    assert before != after
    assert page.bars[0] == after[0]
    assert "C2, reading φ + TS, before and after" in page.texts


@pytest.mark.usefixtures("speaks")
def test_the_address_restores_the_view(opened: Opened) -> None:
    page = Interventions(opened, draw="7", narrator="φ + TS", which="typed", neurons="3-5")
    assert page.at.get_by_key("narrator").value == "φ + TS"
    assert page.at.get_by_key("neurons").value == "3-5"
    assert "3 neurons, the same in each" in page.texts


def test_from_a_mixed_state_the_narrator_generates_a_new_sentence(page: Interventions) -> None:
    assert "The mixed state, generated" not in page.texts
    layers = page.at.get_by_key("layer").options
    page.choose("layer", layers[0])
    assert "The mixed state, generated" in page.texts
    assert not page.errors


def test_a_pair_can_be_typed_and_stays_text(page: Interventions) -> None:
    page.choose("base", examples.TYPED)
    page.choose("base premise", f"a good film {SCRIPT}").choose("base hypothesis", "dull")
    assert not page.errors
    assert SCRIPT not in page.page.html
    assert not page.obeyed
    page.choose("base hypothesis", "  ")
    assert page.errors == ["The hypothesis of the base is missing. Type at least one word."]


def test_a_pair_of_the_set_stays_text(page: Interventions) -> None:
    page.choose("base", examples.list_entry(4, (PAIRS[3].text, PAIRS[3].pair or "")))
    assert SCRIPT in page.texts
    assert not page.obeyed
    assert SCRIPT not in page.page.html


def test_own_pairs_come_from_a_table(page: Interventions) -> None:
    page.choose("set", examples.OWN)
    assert "Choose a file to continue" in page.texts
    assert not page.bars
    table = b"premise,hypothesis\nthe good film,a good plot\na dull film,the film was very bad\nnot good,bad\n"
    page.at.get_by_key("pairs file").upload("mine.csv", table, "text/csv")
    page.run()
    assert "3 different pairs" in page.texts
    assert page.shares[0]["ordered pairs"] == "6"


def test_a_bad_table_is_a_sentence(page: Interventions) -> None:
    page.choose("set", examples.OWN)
    page.at.get_by_key("pairs file").upload("mine.csv", b"one,two\n1,2\n", "text/csv")
    page.run()
    assert "it has one, two" in page.errors[0]
    assert not page.bars


def test_the_same_question_is_not_computed_again(page: Interventions, speaker: FrozenModel) -> None:
    while session.engine().queue:  # the Compare page's run, which was opened first
        time.sleep(0.01)
    calls: list[int] = []
    handle = speaker.module.register_forward_pre_hook(lambda *_args: calls.append(1))
    page.run()
    assert not calls
    page.choose("draw", 3)
    assert len(calls) == 1  # base and source together; the states of the set are remembered
    handle.remove()
