"""A group's pages: the presenter's, which leads, and the one that follows it on everybody's phone.

Bets and marks of a step are the group's. Its notes can be taken along as a Markdown file, in which what people wrote is
quoted and escaped.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO

import segno
import streamlit as st

from app import plain_text
from app.compare import session
from app.reading import pace, steps
from app.reading.groups import LONGEST_NOTE, GroupNote, Groups, GroupView, place_name
from app.reading.state import Led, Presented, reading_state
from app.reading.story import Step, Story, story_of
from app.server import edge
from app.session import value_of
from app.store import Store
from explainers.errors import ExplanationError
from explainers.report.wording import one_line

SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$&:])")
LONGEST = 600  # characters of a note on its line
GROUP, KEY = "group", "key"  # in the address
TICK = 0.5  # seconds between two looks at the group
JOIN = "Open this address on a phone, or scan the code. Whoever opens it follows the step that you show."
KEEP = "The address of this page holds your key. Do not pass it on: whoever has it can present."
CODE_HELP = "The presenter's page shows the code."
NO_CODE = f"Type the code of the group first. {CODE_HELP}"
END_HELP = "You go on alone, and those who follow are told. A button leads back as long as this page stays open."
LEFT_NOW = "You have left the group {}, and those who follow are told."
STILL_LED = "The group {} still shows the step that you led it to."
HAS_LEFT = "The presenter has left the group. Wait here, or read on alone."
NOTE_LABEL = "A note for the group"
PEOPLE = "Group {}: {}"


def place_title(place: str) -> str:
    """Return a title such as "AML: learn the mask, step 3: One pass, beside five hundred"."""
    id, _, number = place.rpartition("/")
    story = story_of(id)
    if story is None or not number.isdigit() or not 1 <= int(number) <= len(story.steps):
        return place
    return f"{story.title}, step {number}: {story.steps[int(number) - 1].title}"


def markdown(view: GroupView, notes: Sequence[GroupNote]) -> str:
    """Return the notes: headings in the order in which they were first written about, a bullet per note."""
    day = time.strftime("%Y-%m-%d", time.gmtime(view.created))
    lines = [f"# Notes of the reading group {view.code}, {day}", ""]
    for place in dict.fromkeys(note.place for note in notes):
        lines += [f"## {place_title(place)}", ""]
        lines += [f"- {escaped_markdown(note.text)}" for note in notes if note.place == place]
        lines.append("")
    return "\n".join(lines)


def escaped_markdown(text: str) -> str:
    """Return the text on one line, with every sign that Markdown knows escaped."""
    return SPECIAL.sub(r"\\\1", one_line(text, LONGEST))


@dataclass(frozen=True)
class Together:
    """The members of a group; `key` is the presenter's, empty for the others; `me` is empty for the presenter."""

    groups: Groups
    view: GroupView
    key: str = ""
    me: str = ""
    together: bool = True

    @property
    def place(self) -> tuple[str, int]:
        return self.view.story, self.view.step

    @property
    def presents(self) -> bool:
        return bool(self.key)

    @property
    def awaited(self) -> bool:
        return self.view.people > 0

    @property
    def revealed(self) -> bool:
        return self.view.place in self.view.revealed

    def bets(self) -> Mapping[str, int]:
        return self.groups.bets(self.view.code, self.view.place)

    def marks(self) -> Mapping[str, tuple[int, ...]]:
        return self.groups.marks(self.view.code, self.view.place)

    def bet(self, choice: int) -> None:
        attempt(lambda: self.groups.bet(self.view.code, self.me, self.view.place, choice))

    def mark(self, units: tuple[int, ...]) -> None:
        attempt(lambda: self.groups.mark(self.view.code, self.me, self.view.place, units))

    def reveal(self) -> None:
        attempt(lambda: self.groups.reveal(self.view.code, self.key, self.view.place))


def attempt(work: Callable[[], None]) -> None:
    """Do it in a callback: what cannot be done is said when the page is drawn."""
    try:
        work()
    except ExplanationError as error:
        reading_state().problem = str(error)


@st.cache_resource(show_spinner=False)
def groups() -> Groups:
    """Return the groups of all sessions; raises `ExplanationError` if no database can be named."""
    return Groups(Store())


def present(story: Story, number: int) -> None:
    """Begin a group in a callback; this page becomes its presenter's."""

    def begin() -> None:
        code, key = groups().start(story.id, number, st.context.ip_address or _session())
        st.query_params.update({GROUP: code, KEY: key, pace.STORY: story.id, pace.STEP: str(number), "large": "true"})

    attempt(begin)


def leave() -> None:
    """Go on alone with the same step, in a callback."""
    kept = {name: value for name, value in st.query_params.to_dict().items() if name not in (GROUP, KEY, "large")}
    st.query_params.from_dict(kept)  # one entry in the browser's history


