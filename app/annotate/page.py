"""Who sees what on the Annotate page: invited annotators their items, owners their projects."""

import streamlit as st

from app import plain_text
from app.annotate import actions, projects, session, workbench
from app.annotate.owner import owner_page, project_page, work
from app.annotate.session import AnnotateVisitor
from app.database.faults import StoreUnavailable
from app.login.account import Account
from app.model_pool import ModelPool
from explainers.errors import ExplanationError

LEAVE = "This browser forgets your invitation. Open its link to come back; what you confirmed is kept."
GONE = "This project was deleted by its owner."


def title() -> None:
    st.title("Annotate evidence and judge explanations", anchor=False)


def show(pool: ModelPool, account: Account) -> None:
    """Ends with a sentence if the store fails or the visitor may see nothing. An item that was shown stays."""
    actions.show_problem()
    shown_before = workbench.shown()
    try:
        store = session.annotation_store()
        visitor = session.visitor(store, account)
        if visitor.guest is None:
            owner_page(store, session.preparer(), pool, visitor)
        else:
            _guest_page(visitor)
    except StoreUnavailable as error:
        plain_text.error(str(error))
        if shown_before:
            workbench.hold()
    except ExplanationError as error:
        plain_text.error(str(error))


def _guest_page(visitor: AnnotateVisitor) -> None:
    store, guest = session.annotation_store(), visitor.guest
    project = projects.project(store, guest.project) if guest is not None else None
    if guest is None or project is None:
        plain_text.error(GONE)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        plain_text.caption(f"{project.spec.name}, as {guest.name}")
        st.button("Leave", key="leave", type="tertiary", help=LEAVE, on_click=session.leave)
    if guest.role == "owner":
        project_page(store, session.preparer(), project, visitor)
    else:
        work(store, session.preparer(), project, visitor)
