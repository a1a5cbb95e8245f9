"""Train: teach a method to explain a model, from texts of one's own and without labels."""

from app import page_compat
from app.model_info import model_info
from app.session import model_pool
from app.train import form, texts_form, view

page_compat.navigated()
pool = model_pool()

form.title()
jobs = view.jobs()
spec = form.fit_spec(pool)
texts = texts_form.submitted_texts(model_info(pool, spec.model))
form.start(jobs, spec, texts)

view.trainings(jobs)
