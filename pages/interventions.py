"""Interventions: change the model from the inside, and see whether its sentences notice."""

from app import exchanging, house, interventions, pair_sets, session, switched

house.navigated()
engine = session.engine()

interventions.title()
speaker = interventions.speaker(engine)
pairs = pair_sets.chosen(speaker.model)
base, source = pair_sets.base_and_source(pairs)
known = interventions.about(engine, speaker)

exchanging.show(engine, speaker, known, pairs, base, source)
switched.show(engine, speaker, known, pairs, base)
