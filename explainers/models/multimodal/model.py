"""A frozen classifier of an image with a text, behind the same interface as those of text.

Its units are the words and then the patches, under one mask. Words are erased as in text models; an erased patch is
replaced by the image's mean colour ("mask"), by itself without detail ("blur"), by a position without content ("zero"),
or by no token at all if the architecture can drop one ("delete"; otherwise the mean colour).

Heads, sentences and attention need unmasked inputs, many different ones at a time: `vectors`, `features` and
`joint_states`. The learned methods need them with soft masks and changed states: `multimodal_internals`.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from explainers.datasets.example import Example, InputImage
from explainers.errors import ExplanationError, InputRefused
from explainers.models import batching, internals
from explainers.models.frozen_model import Floats, FrozenModel
from explainers.models.inputs import padded_batch, requirements
from explainers.models.inputs.canvas import NO_OWNER, Canvas
from explainers.models.inputs.encoding import MULTIMODAL_ERASURES, Encoding, Erasure, UnitKind
from explainers.models.inputs.erasure import erased_inputs, nonzero_mask
from explainers.models.multimodal import blending, positions, preprocessing
from explainers.models.multimodal.network import FusionNetwork, JointStates, MultimodalBatch, blended
from explainers.models.states import States

CROPPED = 0.02  # the share of the image that may be cropped without a warning
NO_JOINT_ATTENTION = (
    "In {} words and patches never attend to each other, so there is no attention to compare. Choose another method."
)


@dataclass(kw_only=True)
class MultimodalModel(FrozenModel):
    """`module` is a `FusionNetwork`. `patching` cuts the image into units."""

    preparation: preprocessing.Preparation
    patching: blending.Patching = field(default_factory=blending.Grid)

    @property
    def network(self) -> FusionNetwork:
        return cast(FusionNetwork, self.module)

    @property
    def erasures(self) -> tuple[Erasure, ...]:
        return MULTIMODAL_ERASURES

    @property
    def multimodal(self) -> bool:
        return True

    @property
    def causal(self) -> bool:
        return self.network.causal

    @property
    def takes_embeddings(self) -> bool:
        return False

    @property
    def layer_config(self) -> Any:
        """Raises `ExplanationError` if words and patches go through layers apart from each other."""
        streams = self.network.streams
        if len(streams) > 1:
            raise ExplanationError(NO_JOINT_ATTENTION.format(self.name))
        return streams[0].config

    def padded(self, encodings: Sequence[Encoding]) -> positions.UnitBatch:
        """Positions of words and patches. Raises `ExplanationError` if the states of the layers cannot be read."""
        like = torch.zeros((), device=self.device)
        areas = [
            blending.unit_areas(
                _canvas(encoding), self.preparation, self.network.grid(self.prepared_size(encoding)), like
            )
            for encoding in encodings
        ]
        return positions.unit_batch(self.network.streams, encodings, areas, self.pad_token, like)

    def with_patching(self, cutting: blending.Patching) -> "MultimodalModel":
        """The same model with another patching."""
        other = copy.copy(self)
        other.patching = cutting
        return other

    def encode(self, example: str | Example, unit: UnitKind = "word", *, windows: bool = False) -> Encoding:
        """Raises `InputRefused` if image or text is missing, or there is a second text."""
        example = Example(example) if isinstance(example, str) else example
        requirements.check_image(self.name, example, multimodal=True)
        image = cast(InputImage, example.image)
        text = super().encode(example, unit)
        if not text.units:
            raise InputRefused(requirements.EMPTY_TEXT)
        pixels = image.pixels()
        owners, names = self.patching.patch_owners(pixels)
        canvas = Canvas(pixels, owners + np.int16(len(text.units)))
        return replace(
            text,
            units=text.units + blending.units(owners, names),
            warning=" ".join(filter(None, (text.warning, image.warning, self._crop_warning(canvas.size)))),
            image=image,
            canvas=canvas,
        )

    def rows_at_once(self, encoding: Encoding, *, gradient: bool = True) -> int:
        rows, columns = self.network.grid(self.prepared_size(encoding))
        return self._rows(len(encoding.ids) + rows * columns, gradient=gradient)

    def soft(self, encoding: Encoding, mask: Tensor, erasure: Erasure = "mask") -> Tensor:
        """Logits for differentiable masks in [0, 1]: (B, units) → (B, C).

        Words are blended as embeddings, and patches as pixels, m·x + (1-m)·replacement, before the image is resized and
        normalised; "zero" multiplies both as embeddings. "delete" cannot be soft; it is read as "mask".
        """
        mask, nonzero = mask.to(self.like), self._scale(nonzero_mask(encoding))
        words = functional.pad(mask, (0, 1), value=1.0)[:, list(encoding.owners)]  # (B, L); fixed tokens read the 1
        scale, share = (words if nonzero is None else words * nonzero, None) if erasure == "zero" else (nonzero, words)
        parts = self.parts(encoding, erasure)
        masked = parts.apply(mask, "mask" if erasure == "delete" else erasure, drops=self.network.drops)
        ids, segments = (
            torch.tensor(row, device=self.device).expand(len(mask), -1) for row in (encoding.ids, encoding.segments)
        )
        batch = MultimodalBatch(ids, segments, torch.ones_like(ids).bool(), masked.pixels, masked.kept)
        with (
            self._batch(len(mask)),
            self.network.scaled(scale, masked.scale),
            blended(self.network.table, share, self.mask_token),
        ):
            logits: Tensor = self.network(batch)
            return logits

    def states(self, encoding: Encoding) -> States:
        """The states of the layers in which words and patches attend to each other; no gradient."""
        states = joint_states(self, encoding)
        hidden, attentions = (tuple(layer[0] for layer in layers) for layers in (states.hidden, states.attentions))
        return States(hidden, attentions, mean_pooled=states.reads is None)

    def attention_received(self, encoding: Encoding, *, last_layer: bool) -> Floats:
        """As for text; a patch receives its share of the attention to each of the model's own patches."""
        states = joint_states(self, encoding)
        if last_layer and states.reads is not None:
            attention = states.attentions[-1][0].mean(dim=0)[states.reads]  # (T,)
        else:
            layers = states.attentions[-1:] if last_layer else states.attentions
            attention = torch.cat(layers).mean(dim=(0, 1, 2))  # (T,)
        parts = self.parts(encoding, "mask")
        scores = attention.new_zeros(len(encoding.units) + 1)  # fixed tokens, number -1, use the last
        owners = torch.tensor(encoding.owners, device=self.device) % len(scores)
        scores.index_add_(0, owners, attention[states.words])
        scores[list(parts.units)] += parts.areas.flatten(1) @ attention[states.patches]
        return scores[:-1].double().cpu().numpy()

    def logits(self, ids: Tensor, segments: Sequence[int]) -> Tensor:
        raise ExplanationError(f"{self.name} reads an image too: it cannot classify a text alone.")

    @property
    def like(self) -> Tensor:
        """A tensor on the model's device and in its precision."""
        return next(self.network.parameters())

    def prepared_size(self, encoding: Encoding) -> preprocessing.Size:
        """Height and width of the prepared image."""
        return self.preparation.size(_canvas(encoding).size)

    def parts(self, encoding: Encoding, erasure: Erasure, *, whole: bool = False) -> blending.Blend:
        """The image decomposed by its units, or with `whole` in one piece."""
        canvas = _canvas(encoding)
        if whole:
            canvas = replace(canvas, owners=np.full_like(canvas.owners, NO_OWNER))
        grid = self.network.grid(self.prepared_size(encoding))
        with torch.no_grad():
            return blending.blend(canvas, erasure, self.preparation, grid, self.like)

    def _answering(self, encoding: Encoding, erasure: Erasure) -> Callable[[NDArray[np.bool_]], Tensor]:
        parts = self.parts(encoding, erasure)

        def answer(keeps: NDArray[np.bool_]) -> Tensor:
            of_words: Erasure = "mask" if erasure == "blur" else erasure
            words = erased_inputs(
                encoding, encoding.tokens_kept(keeps), of_words, mask_token=self.mask_token, pad_token=self.pad_token
            )
            ids, segments = self._tensor(words.ids), self._tensor(words.segments)
            attention = torch.ones_like(ids) if words.attention is None else self._tensor(words.attention)
            masked = parts.apply(torch.tensor(keeps).to(self.like), erasure, drops=self.network.drops)
            batch = MultimodalBatch(ids, segments, attention.bool(), masked.pixels, masked.kept)
            with (
                self._batch(len(keeps)),
                torch.inference_mode(),
                self.network.scaled(self._scale(words.scale), masked.scale),
                self._products(),
            ):
                return self._normalised(self.network(batch))

        return answer

    def _crop_warning(self, size: preprocessing.Size) -> str:
        left, top, right, bottom = self.preparation.visible_area(size)
        if (right - left) * (bottom - top) >= (1 - CROPPED) * size[0] * size[1]:
            return ""
        return "This model does not read the edges of the image: what is there cannot count."


