"""Interventions: change the model's internal states, and see whether its narrators follow."""

from app import page_compat
from app.interventions import computations, examples, heading, interchange
from app.interventions.state import interventions_state
from app.session import model_pool

page_compat.navigated()
pool = model_pool()
state = interventions_state()
state.begin()
state.finish()  # before what takes its time

heading.title()
narrated = heading.narrated_model(pool)
among = examples.chosen(narrated)
head = heading.head_info(pool, narrated)
first = computations.find(pool, narrated, head, among)
base, source = examples.base_and_source(among, (first.base, first.source))

interchange.show(pool, narrated, head, among, (base, source), first)
interchange.show_counterfactual(pool, narrated, head, among, base)
