"""The Reading page alone and in a group. What is stored with the project is shown; what is not is computed slowly."""

import json
import re
import time
from collections.abc import Iterator
from html import unescape
from threading import Event
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app.compare import session
from app.compare.stored_results import curated_examples, stored_answer
from app.reading import groups as group_rules
from app.reading import live, steps
from app.reading.state import OwnWork, ReadingState
from app.reading.story import ORDER, LiveExample, Step, example_of_state, request_of, stories, story_of
from explainers.comparison import runner
from explainers.errors import ModelUnavailable
from explainers.models import catalog
from explainers.models.bundle_cards import bundle_names
from tests.pages.conftest import ENTRY

PATIENCE = 60  # seconds
SLOWEST = 120
NAMES = ("1" * 32, "2" * 32)


class Reading:
    """The page in the hands of a person; `name` is the browser's anonymous one."""

    def __init__(self, name: str = "", **address: str) -> None:
        self.at = AppTest.from_file(str(ENTRY), default_timeout=PATIENCE)
        self.at.switch_page("pages/reading.py")
        if name:
            self.at.session_state["ReadingState"] = ReadingState(participant=name, settled=True)
        for key, value in address.items():
            self.at.query_params[key] = value
        self.run()

    def run(self) -> "Reading":
        self.at.run()
        assert not self.at.exception, self.at.exception
        return self

    def press(self, key: str) -> "Reading":
        self.at.button(key=key).click()
        return self.run()

    def settle(self, seconds: float = PATIENCE) -> "Reading":
        """Runs the page until nothing is computed any more."""
        end = time.monotonic() + seconds
        self.run()
        while any(run.active for run in self.runs) and time.monotonic() < end:
            time.sleep(0.02)
        self.run()
        return self.settle(end - time.monotonic()) if any(run.active for run in self.runs) else self

    @property
    def runs(self) -> list[Any]:
        return list(self.at.session_state["ReadingState"].runs.values())

    @property
    def address(self) -> dict[str, str]:
        params = self.at.query_params.items()
        return {name: value[0] if isinstance(value, list) else value for name, value in params}

    @property
    def buttons(self) -> list[str]:
        return [button.label for button in self.at.button]

    @property
    def text(self) -> str:
        """All that a person reads besides components."""
        parts = [*self.at.title, *self.at.header, *self.at.subheader, *self.at.markdown, *self.at.caption]
        bodies = [re.sub("<[^>]+>", "", element.proto.body) for element in self.at.get("html")]
        return "\n".join([*(part.value for part in parts), *map(unescape, bodies)])


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No model loads before the end: only what is stored is there."""
    if "sst2" not in bundle_names():
        pytest.skip("the bundle sst2 is not in assets/bundles")
    over = Event()

    def load(name: str, **_rest: object) -> None:
        over.wait(PATIENCE)
        raise ModelUnavailable(f"The model {name!r} is not loaded in this test.")

    monkeypatch.setattr(catalog, "load", load)
    st.cache_resource.clear()
    yield
    over.set()
    session.engine().close()
    session.engine().pool.wait()
    st.cache_resource.clear()


def walk(page: Reading, id: str) -> None:
    """From the first step to the last, with a bet and its answer where there is one."""
    story = story_of(id)
    assert story is not None
    for number, step in enumerate(story.steps, start=1):
        assert page.address["step"] == str(number)
        assert step.title in [header.value for header in page.at.header]
        if step.bet is not None:
            bet(page, step)
        elif step.state is not None and "marks" in step.state.show:
            page.press("show marks")
        if number < len(story.steps):
            page.press("next")
    assert page.at.button(key="next").disabled


def bet(page: Reading, step: Step) -> None:
    assert page.at.button(key="reveal").disabled  # nobody has bet
    page.press("bet 0")
    page.press("reveal")
    assert "reveal" not in [button.key for button in page.at.button]


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize("id", ORDER)
def test_every_story_can_be_walked_through(id: str) -> None:
    page = Reading(story=id, step="1")
    walk(page, id)


def computes(state: LiveExample | None) -> bool:
    """Return whether a step needs a model: not all of it is stored, or an order is reversed, or two methods fight."""
    if state is None or state.reversed or "duel" in state.show:
        return state is not None
    request = request_of(state)
    answer = stored_answer(request)
    return answer is None or any(answer.outcome(method) is None for method in request.methods)


@pytest.mark.slow
@pytest.mark.usefixtures("own_engine")
def test_every_step_that_computes_comes_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the models: nothing fails, and every bet has an answer. Without the checks under other operators, which take
    most of the time: no step shows them."""
    monkeypatch.setattr(runner, "run_operator_checks", lambda *_args: ())

    def settle(page: Reading) -> None:
        page.settle(SLOWEST)
        assert [run.error for run in page.runs] == [""] * len(page.runs)
        failures = [failure.reason for run in page.runs for failure in run.comparison().failures]
        assert failures == []

    page, settled = Reading(), 0
    for story in stories():
        for number, step in enumerate(story.steps, start=1):
            if computes(step.state):
                page.at.query_params.update({"story": story.id, "step": str(number)})
                settle(page)
                assert step.title in [header.value for header in page.at.header]
                if step.bet is not None:
                    bet(page, step)
                    settle(page)
                settled += 1
    assert settled > 10