def _canvas(encoding: Encoding) -> Canvas:
    if encoding.canvas is None:
        raise ValueError("This input has no image: it was encoded by another model.")
    return encoding.canvas


@internals.head_inputs.register
def multimodal_head_inputs(model: MultimodalModel, encodings: Sequence[Encoding]) -> tuple[Tensor, Tensor]:
    """Return c and the logits, as for text."""
    internals.classifier_head(model)  # raises where there is none
    return vectors(model, encodings)


def vectors(model: MultimodalModel, encodings: Iterable[Encoding]) -> tuple[Tensor, Tensor]:
    """c, the vectors that the head reads, (N, d), and the logits (N, C); no gradient."""
    encoded = features(model, encodings)
    with torch.no_grad():
        c: Tensor = model.network.fusion(encoded)
        return c, model.network.head(c)


def features(model: MultimodalModel, encodings: Iterable[Encoding]) -> Tensor:
    """(N, f): the output of the frozen encoder, below everything that was trained; no gradient."""
    return torch.cat([_features(model, batch) for batch in _same_size_batches(model, encodings)])


def joint_states(model: MultimodalModel, encoding: Encoding) -> JointStates:
    """The states where words and patches attend to each other, for one input; no gradient."""
    with batching.memory_errors(), torch.inference_mode(), _prepared_batch(model, [encoding]) as prepared:
        states = model.network.joint_states(prepared)
    if states is None:
        raise ExplanationError(NO_JOINT_ATTENTION.format(model.name))
    return states


