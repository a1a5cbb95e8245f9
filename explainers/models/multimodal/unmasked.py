"""Unmasked images and texts through the encoder, many different ones at a time: for heads, sentences and attention."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from explainers.errors import ExplanationError
from explainers.models.batching import memory_errors
from explainers.models.inputs.encoding import Encoding
from explainers.models.inputs.padded_batch import pad_batch
from explainers.models.multimodal.network import JointStates, MultimodalBatch

if TYPE_CHECKING:
    from explainers.models.multimodal.model import MultimodalModel


def vectors(model: "MultimodalModel", encodings: Iterable[Encoding]) -> tuple[Tensor, Tensor]:
    """c, the vectors that the head reads, (N, d), and the logits (N, C); no gradient."""
    encoded = features(model, encodings)
    with torch.no_grad():
        c: Tensor = model.network.fusion(encoded)
        return c, model.network.head(c)


def features(model: "MultimodalModel", encodings: Iterable[Encoding]) -> Tensor:
    """(N, f): the output of the frozen encoder, below everything that was trained; no gradient."""
    return torch.cat([_features(model, batch) for batch in _same_size_batches(model, encodings)])


def joint_states(model: "MultimodalModel", encoding: Encoding) -> JointStates:
    """The states where words and patches attend to each other, for one input; no gradient."""
    with memory_errors(), torch.inference_mode(), _prepared_batch(model, [encoding]) as prepared:
        states = model.network.joint_states(prepared)
    if states is None:
        raise ExplanationError(
            f"In {model.name} words and patches never attend to each other, so there is no attention to compare. "
            "Choose another method."
        )
    return states


def _features(model: "MultimodalModel", batch: Sequence[Encoding]) -> Tensor:
    with memory_errors(), torch.no_grad(), _prepared_batch(model, batch) as prepared:
        return model.network.features(prepared)


@contextmanager
def _prepared_batch(model: "MultimodalModel", batch: Sequence[Encoding]) -> Iterator[MultimodalBatch]:
    """Unmasked inputs whose images get one size; during the block, what the user has zeroed is zero."""
    texts = pad_batch(
        [replace(each, canvas=None) for each in batch], model.pad_token, model.device
    )  # images follow below
    nothing = model.like.new_ones(1, 0)  # a mask of no units
    images = [
        model.parts(each, "mask", whole=True).apply(nothing, "mask", drops=model.network.drops) for each in batch
    ]  # fmt: skip
    rows, columns = model.network.grid(model.prepared_size(batch[0]))
    scale, kept = (
        _filled(each_part, model.like.new_ones(1, rows, columns))
        for each_part in ([each.scale for each in images], [each.kept for each in images])
    )
    pixels = torch.cat([each.pixels for each in images])
    words = None if bool(texts.nonzero.all()) else texts.nonzero
    with model.meter.locked_batch(model.lock, len(batch)), model.network.scaled(words, scale):
        yield MultimodalBatch(texts.ids, texts.segments, texts.attention, pixels, None if kept is None else kept.bool())


def _filled(tensors: Sequence[Tensor | None], whole: Tensor) -> Tensor | None:
    """Stacked, with `whole` for missing ones; None if all are missing."""
    if all(each is None for each in tensors):
        return None
    return torch.cat([whole if each is None else each.to(whole) for each in tensors])


def _same_size_batches(model: "MultimodalModel", encodings: Iterable[Encoding]) -> Iterator[list[Encoding]]:
    """In their order, as many at once as fit and have images of one prepared size."""
    waiting: list[Encoding] = []
    for each in encodings:
        size, most = model.prepared_size(each), model.rows_at_once(each)
        if waiting and (len(waiting) >= most or model.prepared_size(waiting[0]) != size):
            yield waiting
            waiting = []
        waiting.append(each)
    if waiting:
        yield waiting
