"""A group's pages: the presenter's, which leads, and the one that follows it on everybody's phone."""

from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING
from uuid import uuid4

import segno
import streamlit as st

from app import plain_text
from app.compare import session
from app.plain_text import Bold
from app.reading import group_notes, navigation, pace, steps
from app.reading.group_rules import LONGEST_NOTE, GroupView, place_name
from app.reading.groups import Groups
from app.reading.reader import story_of
from app.reading.story import Step, Story
from app.reading.together import PROBLEM, Together, attempt
from app.server import hosts
from app.store import Store
from explainers.errors import ExplanationError

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP, KEY = "group", "key"  # in the address
DRAWN = "reading drawn"  # in the session: group, story and step that the presenter's page showed last
LOOKED_AT = "group looked at"  # story and step of the page whose look at the group began this run
VISITOR = "group visitor"  # in the session
TICK = 0.5  # seconds between two looks at the group
JOIN = "Open this address on a phone, or scan the code. Whoever opens it follows the step that you show."
KEEP = "The address of this page holds your key. Do not pass it on: whoever has it can present."
NOTE_LABEL = "A note for the group"
PEOPLE = "Group {}: {}"


@st.cache_resource(show_spinner=False)
def groups() -> Groups:
    """One for all sessions. Raises `ExplanationError` if no database can be named."""
    return Groups(Store())


def present(story: Story, number: int) -> None:
    """In a callback: begins a group, whose presenter this page becomes."""

    def begin() -> None:
        code, key = groups().start(story.id, number, st.context.ip_address or _session())
        st.query_params.update(
            {GROUP: code, KEY: key, navigation.STORY: story.id, navigation.STEP: str(number), "large": "true"}
        )

    attempt(begin)


def leave() -> None:
    """In a callback: goes on alone with the same step."""
    for name in (GROUP, KEY, "large"):
        if name in st.query_params:
            del st.query_params[name]


def _session() -> str:
    """By which the wrong codes of one visitor are counted; an address may be that of a whole class."""
    name: str = st.session_state.setdefault(VISITOR, uuid4().hex)
    return name


def problem() -> None:
    """What a button could not do."""
    text = st.session_state.pop(PROBLEM, "")
    if text:
        plain_text.error(text)


def show() -> None:
    """The page of the group that the address names."""
    code, key = st.query_params.get(GROUP, ""), st.query_params.get(KEY, "")
    try:
        view = groups().look(code, _session())
        if key:
            _presented(groups(), view, key)
        else:
            _followed(groups(), view)
    except ExplanationError as error:
        plain_text.error(str(error))
        st.button("Read alone", key="read alone", on_click=leave)


def _presented(group: Groups, view: GroupView, key: str) -> None:
    group.check_presenter(view.code, key)
    view = _led(group, view, key)
    story, number = story_of(view.story), view.step
    if story is None:
        return
    step = story.steps[number - 1]
    with st.container(horizontal=True, vertical_alignment="center", key="presenter"):
        navigation.buttons(story, number, listed=False)
        pace.show(view.place, timer=True, move=partial(navigation.move, story, number), begun=view.created)
        with st.popover("Invite"):
            _invitation(view.code)
        with st.popover("My notes"):
            st.markdown(step.notes or "No notes for this step.")
        st.button("End", key="end", on_click=leave, help="Goes on alone. The group and its notes are kept for a day.")
    navigation.heading(story, number)
    st.fragment(run_every=TICK)(_watch)(group, view, step, bool(_given(group, view, step)))
    steps.show(session.engine(), step, Together(group, view, key=key))
    _notes(group, view)