@pytest.mark.usefixtures("unloaded")
def test_the_list_has_every_story_and_opens_it() -> None:
    page = Reading()
    assert [subheader.value for subheader in page.at.subheader] == [story.title for story in stories()]
    page.press("open cimi")
    assert page.address == {"story": "cimi", "step": "1"}
    assert page.at.title[0].value == story_of("cimi").title  # type: ignore[union-attr]
    page.press("list")
    assert page.address == {}


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize("step", ["0", "99", "x", "-1", "²", ""])
def test_a_step_that_does_not_exist_is_the_first(step: str) -> None:
    assert "Step 1 of 9" in Reading(story="aml", step=step).at.get("progress")[0].proto.text


@pytest.mark.usefixtures("unloaded")
def test_an_unknown_story_is_said() -> None:
    assert "story “<b>gone</b>”, which does not exist" in Reading(story="<b>gone</b>").text


@pytest.mark.usefixtures("unloaded")
def test_the_answer_is_computed_from_what_is_shown() -> None:
    """The right one of the stored example's methods, in the order of the choices."""
    page = Reading(story="aml", step="4").press("bet 0")
    assert "The answer" not in page.text
    (run,) = page.runs
    metrics = {result.method: result.metrics["aopc_c"] for result in run.comparison().results}
    best = max(("aml", "integrated_gradients", "lime"), key=lambda name: metrics[name])
    page.press(f"bet {('aml', 'integrated_gradients', 'lime').index(best)}").press("reveal")
    assert "Your bet was right." in page.text
    assert f"AML: {metrics['aml']:.3f}" in page.text


@pytest.mark.usefixtures("unloaded")
def test_what_another_page_computes_is_waited_for() -> None:
    """A group's phones ask the same at the same moment."""
    first, second = Reading(story="aml", step="6"), Reading(story="aml", step="6")
    assert [run.active for run in first.runs] == [True]
    assert second.runs == []
    assert live.ELSEWHERE in second.text
    first.runs[0].stop()
    assert [run.request for run in second.run().runs] == [run.request for run in first.runs]


@pytest.mark.usefixtures("unloaded")
def test_explanations_are_hidden_until_the_marks_are_made() -> None:
    page = Reading(story="newcomers", step="2")
    with pytest.raises(KeyError):
        page.at.get_by_key("sheet")
    assert steps.UNMARKED in page.text
    page.press("show marks")
    assert page.at.get_by_key("sheet") is not None


