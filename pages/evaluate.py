"""Evaluate: which method to use for a model, over a person's own data, and what the model looks at."""

from app import page_compat
from app.evaluate import form, view
from app.evaluate.state import evaluate_state
from app.server.login import current_account
from app.session import model_pool
from app.train.view import jobs

page_compat.navigated()
account = current_account()
pool = model_pool()

state = evaluate_state()
state.begin()

form.title()
evaluations = view.evaluations(jobs(), account)
overview = evaluations.overview()
with view.place_of_form(overview):
    spec, data, info = form.form(pool)
    state.finish()
    started = form.start(evaluations.jobs, pool, account, spec, data, info)

evaluations.show(evaluations.overview() if started else overview)