def _led(group: Groups, view: GroupView, key: str) -> GroupView:
    """The group after this page has led it: a button, a key or the browser's Back has changed the address since the
    page was last drawn. Where the address is as it was, the group leads, which another page of the presenter moved.

    A look at the group may carry the address from before a Back that has moved the group already: it leads nowhere."""
    story = story_of(st.query_params.get(navigation.STORY, ""))
    asked = (story.id, navigation.step_number(story)) if story is not None else (view.story, view.step)
    code, *drawn = st.session_state.get(DRAWN, ("",))
    looked_at = st.session_state.pop(LOOKED_AT, None)
    if asked != (view.story, view.step):
        if code == view.code and asked not in (tuple(drawn), looked_at):
            group.move(view.code, key, *asked)
            view = group.look(view.code)
        else:
            navigation.go(view.story, view.step)
    st.session_state[DRAWN] = (view.code, view.story, view.step)
    return view


def _followed(group: Groups, view: GroupView) -> None:
    me = pace.participant() if pace.is_settled() else ""
    if me:
        group.join(view.code, me)
    story = story_of(view.story)
    if story is None:
        return
    pace.show(view.place, timer=False)
    navigation.heading(story, view.step)
    step = story.steps[view.step - 1]
    st.fragment(run_every=TICK)(_watch)(group, view, step)
    steps.show(session.engine(), step, Together(group, view, me=me))
    if me:
        _note_form(group, view, me)
    _notes(group, view)


def _note_form(group: Groups, view: GroupView, me: str) -> None:
    with st.form("group note", clear_on_submit=True, border=False):
        text = st.text_area(NOTE_LABEL, max_chars=LONGEST_NOTE, height=72, key="group note text")
        if st.form_submit_button("Send the note"):
            attempt(partial(group.note, view.code, me, view.place, text or ""))
            problem()


def _given(group: Groups, view: GroupView, step: Step) -> "Mapping[str, object]":
    """Bets or marks of the group on this step, by participant."""
    if step.bet is not None:
        return group.bets(view.code, view.place)
    return group.marks(view.code, view.place) if _asks(step) else {}


def _watch(group: Groups, drawn: GroupView, step: Step, answered: bool | None = None) -> None:
    """Twice a second: follows the presenter, and counts. The presenter's page, which knows whether anybody had
    `answered`, is drawn again for the first who follows and the first who answers."""
    try:
        view = group.look(drawn.code)
    except ExplanationError as error:
        plain_text.error(str(error))
        return
    if (view.place, view.revealed) != (drawn.place, drawn.revealed):
        st.session_state[LOOKED_AT] = (drawn.story, drawn.step)
        st.rerun(scope="app")
    given = _given(group, view, step)
    if answered is not None and (bool(given), view.people > 0) != (answered, drawn.people > 0):
        st.rerun(scope="app")
    people = {0: "nobody follows yet", 1: "1 person follows"}.get(view.people, f"{view.people} people follow")
    verb = f"{'has' if len(given) == 1 else 'have'} {'bet' if step.bet is not None else 'marked'}"
    plain_text.caption(PEOPLE.format(view.code, people), f", {len(given)} {verb}." if _asks(step) else ".")


def _asks(step: Step) -> bool:
    return step.bet is not None or (step.state is not None and "marks" in step.state.show)


def _notes(group: Groups, view: GroupView) -> None:
    """Those of this step, and all of them as a file."""
    notes = group.notes(view.code)
    here = [note.text for note in notes if note.place == place_name(view.story, view.step)]
    if here:
        plain_text.paragraph(Bold("Notes on this step"))
        plain_text.bullets(here)
    if notes:
        st.download_button(
            "All notes, Markdown",
            data=group_notes.markdown(view, notes),
            file_name=f"reading-{view.code}.md",
            mime="text/markdown",
            on_click="ignore",
            key="notes file",
        )


def _invitation(code: str) -> None:
    address = f"{st.context.url or ''}?{GROUP}={code}"
    st.caption(JOIN)
    st.image(qr_code(address), width=260)
    st.code(address, language=None, wrap_lines=True)
    if hosts.is_local(address):
        st.warning(hosts.LOCAL_ONLY)
    st.caption(KEEP)


def qr_code(address: str) -> bytes:
    """A PNG file, made here."""
    file = BytesIO()
    segno.make(address, error="m").save(file, kind="png", scale=8, border=3)
    return file.getvalue()
