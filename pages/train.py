"""Train: teach a method to explain a model, from texts of one's own and without labels."""

from app import house, order_form, session, training

house.navigated()
engine = session.engine()

order_form.title()
jobs = training.jobs()
order = order_form.order(engine)
given = order_form.examples(engine, order.model)
order_form.start(jobs, order, given)

training.listed(jobs)