def _features(model: MultimodalModel, batch: Sequence[Encoding]) -> Tensor:
    with batching.memory_errors(), torch.no_grad(), _prepared_batch(model, batch) as prepared:
        return model.network.features(prepared)


@internals.layer_count.register
def multimodal_layer_count(model: MultimodalModel) -> int:
    """As for text; of streams with different numbers of layers the smallest."""
    return min(len(stream.layers) for stream in model.network.streams)


@internals.hidden_size.register
def multimodal_hidden_size(model: MultimodalModel) -> int:
    """As for text; of streams with different sizes the largest."""
    return max(int(stream.config.hidden_size) for stream in model.network.streams)


@internals.forward_with_soft_mask.register
def multimodal_soft_mask(
    model: MultimodalModel, batch: positions.UnitBatch, mask: Tensor, replacement: Tensor | None = None
) -> internals.Internals:
    """As for text; patches are blended as pixels, as in `soft`."""
    if replacement is not None:
        raise ValueError("patches are replaced as pixels, not by embeddings")
    return multimodal_internals(model, batch, mask=mask)


@internals.forward_with_internals.register
def multimodal_internals(
    model: MultimodalModel,
    batch: positions.UnitBatch,
    *,
    embedding_output: Tensor | None = None,
    scale: Tensor | None = None,
    layer_output: tuple[int, Tensor] | None = None,
    mask: Tensor | None = None,
) -> internals.Internals:
    """As for text, for positions; `embedding_output` is the input of the layers in which words and patches meet, or of
    each stream's. `mask` (B, U) is that of `forward_with_soft_mask`."""
    changes = positions.Changes(mask, scale, embedding_output, layer_output)
    groups: dict[preprocessing.Size, list[int]] = {}
    for row, encoding in enumerate(batch.encodings):
        groups.setdefault(model.prepared_size(encoding), []).append(row)
    return positions.joined(
        [_internals(model, batch, rows, changes.of(rows)) for rows in groups.values()], groups.values()
    )