@pytest.mark.usefixtures("unloaded")
def test_what_is_shown_without_marks_is_said_until_there_is_one() -> None:
    page = Reading(story="newcomers", step="2")
    assert steps.UNMARKED in page.text
    page.at.session_state["ReadingState"].alone[("newcomers", 2)] = OwnWork(marks=(1,))
    assert steps.UNMARKED not in page.run().text


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize(("story", "step"), [("five", "2"), ("five", "5"), ("aml", "5"), ("cimi", "6")])
def test_no_row_of_which_a_step_speaks_is_folded(story: str, step: str) -> None:
    rows = json.loads(Reading(story=story, step=step).at.get_by_key("sheet").proto.json)["rows"]
    assert [row["name"] for row in rows if not row["featured"]] == []


@pytest.mark.usefixtures("unloaded")
def test_our_numbers_stand_beside_the_papers() -> None:
    html = next(
        element.proto.body
        for element in Reading(story="aml", step="7").at.get("html")
        if "reading-table" in element.proto.body
    )
    assert "<td>0.140</td>" in html
    assert re.search(r"<td>0\.\d{3} ± 0\.\d{3}</td>", html)


@pytest.mark.usefixtures("unloaded")
def test_large_type_is_in_the_address() -> None:
    bodies = [element.proto.body for element in Reading(story="aml", large="true").at.get("html")]
    assert any("font-size: 20px" in body for body in bodies)


@pytest.fixture
def presented(unloaded: None, monkeypatch: pytest.MonkeyPatch) -> Reading:
    """The presenter's page at the first bet of AML."""
    monkeypatch.setattr(group_rules, "REMEMBERED", 0.0)
    return Reading(story="aml", step="4").press("present")


def follower(presenter: Reading, name: str) -> Reading:
    return Reading(name, group=presenter.address["group"])


def test_a_group_bets_and_everybody_is_counted_once(presented: Reading) -> None:
    one, other = (follower(presented, name) for name in NAMES)
    one.press("bet 0").press("bet 2")
    other.press("bet 2")
    presented.run()
    assert "2 people follow, 2 have bet." in presented.text
    assert "bet 0" not in [button.key for button in presented.at.button]  # who presents does not bet
    presented.press("reveal")
    for page, own in ((presented, 0), (one.run(), 1), (other.run(), 1)):
        rows = next(element.proto.body for element in page.at.get("html") if "reading-bets" in element.proto.body)
        assert re.findall(r"<span>(\d)</span>", rows) == ["0", "0", "2"]
        assert rows.count("your bet") == own
    assert "bet 0" not in [button.key for button in one.at.button]


def test_a_follower_sees_the_input_of_a_bet_before_the_answer(presented: Reading) -> None:
    story = story_of("aml")
    assert story is not None
    state = story.steps[3].state
    assert state is not None
    one = follower(presented, NAMES[0])
    assert "bet 0" in [button.key for button in one.at.button]
    assert example_of_state(state).text in one.text


def test_followers_come_along(presented: Reading) -> None:
    one = follower(presented, NAMES[0])
    assert one.at.header[0].value == "Does training for removal win at removal?"
    assert not {"next", "previous", "reveal"} & {button.key for button in one.at.button}
    presented.press("next")
    assert presented.address["step"] == "5"
    assert one.run().at.header[0].value == "Flip the sign"
    presented.at.query_params["step"] = "2"  # the browser's Back
    presented.run()
    assert one.run().at.header[0].value == "Three wishes, one loss"


def test_two_pages_of_the_presenter_do_not_move_the_group_back_and_forth(presented: Reading) -> None:
    second = Reading(**presented.address)
    presented.press("next")
    for page in (second, presented, second):
        page.run()
        assert page.address["step"] == "5"
        assert page.at.header[0].value == "Flip the sign"
    second.press("previous")
    for page in (presented, second):
        assert page.run().address["step"] == "4"
    late = Reading(**{**presented.address, "step": "2"})  # a page that was open elsewhere moves nothing when it begins
    assert (late.address["step"], presented.run().address["step"]) == ("4", "4")