def join_form(code: str = "") -> None:
    """Ask for the code of a group; `code` stands in the box."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Join a group by its code", code, max_chars=12, key="join code", help=CODE_HELP, width=260)
        st.button("Join", key="join", on_click=_join)


def _join() -> None:
    code = str(value_of("join code") or "").strip().upper()
    if code:
        st.query_params[GROUP] = code
        st.query_params.pop(KEY, None)
    else:
        reading_state().problem = NO_CODE


def _session() -> str:
    """Return by what the wrong codes of one visitor are counted; an address may be that of a whole class."""
    return reading_state().visitor


def problem() -> None:
    """Show what a button could not do."""
    text = reading_state().take_problem()
    if text:
        plain_text.error(text)


def show() -> None:
    """Draw the page of the group that the address names."""
    code, key = st.query_params.get(GROUP, ""), st.query_params.get(KEY, "")
    try:
        view = groups().look(code, _session())
        if key:
            _presented(groups(), view, key)
        else:
            _followed(groups(), view)
    except ExplanationError as error:
        reading_state().led = None
        plain_text.error(str(error))
        join_form(code)
        st.button("Read alone", key="read alone", on_click=leave)


def _presented(group: Groups, view: GroupView, key: str) -> None:
    group.check_presenter(view.code, key)
    reading_state().led = Led(view.code, key)
    if view.left:
        group.come_back(view.code, key)
        view = group.look(view.code)
    view = _led(group, view, key)
    story, number = story_of(view.story), view.step
    if story is None:
        return
    step = story.steps[number - 1]
    with st.container(horizontal=True, vertical_alignment="center", key="presenter"):
        pace.buttons(story, number, listed=False)
        pace.show(story, number, timer=True, keys=True, begun=view.created)
        with st.popover("Invite"):
            _invitation(view.code)
        with st.popover("My notes"):
            st.markdown(step.notes or "No notes for this step.")
        st.button("End", key="end", on_click=_end, args=(group, view.code, key), help=END_HELP)
    pace.heading(story, number)
    st.fragment(run_every=TICK)(_watch)(group, view, step, bool(_given(group, view, step)))
    steps.show(session.engine(), step, Together(group, view, key=key))
    _notes(group, view)


def _led(group: Groups, view: GroupView, key: str) -> GroupView:
    """Return the group after this page has led it.

    A button or a key has asked for a step, or the browser's Back has changed the address since the page was last drawn.
    Where the address is as it was, the group leads, which another page of the presenter moved. A look at the group may
    carry the address from before a Back that has moved the group already: it leads nowhere.
    """
    state, here = reading_state(), (view.story, view.step)
    drawn, looked_at, state.looked_at = state.presented, state.looked_at, None
    pressed, state.asked = state.asked, None
    story = story_of(st.query_params.get(pace.STORY, ""))
    asked = pressed or ((story.id, pace.step_number(story)) if story is not None else here)
    known = (drawn.story, drawn.step) if drawn is not None and drawn.group == view.code else asked
    if asked != here:
        if pressed or asked not in (known, looked_at):
            group.move(view.code, key, *asked)
            view = group.look(view.code)
        else:
            pace.set_address(*here)
    state.presented = Presented(view.code, view.story, view.step)
    return view


def _end(group: Groups, code: str, key: str) -> None:
    """Go on alone, and let those who follow know; `lead_again` undoes it."""

    def end() -> None:
        group.leave(code, key)
        reading_state().led = Led(code, key, ended=True)

    attempt(end)
    leave()


def lead_again() -> None:
    """Offer the way back into the group that this page has led, and its end if it was only navigated away from."""
    led = reading_state().led
    if led is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        plain_text.caption((LEFT_NOW if led.ended else STILL_LED).format(led.group))
        st.button("Lead it again", key="lead again", on_click=_lead_again, args=(led,))
        if not led.ended:
            st.button("End it", key="end it", on_click=_end, args=(groups(), led.group, led.key), help=END_HELP)


def _lead_again(led: Led) -> None:
    """Go where the group is, in a callback."""

    def lead() -> None:
        view = groups().look(led.group)
        here = {pace.STORY: view.story, pace.STEP: str(view.step)}
        st.query_params.from_dict({**here, GROUP: led.group, KEY: led.key, "large": "true"})

    attempt(lead)
    if GROUP not in st.query_params:
        reading_state().led = None


def _followed(group: Groups, view: GroupView) -> None:
    me = pace.participant() if pace.is_settled() else ""
    if me:
        group.join(view.code, me)
    story = story_of(view.story)
    if story is None:
        return
    pace.show(story, view.step, timer=False, keys=False)
    pace.heading(story, view.step)
    if view.left:
        plain_text.warning(HAS_LEFT)
        st.button("Read alone", key="read alone", on_click=leave)
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
    """Return bets or marks of the group on this step, by participant."""
    if step.bet is not None:
        return group.bets(view.code, view.place)
    return group.marks(view.code, view.place) if _asks(step) else {}


def _watch(group: Groups, drawn: GroupView, step: Step, answered: bool | None = None) -> None:
    """Follow the presenter twice a second, and count.

    The presenter's page, which knows whether anybody had `answered`, is drawn again for the first who follows and the
    first who answers.
    """
    try:
        view = group.look(drawn.code)
    except ExplanationError as error:
        plain_text.error(str(error))
        return
    if (view.place, view.revealed) != (drawn.place, drawn.revealed):
        reading_state().looked_at = (drawn.story, drawn.step)
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
    """Draw the notes of this step, and all of them as a file."""
    notes = group.notes(view.code)
    here = [note.text for note in notes if note.place == place_name(view.story, view.step)]
    if here:
        plain_text.paragraph(plain_text.Bold("Notes on this step"))
        plain_text.bullets(here)
    if notes:
        st.download_button(
            "All notes, Markdown",
            data=markdown(view, notes),
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
    if edge.is_local(address):
        plain_text.warning(edge.LOCAL_ONLY)
    st.caption(KEEP)


def qr_code(address: str) -> bytes:
    """Return the address as a QR code in a PNG file, made here."""
    file = BytesIO()
    segno.make(address, error="m").save(file, kind="png", scale=8, border=3)
    return file.getvalue()
