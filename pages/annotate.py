"""Annotate: people mark what is evidence, and judge explanations without knowing whose they are."""

from app import page_compat
from app.annotate import page, session
from app.server.login import current_account
from app.session import model_pool

page_compat.navigated()
account = current_account()

session.annotate_state().begin()
page.title()
page.show(model_pool(), account)