def test_a_look_with_the_address_from_before_a_back_does_not_undo_it(presented: Reading) -> None:
    presented.at.query_params["step"] = "2"  # the browser's Back
    presented.run()
    presented.at.query_params["step"] = "4"  # a look at the group that began before, with what it had drawn
    presented.at.session_state["ReadingState"].looked_at = ("aml", 4)
    presented.run()
    assert presented.address["step"] == "2"
    presented.at.query_params["step"] = "4"  # and now on purpose
    assert presented.run().at.header[0].value == "Does training for removal win at removal?"


def test_a_button_leads_also_where_a_look_at_the_group_came_between(presented: Reading) -> None:
    presented.press("next")
    presented.at.session_state["ReadingState"].looked_at = ("aml", 4)  # a look that began before "next"
    presented.press("previous")
    assert (presented.address["step"], live_groups().look(presented.address["group"]).step) == ("4", 4)


def test_the_groups_marks_become_one_row(presented: Reading) -> None:
    presented.at.query_params.update({"story": "newcomers", "step": "2"})
    presented.run()
    group, code = live_groups(), presented.address["group"]
    for name, units in zip(NAMES, ((1, 4), (1, 3)), strict=True):
        group.mark(code, name, "newcomers/2", units)
    assert "2 have marked." in presented.run().text
    presented.press("show marks")
    (run,) = [run for run in presented.runs if run.request.guess]
    assert run.request.guess == (1, 3, 4)


@pytest.mark.slow
@pytest.mark.usefixtures("own_engine")
def test_everybodys_curve_stands_beside_the_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_rules, "REMEMBERED", 0.0)
    presenter = Reading(story="newcomers", step="2").press("present")
    for name, units in zip(NAMES, ((1, 4), (1, 3)), strict=True):
        live_groups().mark(presenter.address["group"], name, "newcomers/2", units)
    presenter.press("show marks").settle(SLOWEST)
    presenter.settle(SLOWEST)  # the orders of single people follow the methods
    lines = json.loads(presenter.at.get_by_key("curves").proto.json)["lines"]
    names = [line["name"] for line in lines]
    assert {"The group's order", "Person 1", "Person 2", "AML"} <= set(names)
    first = lines[names.index("Person 1")]
    assert first["removed"][0] == lines[names.index("AML")]["removed"][0]  # nothing removed: p of the whole text
    assert first["removed"][1] == pytest.approx(0.62, abs=0.01)  # without "charming", as in the duel


def live_groups() -> Any:
    from app.reading.group_view import groups

    return groups()


def test_notes_stay_with_the_group(presented: Reading) -> None:
    one = follower(presented, NAMES[0])
    one.at.text_area(key="group note text").set_value("Why <b>not</b> AML?")
    one.press(next(button.key for button in one.at.button if "Send the note" in button.label))
    assert "Why <b>not</b> AML?" in one.text
    assert "Why <b>not</b> AML?" in presented.run().text


def test_a_note_too_many_is_said_and_the_page_stays(presented: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_rules, "MOST_NOTES", 0)
    one = follower(presented, NAMES[0])
    one.at.text_area(key="group note text").set_value("One more")
    one.press(next(button.key for button in one.at.button if "Send the note" in button.label))
    assert "You have written 0 notes, and no more are kept." in one.text
    assert "bet 0" in [button.key for button in one.at.button]


def test_a_wrong_key_or_code_is_said(presented: Reading) -> None:
    code = presented.address["group"]
    assert "not that of the group's presenter" in Reading(group=code, key="wrong").text
    page = Reading(group="AAAAAAAA")
    assert "There is no group AAAAAAAA" in page.text
    assert page.at.text_input(key="join code").value == "AAAAAAAA"
    page.at.text_input(key="join code").set_value("BBBBBBBB")
    page.press("join")
    assert "There is no group BBBBBBBB" in page.text
    page.press("read alone")
    assert "group" not in page.address


