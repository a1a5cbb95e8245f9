"""One decision in words: what every narrator that was fitted to the model says about it."""

import time
from collections.abc import Sequence

from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Encoding
from explainers.models.inside import head_reads
from explainers.narrative.measures import content, stem
from explainers.narrative.narrative import Narrative
from explainers.narrative.saying import readings, said
from explainers.narrative.texts import stated, without_label
from explainers.narrative.weights import available, fitted


def narrators(model: FrozenModel) -> tuple[str, ...]:
    """Ids of the narrators that were fitted to this model, in the order of display."""
    return tuple(available(model.name, model.version))


def narrate(model: FrozenModel, encoding: Encoding, method: str) -> Narrative:
    """What one narrator says: the likeliest sentence given the state that the model's head reads of this input."""
    _, narrator = fitted(model, method)
    began = time.perf_counter()
    states, _ = head_reads(model, [encoding])
    sentences = said(narrator, states)
    text = narrator.spoken.text(sentences[0])
    read: tuple[float, ...] = ()
    if narrator.reads:
        read = tuple(readings(narrator, states, sentences).softmax(-1)[0].tolist())
    return Narrative(
        method,
        text,
        stated(text, model.labels),
        read,
        mentions(text, encoding, model.labels),
        time.perf_counter() - began,
    )


def mentions(text: str, encoding: Encoding, labels: Sequence[str]) -> tuple[int, ...]:
    """Units whose word stands in the sentence, in whatever form."""
    known = {stem(word) for word in content(without_label(text, labels))}
    return tuple(
        number
        for number, unit in enumerate(encoding.units)
        if unit.kind == "word" and any(stem(word) in known for word in content(unit.text))
    )
