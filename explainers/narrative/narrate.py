"""One decision in words, by every narrator that was fitted to the model."""

import time
from collections.abc import Sequence

from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.narrative.content_words import content, stem
from explainers.narrative.generation import generate
from explainers.narrative.loading import load_narrator
from explainers.narrative.reconstruction import readings
from explainers.narrative.sentences import read_inputs, stated_class, without_label
from explainers.results.narrative import Narrative
from explainers.training.artifacts import available_artifacts


def narrators(model: FrozenModel) -> tuple[str, ...]:
    """Ids of the narrators that were fitted to this model, in the order of display."""
    return tuple(each.method for each in available_artifacts(model.name, model.version, "narrative"))


def narrate(model: FrozenModel, encoding: Encoding, method: str) -> Narrative:
    """The likeliest sentence, given what the narrator reads of the model."""
    _, narrator = load_narrator(model, method)
    began, waited = time.perf_counter(), model.meter.waited
    inputs, _ = read_inputs(model, [encoding], narrator.layer)
    sentences = generate(narrator, inputs)
    text = narrator.language.text(sentences[0])
    read: tuple[float, ...] = ()
    if narrator.has_reader:
        read = tuple(readings(narrator, inputs, sentences).softmax(-1)[0].tolist())
    return Narrative(
        method,
        text,
        stated_class(text, model.labels),
        read,
        mentions(text, encoding, model.labels),
        time.perf_counter() - began - (model.meter.waited - waited),
    )


def mentions(text: str, encoding: Encoding, labels: Sequence[str]) -> tuple[int, ...]:
    """Indices of the units whose word stands in the sentence, in any form."""
    stems = {stem(word) for word in content(without_label(text, labels))}
    return tuple(
        number
        for number, unit in enumerate(encoding.units)
        if unit.kind == "word" and any(stem(word) in stems for word in content(unit.text))
    )