def test_a_code_is_typed_in_any_case(presented: Reading) -> None:
    page = Reading(NAMES[0])
    page.press("join")
    assert "Type the code of the group first." in page.text
    assert "group" not in page.address
    page.at.text_input(key="join code").set_value(f" {presented.address['group'].lower()} ")
    page.run().press("join")
    assert page.address["group"] == presented.address["group"]
    assert page.at.header[0].value == "Does training for removal win at removal?"


def test_the_presenter_goes_on_alone(presented: Reading) -> None:
    address = dict(presented.address)
    follower = Reading(group=address["group"])
    assert "The presenter has left" not in follower.text
    presented.press("end")
    assert presented.address == {"story": "aml", "step": "4"}
    assert "The presenter has left the group." in follower.run().text
    assert f"You have left the group {address['group']}" in presented.text
    presented.press("lead again")
    assert presented.address == address
    assert "The presenter has left" not in follower.run().text
    presented.press("end").press("list")
    assert "lead again" in [button.key for button in presented.at.button]
    Reading(**address)
    assert "The presenter has left" not in follower.run().text


def test_a_group_that_was_navigated_away_from_is_led_again_or_ended(presented: Reading) -> None:
    address = dict(presented.address)
    follower = Reading(group=address["group"])
    for name in list(presented.address):
        del presented.at.query_params[name]
    presented.run()
    assert f"The group {address['group']} still shows the step" in presented.text
    presented.press("lead again")
    assert presented.address == address
    for name in list(presented.address):
        del presented.at.query_params[name]
    presented.run().press("end it")
    assert "You have left the group" in presented.text
    assert "The presenter has left the group." in follower.run().text


def test_a_presenter_shows_answers_and_explanations_that_nobody_has_bet_on_or_marked(presented: Reading) -> None:
    follower(presented, NAMES[0])
    assert "Nobody has bet yet." in presented.run().text
    assert not presented.at.button(key="reveal").disabled
    story = story_of("newcomers")
    assert story is not None
    number, state = next(
        (at, step.state)
        for at, step in enumerate(story.steps, start=1)
        if step.state is not None and "marks" in step.state.show
    )
    marking = Reading(story="newcomers", step=str(number)).press("present")
    follower(marking, NAMES[0])
    assert example_of_state(state).text in marking.run().text
    assert not marking.at.button(key="show marks").disabled


def test_a_bet_on_a_data_set_shows_no_sentence_before_the_answer(unloaded: None) -> None:
    story = story_of("cimi")
    assert story is not None
    number = next(at for at, step in enumerate(story.steps, start=1) if step.bet is not None)
    step = story.steps[number - 1]
    assert step.bet is not None
    assert steps.is_stored(step.bet)
    assert step.state is not None
    page = Reading(story="cimi", step=str(number))
    assert step.bet.question in page.text
    assert example_of_state(step.state).text not in page.text


@pytest.mark.usefixtures("unloaded")
def test_reading_needs_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "nonsense://")
    st.cache_resource.clear()
    page = Reading(story="aml", step="1").press("present")
    assert "The store cannot be opened" in page.text
    assert "Step 1 of 9" in page.at.get("progress")[0].proto.text


def test_stories_use_examples_that_are_stored() -> None:
    """So that steps are there at once. Models without examples of their own are asked live."""
    titles = {(example.model, example.title) for example in curated_examples()}
    used = [step.state for story in stories() for step in story.steps if step.state is not None]
    live = [state for state in used if state.model not in {model for model, _ in titles}]
    assert all((state.model, state.example) in titles for state in used if state not in live)
    assert len(live) == 1
    assert live[0].text
