"""What an annotator sees while there is no item to work on: it is being prepared, or nothing is left."""

import streamlit as st

from app import plain_text
from app.annotate import answers, assignment, items
from app.annotate.answers import Confirmation
from app.annotate.downloads import own_download
from app.annotate.preparation import Preparer
from app.annotate.projects import Project
from app.store import Store
from explainers.errors import ExplanationError

LOOK = 1.0  # seconds between two looks at an item that is being prepared
REVISIT, LAST = "annotation revisited", "annotation reply"  # in the session
SKELETON = 380  # pixels; with the sentence above it as tall as `.crosslight-annotate` is at least
WAITING = "The model reads this item. It opens by itself."
FINISHED = "All items are done. Thank you."
NO_MORE = "No other item is left for you. Confirmed: {done:,}, skipped: {skipped:,}. Thank you."
NOTHING = "No item is left for you: others have taken the remaining ones."


def wait(store: Store, preparer: Preparer, project: Project, annotator: int, item: int) -> None:
    """Until the item is prepared, or the reason why it cannot be."""
    st.fragment(run_every=LOOK)(_look)(store, preparer, item)
    skip_button(store, project, annotator, item)


def _look(store: Store, preparer: Preparer, item: int) -> None:
    try:
        known = items.item(store, item)
    except ExplanationError as error:
        plain_text.error(str(error))
        return
    if known is None or known[1] is not None:
        st.rerun(scope="app")
    problem = preparer.problems.get(item)
    if problem:
        plain_text.error(problem)
        st.button("Try again", key="prepare again", on_click=preparer.try_again, args=(item,))
    else:
        preparer.want([item])
        st.caption(WAITING)
        st.skeleton(height=SKELETON)


def finished(store: Store, project: Project, annotator: int) -> None:
    """Nothing is left, except what was skipped."""
    _last_problem()
    done = assignment.progress(store, project.id, annotator, project.spec.overlap)
    if done.done and done.done == project.items:
        plain_text.success(FINISHED)
    elif done.done or done.skipped:
        plain_text.success(NO_MORE.format(done=done.done, skipped=done.skipped))
    else:
        st.info(NOTHING)
    skipped, last = answers.skipped_items(store, annotator), answers.before(store, annotator, None)
    with st.container(horizontal=True):
        if skipped:
            label = f"Go through {len(skipped)} skipped"
            st.button(label, key="skipped items", on_click=st.session_state.update, args=({REVISIT: skipped[0]},))
        if last is not None:
            st.button("Undo", key="undo at end", on_click=st.session_state.update, args=({REVISIT: last},))
            own_download(store, project, annotator)


def skip_button(store: Store, project: Project, annotator: int, item: int) -> None:
    """For an item that cannot be shown."""
    st.button("Skip this item", key="skip unread", on_click=_skip, args=(store, project, annotator, item))
    _last_problem()


def _last_problem() -> None:
    problem = (st.session_state.get(LAST) or {}).get("problem")
    if problem:
        plain_text.error(problem)


def _skip(store: Store, project: Project, annotator: int, item: int) -> None:
    try:
        stored = answers.latest(store, item, annotator)
        task = answers.next_task(stored, project.tasks) or project.tasks[0]
        version = next((each.version for each in stored if each.task == task), 0) + 1
        answers.confirm_new(store, project, annotator, Confirmation(item, task, version, None))
        st.session_state[REVISIT] = None
    except ExplanationError as error:
        st.session_state[LAST] = {"reply": "", "problem": str(error), "stored": ""}
