"""Train: teach a method to explain a model, from texts of one's own and without labels."""

from app import page_compat
from app.model_info import model_info
from app.server.login import current_account
from app.session import model_pool
from app.train import form, texts_form, view
from app.train.state import train_state

page_compat.navigated()
account = current_account()
pool = model_pool()

state = train_state()
state.begin()

form.title()
jobs = view.jobs()
spec = form.fit_spec(pool)
texts = texts_form.submitted_texts(model_info(pool, spec.model))
state.finish()
form.start(jobs, pool, spec, texts, account)

view.trainings(jobs, account)
