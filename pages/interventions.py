"""Interventions: change the model's internal states, and see whether its narrators follow."""

from app import page_compat
from app.interventions import counterfactual, examples, heading, interchange, opening
from app.session import model_pool

page_compat.navigated()
pool = model_pool()

heading.title()
narrated = heading.narrated_model(pool)
among = examples.chosen(narrated)
head = heading.head_info(pool, narrated)
first = opening.find(pool, narrated, head, among)
base, source = examples.base_and_source(among, (first.base, first.source))

interchange.show(pool, narrated, head, among, (base, source), first)
counterfactual.show(pool, narrated, head, among, base)