def _internals(
    model: MultimodalModel, batch: positions.UnitBatch, rows: Sequence[int], changes: positions.Changes
) -> internals.Internals:
    """For rows of a batch whose images get one size."""
    encodings = [batch.encodings[row] for row in rows]
    streams, grid = model.network.streams, model.network.grid(model.prepared_size(encodings[0]))
    places = positions.positions(streams, batch, rows, grid)
    record = internals.Record()
    with ExitStack() as stack:
        if changes.is_empty:
            stack.enter_context(torch.no_grad())
        factors = None if changes.scale is None else places.factors(changes.scale, grid)
        prepared = stack.enter_context(_prepared_batch(model, encodings, changes.mask, factors))
        records = stack.enter_context(positions.recorded_streams(streams, places, changes))
        if len(streams) == 1:  # else there is no attention between words and patches
            for layer in streams[0].layers:
                internals.record_projections(stack, model, record, layer)
        stack.enter_context(internals.matrix_products(model.device))
        logits = model.network(prepared)
    hidden = positions.position_states(places, records, multimodal_hidden_size(model))
    return internals.Internals(
        logits, hidden, *(tuple(map(places.of, states)) for states in (record.queries, record.keys))
    )


@contextmanager
def _prepared_batch(
    model: MultimodalModel,
    batch: Sequence[Encoding],
    mask: Tensor | None = None,
    factors: tuple[Tensor, Tensor] | None = None,
) -> Iterator[MultimodalBatch]:
    """Inputs whose images get one size; during the block, what the user has zeroed is zero.

    `mask` (B, units) blends words and pixels with what replaces them, and `factors`, (B, L) and (B, rows, columns),
    multiply the embeddings of words and of the model's own patches.
    """
    texts = padded_batch.pad_batch(
        [replace(encoding, canvas=None) for encoding in batch], model.pad_token, model.device
    )  # images follow below
    nothing = model.like.new_ones(1, 0)  # a mask of no units
    images = [
        model.parts(encoding, "mask", whole=True).apply(nothing, "mask", drops=model.network.drops)
        for encoding in batch
    ]
    rows, columns = model.network.grid(model.prepared_size(batch[0]))
    scale, kept = (
        _filled(values, model.like.new_ones(1, rows, columns))
        for values in ([image.scale for image in images], [image.kept for image in images])
    )
    pixels = torch.cat([image.pixels for image in images])
    words, share = None if bool(texts.nonzero.all()) else texts.nonzero, None
    if mask is not None:
        share = texts.spread(mask[:, : texts.units.shape[1]])
        pixels = torch.stack(
            [
                blending.painted(_canvas(encoding), "mask", model.preparation, row.to(model.like))
                for encoding, row in zip(batch, mask, strict=True)
            ]
        )
    if factors is not None:
        words = factors[0] if words is None else factors[0] * words
        scale = factors[1] if scale is None else scale - (1 - factors[1])
    with (
        model.meter.locked_batch(model.lock, len(batch)),
        model.network.scaled(words, scale),
        blended(model.network.table, share, model.mask_token),
    ):
        yield MultimodalBatch(texts.ids, texts.segments, texts.attention, pixels, None if kept is None else kept.bool())


def _filled(tensors: Sequence[Tensor | None], whole: Tensor) -> Tensor | None:
    """Stacked, with `whole` for missing ones; None if all are missing."""
    if all(tensor is None for tensor in tensors):
        return None
    return torch.cat([whole if tensor is None else tensor.to(whole) for tensor in tensors])


def _same_size_batches(model: MultimodalModel, encodings: Iterable[Encoding]) -> Iterator[list[Encoding]]:
    """In their order, as many at once as fit and have images of one prepared size."""
    waiting: list[Encoding] = []
    for encoding in encodings:
        size, most = model.prepared_size(encoding), model.rows_at_once(encoding)
        if waiting and (len(waiting) >= most or model.prepared_size(waiting[0]) != size):
            yield waiting
            waiting = []
        waiting.append(encoding)
    if waiting:
        yield waiting
