"""Whole pictures and texts through the encoder, many different ones at a time: for heads, sentences and attention."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from explainers.errors import ExplanationError
from explainers.models.batching import memory_explained
from explainers.models.encoding import Encoding
from explainers.models.multimodal.network import Given, Joint
from explainers.models.padded import padded

if TYPE_CHECKING:
    from explainers.models.multimodal.model import MultimodalModel


def vectors(model: "MultimodalModel", encodings: Iterable[Encoding]) -> tuple[Tensor, Tensor]:
    """c, the vectors that the head reads, (N, d), and the logits (N, C); no gradient."""
    encoded = features(model, encodings)
    with torch.no_grad():
        found: Tensor = model.network.fusion(encoded)
        return found, model.network.head(found)


def features(model: "MultimodalModel", encodings: Iterable[Encoding]) -> Tensor:
    """(N, f): what the frozen encoder says, without what was trained on top of it; no gradient."""
    return torch.cat([_features(model, batch) for batch in _alike(model, encodings)])


def joint(model: "MultimodalModel", encoding: Encoding) -> Joint:
    """What is inside where words and patches attend to each other, for one input; no gradient."""
    with memory_explained(), torch.inference_mode(), _given(model, [encoding]) as given:
        found = model.network.joint(given)
    if found is None:
        raise ExplanationError(
            f"In {model.name} words and patches never attend to each other, so there is no attention to compare. "
            "Choose another method."
        )
    return found


def _features(model: "MultimodalModel", batch: Sequence[Encoding]) -> Tensor:
    with memory_explained(), torch.no_grad(), _given(model, batch) as given:
        return model.network.features(given)


@contextmanager
def _given(model: "MultimodalModel", batch: Sequence[Encoding]) -> Iterator[Given]:
    """Unmasked inputs whose pictures get one size, while what a person has zeroed is zero."""
    texts = padded([replace(each, canvas=None) for each in batch], model.padding, model.device)  # pictures come below
    nothing = model.like.new_ones(1, 0)  # a mask of no units
    shown = [
        model.parts(each, "mask", whole=True).shown(nothing, "mask", drops=model.network.drops) for each in batch
    ]  # fmt: skip
    rows, columns = model.network.grid(model.prepared_size(batch[0]))
    scale, kept = (
        _filled(found, model.like.new_ones(1, rows, columns))
        for found in ([each.scale for each in shown], [each.kept for each in shown])
    )
    pixels = torch.cat([each.pixels for each in shown])
    words = None if bool(texts.present.all()) else texts.present
    with model.lock, model.meter.batch(len(batch)), model.network.scaled(words, scale):
        yield Given(texts.ids, texts.segments, texts.attention, pixels, None if kept is None else kept.bool())


def _filled(found: Sequence[Tensor | None], whole: Tensor) -> Tensor | None:
    """Side by side; None where nothing is missing of any."""
    if all(each is None for each in found):
        return None
    return torch.cat([whole if each is None else each.to(whole) for each in found])


def _alike(model: "MultimodalModel", encodings: Iterable[Encoding]) -> Iterator[list[Encoding]]:
    """In their order, as many at once as fit and have pictures of one prepared size."""
    waiting: list[Encoding] = []
    for each in encodings:
        size, most = model.prepared_size(each), model.rows_at_once(each)
        if waiting and (len(waiting) >= most or model.prepared_size(waiting[0]) != size):
            yield waiting
            waiting = []
        waiting.append(each)
    if waiting:
        yield waiting
