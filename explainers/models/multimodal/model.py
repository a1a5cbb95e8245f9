"""A frozen classifier of a picture with a text, behind the same door as those of text.

Its units are the words and then the patches, under one mask. Words are erased as everywhere; in an erased patch's
place stands the picture's mean colour ("mask"), the place without its detail ("blur"), a position without content
("zero"), or no token at all where the architecture can drop one ("delete"; elsewhere the mean colour).
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.errors import ExplanationError
from explainers.models.asking import EMPTY, check_picture
from explainers.models.batching import rows_per_batch
from explainers.models.canvas import NOBODY, Canvas
from explainers.models.classifier import Floats, FrozenModel, States
from explainers.models.encoding import OF_PICTURES, Encoding, Erasure, UnitKind
from explainers.models.erasing import erased, present
from explainers.models.multimodal.blending import Blend, blend
from explainers.models.multimodal.cutting import Cutting, Grid, units
from explainers.models.multimodal.network import Given, Network, blended
from explainers.models.multimodal.preparing import Preparation, Size
from explainers.models.multimodal.whole import joint

UNSEEN = 0.02  # a share of the picture that may be cut away without a word


@dataclass(kw_only=True)
class MultimodalModel(FrozenModel):
    """`module` is a `Network`. `cutting` says into which patches the picture is cut for people."""

    preparation: Preparation
    cutting: Cutting = field(default_factory=Grid)

    @property
    def network(self) -> Network:
        return cast(Network, self.module)

    @property
    def erasures(self) -> tuple[Erasure, ...]:
        return OF_PICTURES

    @property
    def pictured(self) -> bool:
        return True

    def cut_into(self, cutting: Cutting) -> "MultimodalModel":
        """The same model, whose pictures are cut in another way."""
        other = copy.copy(self)
        other.cutting = cutting
        return other

    def encode(self, example: str | Example, unit: UnitKind = "word") -> Encoding:
        """Raises `ExplanationError` where the picture or the text is missing, or a second text is given."""
        given = Example(example) if isinstance(example, str) else example
        check_picture(self.name, given, pictured=True)
        picture = cast(Picture, given.picture)
        text = super().encode(given, unit)
        if not text.units:
            raise ExplanationError(EMPTY)
        pixels = picture.pixels()
        owners, names = self.cutting.cut(pixels)
        canvas = Canvas(pixels, owners + np.int16(len(text.units)))
        return replace(
            text,
            units=text.units + units(owners, names),
            notice=" ".join(filter(None, (text.notice, picture.notice, self._unseen(canvas.size)))),
            picture=picture,
            canvas=canvas,
        )

    def rows_at_once(self, encoding: Encoding) -> int:
        rows, columns = self.network.grid(self.prepared_size(encoding))
        return rows_per_batch(len(encoding.ids) + rows * columns, self.device.type)

    def soft(self, encoding: Encoding, mask: Tensor, erasure: Erasure = "mask") -> Tensor:
        """Logits for differentiable masks in [0, 1]: (B, units) → (B, C).

        Words are blended as embeddings, and patches as pixels, m·x + (1-m)·filler, before the picture is resized and
        normalised; "zero" multiplies both as embeddings. "delete" cannot be soft; it is read as "mask".
        """
        mask, gone = mask.to(self.like), self._scale(present(encoding))
        words = functional.pad(mask, (0, 1), value=1.0)[:, list(encoding.owners)]  # (B, L); fixed tokens read the 1
        scale, share = (words if gone is None else words * gone, None) if erasure == "zero" else (gone, words)
        parts = self.parts(encoding, erasure)
        shown = parts.shown(mask, "mask" if erasure == "delete" else erasure, drops=self.network.drops)
        ids, segments = (
            torch.tensor(each, device=self.device).expand(len(mask), -1) for each in (encoding.ids, encoding.segments)
        )
        given = Given(ids, segments, torch.ones_like(ids).bool(), shown.pixels, shown.kept)
        with (
            self._batch(len(mask)),
            self.network.scaled(scale, shown.scale),
            blended(self.network.table, share, self.filler),
        ):
            found: Tensor = self.network(given)
            return found

    def states(self, encoding: Encoding) -> States:
        """Of the part in which words and patches attend to each other; no gradient."""
        found = joint(self, encoding)
        hidden, attentions = (tuple(layer[0] for layer in each) for each in (found.hidden, found.attentions))
        return States(hidden, attentions, pooled=found.reads is None)

    def received(self, encoding: Encoding, *, last_layer: bool) -> Floats:
        """As for text; a patch receives its share of the attention to each of the model's own patches."""
        found = joint(self, encoding)
        if last_layer and found.reads is not None:
            attention = found.attentions[-1][0].mean(dim=0)[found.reads]  # (T,)
        else:
            layers = found.attentions[-1:] if last_layer else found.attentions
            attention = torch.cat(layers).mean(dim=(0, 1, 2))  # (T,)
        parts = self.parts(encoding, "mask")
        scores = attention.new_zeros(len(encoding.units) + 1)  # fixed tokens, number -1, write into the last
        owners = torch.tensor(encoding.owners, device=self.device) % len(scores)
        scores.index_add_(0, owners, attention[found.words])
        scores[list(parts.units)] += parts.areas.flatten(1) @ attention[found.patches]
        return scores[:-1].double().cpu().numpy()

    def logits(self, ids: Tensor, segments: Sequence[int]) -> Tensor:
        raise ExplanationError(f"{self.name} reads a picture too: it cannot be asked about a text alone.")

    @property
    def like(self) -> Tensor:
        """A tensor on the model's device and in its precision."""
        return next(self.network.parameters())

    def prepared_size(self, encoding: Encoding) -> Size:
        """Height and width of the picture as the model gets it."""
        return self.preparation.size(_canvas(encoding).size)

    def parts(self, encoding: Encoding, erasure: Erasure, *, whole: bool = False) -> Blend:
        """The picture taken apart by its units, or with `whole` in one piece."""
        canvas = _canvas(encoding)
        if whole:
            canvas = replace(canvas, owners=np.full_like(canvas.owners, NOBODY))
        grid = self.network.grid(self.prepared_size(encoding))
        with torch.no_grad():
            return blend(canvas, erasure, self.preparation, grid, self.like)

    def _answering(self, encoding: Encoding, erasure: Erasure) -> Callable[[NDArray[np.bool_]], Tensor]:
        parts = self.parts(encoding, erasure)

        def answer(keeps: NDArray[np.bool_]) -> Tensor:
            of_words: Erasure = "mask" if erasure == "blur" else erasure
            words = erased(encoding, encoding.tokens_kept(keeps), of_words, filler=self.filler, padding=self.padding)
            ids, segments = self._tensor(words.ids), self._tensor(words.segments)
            attention = torch.ones_like(ids) if words.attention is None else self._tensor(words.attention)
            shown = parts.shown(torch.tensor(keeps).to(self.like), erasure, drops=self.network.drops)
            given = Given(ids, segments, attention.bool(), shown.pixels, shown.kept)
            with (
                self._batch(len(keeps)),
                torch.inference_mode(),
                self.network.scaled(self._scale(words.scale), shown.scale),
            ):
                return self._normalised(self.network(given))

        return answer

    def _unseen(self, given: Size) -> str:
        left, top, right, bottom = self.preparation.view(given)
        if (right - left) * (bottom - top) >= (1 - UNSEEN) * given[0] * given[1]:
            return ""
        return "This model does not see the picture's edges: what lies there cannot count."


def _canvas(encoding: Encoding) -> Canvas:
    if encoding.canvas is None:
        raise ValueError("This input has no picture: it was encoded by another model.")
    return encoding.canvas
