"""Annotate: people mark what is evidence, and judge explanations without knowing whose they are."""

from app import page_compat
from app.annotate import page
from app.annotate.state import annotate_state
from app.server.login import current_account
from app.session import model_pool

page_compat.navigated()
account = current_account()

annotate_state().begin()
page.title()
page.show(model_pool(), account)
