"""Train: teach a method to explain a model, from texts of one's own and without labels."""

from app import controls, house, order_form, session, training

house.navigated()
engine = session.engine()

order_form.title()
jobs = training.jobs()
order = order_form.order(engine)
texts = order_form.texts(controls.asks(engine, order.model))
order_form.start(jobs, order, texts)

training.listed(jobs)
