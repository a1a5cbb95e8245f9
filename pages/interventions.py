"""Interventions: change the model's internal states, and see whether its narrators follow."""

from app import page_compat
from app.interventions import counterfactual, examples, heading, interchange
from app.session import model_pool

page_compat.navigated()
pool = model_pool()

heading.title()
narrated = heading.narrated_model(pool)
pairs = examples.chosen(narrated.model)
base, source = examples.base_and_source(pairs)
head = heading.head_info(pool, narrated)

interchange.show(pool, narrated, head, pairs, base, source)
counterfactual.show(pool, narrated, head, pairs, base)
