"""The same input for two models: what is compared, what the second is asked, and what the section shows."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app.compare import two_models as section
from app.compare.engine import Engine
from app.compare.runs import Request, Run
from app.compare.state import CompareState
from app.model_pool import ModelPool
from explainers.comparison.two_models import Apart, MethodPair, two_models
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel
from explainers.results.answer import CONSENSUS
from tests.app.conftest import Hold

TEXT = "a good film but dull"
Ran = Callable[..., Run]
WEIGHTS = {"a": 0.0, "good": 2.0, "film": 0.25, "but": 0.0, "dull": -1.0}


@pytest.fixture
def models(bag: Callable[..., FrozenModel], model: FrozenModel, bert: FrozenModel) -> dict[str, FrozenModel]:
    """For "other" "film" decides and "good" hardly counts; "renamed" calls its classes otherwise; "small" has three."""
    other = replace(bag({**WEIGHTS, "good": 0.1, "film": 3.0}), name="other")
    return {
        "bag": model,
        "other": other,
        "renamed": replace(bag(WEIGHTS), name="renamed", labels=("bad", "fine")),
        "small": bert,
    }


@pytest.fixture
def pool(models: dict[str, FrozenModel], monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelPool]:
    monkeypatch.setattr(catalog, "load", lambda name, *, device, roots: models[name])
    monkeypatch.setattr(section, "offered_models", lambda chosen, fetched: ["bag", "other", "renamed"])
    pool = ModelPool()
    yield pool
    pool.wait()


def test_each_method_is_compared_with_itself(
    engine: Engine, ran: Ran, over: Callable[[Run], Run], request_for: Callable[..., Request]
) -> None:
    first = ran(TEXT).comparison()
    second = over(engine.submit(replace(request_for(TEXT), model="other"))).comparison()
    pair = two_models(first, second)
    assert pair.units == tuple((number, number) for number in range(5))
    assert [method.method for method in pair.methods[:1]] == [CONSENSUS]
    rest = pair.methods[1:]
    assert {method.method for method in rest} == {"occlusion", "lime"}
    assert [method.agreement for method in rest] == sorted(method.agreement for method in rest)
    occlusion = next(method for method in rest if method.method == "occlusion")
    assert occlusion.agreement < 1
    assert occlusion.apart in (Apart(1, 1, 2), Apart(2, 2, 1))  # "good" before "film" in one, behind it in the other
    assert pair.same_target
    same = two_models(first, first)
    assert [method.agreement for method in same.methods] == pytest.approx([1.0] * 3)
    assert {method.apart for method in same.methods} == {None}
    written = json.loads(json.dumps(pair.as_dict()))
    assert written["second"]["model"] == "other"
    assert written["methods"][1]["first"] == list(rest[0].first)


def test_units_that_only_one_model_has_are_left_out(
    engine: Engine, ran: Ran, over: Callable[[Run], Run], request_for: Callable[..., Request]
) -> None:
    first = ran(TEXT)
    second = over(engine.submit(replace(request_for(TEXT), model="other", removed=(0, 3), methods=("occlusion",))))
    pair = two_models(first.comparison(), second.comparison())
    assert pair.units == ((1, 0), (2, 1), (4, 2))
    assert all(len(method.first) == len(method.second) == 3 for method in pair.methods)
    assert pair.alone == ((CONSENSUS, "lime"), ())
    other_text = ran("a dull film").comparison()
    with pytest.raises(ExplanationError, match="are of different texts"):
        two_models(first.comparison(), other_text)


def script() -> None:
    import streamlit as st

    from app.compare.drawing_options import DrawingOptions
    from app.compare.state import compare_state
    from app.compare.two_models import show

    state = compare_state()
    state.begin()
    assert state.run is not None
    st.text(f"waits: {show(st.session_state['engine'], state.run, DrawingOptions())}")
    state.finish()


@pytest.fixture
def page(engine: Engine, ran: Ran) -> Callable[..., AppTest]:
    def opened(run: Run | None = None, **address: str) -> AppTest:
        at = AppTest.from_function(script, default_timeout=60)
        at.session_state["CompareState"] = CompareState()
        at.session_state["engine"] = engine
        state = at.session_state["CompareState"]
        state.run = run or ran(TEXT)
        state.asked = state.run.request.example
        for name, value in address.items():
            at.query_params[name] = value
        return at.run()

    return opened


def until_over(at: AppTest) -> AppTest:
    """Draws until the second model has done all."""
    end = time.monotonic() + 20
    while at.text[0].value != "waits: False" and time.monotonic() < end:
        time.sleep(0.02)
        at.run()
    assert at.text[0].value == "waits: False"
    assert not at.exception
    return at


def drawn(at: AppTest) -> str:
    return "".join(str(element.proto.body) for element in at.get("html"))


def test_without_a_second_model_nothing_is_asked(page: Callable[..., AppTest]) -> None:
    at = page()
    assert (at.text[0].value, drawn(at)) == ("waits: False", "")
    assert at.session_state["CompareState"].beside_run is None
    assert at.selectbox[0].options == ["none", "other", "renamed"]


def test_a_chosen_model_explains_the_same_class_below_the_first(page: Callable[..., AppTest]) -> None:
    at = page()
    at.selectbox[0].set_value("other")
    at = until_over(at.run())
    assert at.query_params["beside"] in ("other", ["other"])
    second = at.session_state["CompareState"].beside_run
    assert (second.request.model, second.request.label) == ("other", "positive")
    html = drawn(at)
    assert html.count("<section>") == 3  # Consensus, LIME, Occlusion
    assert "furthest apart: “good”, rank 1 and 2 of 5" in html
    assert "predicts positive" in html
    assert "plain-warning" not in html
    again = until_over(at.run())
    assert again.session_state["CompareState"].beside_run is second
    again.selectbox[0].set_value("")
    again.run()
    assert again.session_state["CompareState"].beside_run is None
    assert "beside" not in again.query_params


def test_another_class_of_the_same_model_stands_below_the_first(
    page: Callable[..., AppTest],
    engine: Engine,
    over: Callable[[Run], Run],
    request_for: Callable[..., Request],
) -> None:
    run = over(engine.submit(replace(request_for("good film"), model="small", label="positive")))
    at = page(run, model="small")
    assert [box.label for box in at.selectbox] == ["Second model", "Class"]
    assert at.selectbox[1].options == ["the same", "negative", "neutral", "positive"]
    at.selectbox[1].set_value("positive")
    assert at.run().session_state["CompareState"].beside_run is None  # it is the one that is explained
    at.selectbox[1].set_value("neutral")
    at = until_over(at.run())
    second = at.session_state["CompareState"].beside_run
    assert (second.request.model, second.request.label) == ("small", "neutral")
    assert "small, positive" in drawn(at)
    assert "small, neutral" in drawn(at)
    assert "plain-warning" not in drawn(at)
    assert at.query_params["beside-class"] in ("neutral", ["neutral"])


def test_a_method_that_explains_the_predicted_class_alone_is_not_compared(
    engine: Engine, over: Callable[[Run], Run], request_for: Callable[..., Request]
) -> None:
    request = replace(request_for("good film", methods=("occlusion", "cimi")), model="small")
    predicted = over(engine.submit(request)).comparison()
    other = next(label for label in predicted.decision.card.labels if label != predicted.label)
    pair = two_models(predicted, over(engine.submit(replace(request, label=other))).comparison())
    assert "cimi" not in [method.method for method in pair.methods]
    assert pair.alone[0] == (CONSENSUS, "cimi")  # two methods make a consensus
    assert not pair.same_target


def test_a_model_with_other_classes_explains_its_own(page: Callable[..., AppTest]) -> None:
    at = until_over(page(beside="renamed"))
    assert at.session_state["CompareState"].beside_run.request.label is None
    assert "renamed has no class positive and explains the one that it predicts" in drawn(at)


def test_a_model_that_cannot_be_loaded_gets_a_sentence(
    page: Callable[..., AppTest], models: dict[str, FrozenModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str, **_rest: Any) -> FrozenModel:
        if name not in models:
            raise ExplanationError("There is no model of this name.")
        return models[name]

    monkeypatch.setattr(catalog, "load", load)
    at = until_over(page(beside="nowhere/model"))
    assert "plain-error" in drawn(at)
    assert "There is no model of this name." in drawn(at)
    assert at.selectbox[0].value == "nowhere/model"  # what was typed stays


def test_as_long_as_the_first_is_on_its_way_the_second_waits(page: Callable[..., AppTest], ran: Ran) -> None:
    run = ran(TEXT)
    at = until_over(page(run, beside="other"))
    second = at.session_state["CompareState"].beside_run
    for status in ("running", "stopped"):
        run.status = status  # type: ignore[assignment]
        at.run()
        assert at.session_state["CompareState"].beside_run is None
        assert second.meter.cancel.is_set()
        assert section.WAITING in [caption.value for caption in at.caption]


def test_the_second_is_stopped_and_goes_on(page: Callable[..., AppTest], models: dict[str, FrozenModel]) -> None:
    at, hold = page(), Hold(lambda: True)
    models["other"].module.register_forward_pre_hook(hold)
    at.selectbox[0].set_value("other")
    at.run()
    assert hold.reached.wait(20)
    at.run().button(key="stop second").click()
    hold.go.set()
    at = until_over(at.run())
    assert section.STOPPED in [caption.value for caption in at.caption]
    at.button(key="go on with second").click()
    at = until_over(at.run())
    assert drawn(at).count("<section>") == 3


def test_the_model_above_is_no_second_model(page: Callable[..., AppTest]) -> None:
    at = page(beside="bag")
    assert section.SAME in [caption.value for caption in at.caption]
    assert at.session_state["CompareState"].beside_run is None


def test_words_that_were_removed_are_removed_for_both(page: Callable[..., AppTest], ran: Ran) -> None:
    at = until_over(page(ran(TEXT, removed=(1,)), beside="other"))
    second = at.session_state["CompareState"].beside_run
    assert second.request.removed == (1,)
    assert second.request.example == Example(TEXT)


def test_a_model_that_was_released_meanwhile_is_not_asked_again(page: Callable[..., AppTest], pool: ModelPool) -> None:
    at = until_over(page(beside="other"))
    second = at.session_state["CompareState"].beside_run
    pool.models.clear()
    assert until_over(at.run()).session_state["CompareState"].beside_run is second


def test_what_did_not_fit_into_the_time_is_computed_on_demand(page: Callable[..., AppTest]) -> None:
    at = until_over(page(beside="other"))
    second = at.session_state["CompareState"].beside_run
    second.current = replace(second.current, postponed=("lime",))
    at.run()
    assert section.SHORT in [caption.value for caption in at.caption]
    assert "Only for" not in drawn(at)
    at.button(key="go on with second").click()
    at = until_over(at.run())
    again = at.session_state["CompareState"].beside_run
    assert again is not second
    assert again.request.budget is None
    assert section.SHORT not in [caption.value for caption in at.caption]


def test_parts_that_the_second_model_cuts_otherwise_cannot_be_removed_for_both(
    page: Callable[..., AppTest], ran: Ran
) -> None:
    at = until_over(page(ran(TEXT, removed=(1,)), beside="other"))
    second = at.session_state["CompareState"].beside_run
    units = second.whole.encoding.units
    cut = (units[0], replace(units[1], end=units[1].end + 1), *units[2:])
    second.whole = replace(second.whole, encoding=replace(second.whole.encoding, units=cut))
    assert section.CUT_OTHERWISE in drawn(at.run())


def test_equal_scores_have_equal_ranks() -> None:
    assert MethodPair("lime", (0.5, 0.5, 0.1), (0.1, 0.5, 0.5), 0.0).apart == Apart(0, 1, 3)
    assert MethodPair("lime", (0.5, 0.5), (0.1, 0.5), 0.0).ranks_nothing
    assert not MethodPair("lime", (0.4, 0.5), (0.1, 0.5), 1.0).ranks_nothing
