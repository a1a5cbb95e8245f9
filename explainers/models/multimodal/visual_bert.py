"""VisualBERT (Li et al., 2019), early fusion: words and regions of the picture in one BERT.

    [CLS] words [SEP] regions   →   tanh pooler of [CLS] = c   →   MLP head

The paper's regions come from a detector that cannot be installed cleanly today. Here they are the cells of the last
feature map of any vision encoder (grid features; Jiang et al., 2020): ResNet-50 has VisualBERT's 2048 numbers, and
where the widths differ a random projection, drawn once and kept with the head, stands between. VisualBERT was not
trained on such regions, so its head has to make up for that. A cell has seen the whole picture: dropping it alone
("delete") would hide little, so the pixels below it show the mean colour too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.models.multimodal.network import Given, Joint, Network, Shape, multiplied
from explainers.models.multimodal.preparing import Size

FRONT = 8  # tokens at most that stand before the patches, such as [CLS] and registers


class VisualBert(Network):
    drops = True

    def __init__(self, base_model: nn.Module, classes: int, shape: Shape, vision: nn.Module | None = None) -> None:
        if vision is None:
            raise ValueError("VisualBERT reads features of another model's picture encoder.")
        super().__init__(base_model, classes, shape, vision)
        self.eye = cast(Any, vision).config
        self.grids: dict[Size, Size] = {}
        wide = self.eye.hidden_sizes[-1] if hasattr(self.eye, "hidden_sizes") else self.eye.hidden_size
        wanted = self.config.visual_embedding_dim
        self.projection: nn.Module = nn.Identity()
        if wide != wanted:
            self.projection = nn.Linear(wide, wanted, bias=False)
            nn.init.orthogonal_(self.projection.weight)

    def width(self) -> int:
        return int(self.config.hidden_size)

    def grid(self, size: Size) -> Size:
        side = getattr(self.eye, "patch_size", None)
        if isinstance(side, int):
            return size[0] // side, size[1] // side
        if size not in self.grids:
            with torch.inference_mode():  # a convolutional network: only its answer shows its map
                found = self._map(next(self.parameters()).new_zeros(1, 3, *size))
            self.grids[size] = found.shape[2], found.shape[3]
        return self.grids[size]

    def features(self, given: Given) -> Tensor:
        found: Tensor = self._run(given).pooler_output
        return found

    @contextmanager
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> Iterator[None]:
        embeddings = getattr(self.vision, "embeddings", None)
        below = getattr(embeddings, "patch_embeddings", None) or getattr(embeddings, "patch_embedding", None)
        if patches is not None and below is None:
            raise ExplanationError(
                "The operator “zero” needs patches that are embedded one by one, and this model looks at its pictures "
                "with a convolutional network. Choose mask, blur or delete."
            )
        with (
            multiplied(cast(nn.Module, self.base_model.embeddings), words),
            multiplied(below or self, patches),
        ):
            yield

    def joint(self, given: Given) -> Joint:
        found = self._run(given, output_attentions=True, output_hidden_states=True)
        text, whole = given.ids.shape[1], found.hidden_states[0].shape[1]
        return Joint(found.hidden_states, found.attentions, slice(0, text), slice(text, whole))

    def _run(self, given: Given, **wanted: bool) -> Any:
        regions = self.projection(self._map(given.pixels).flatten(2).transpose(1, 2))  # (B, rows · columns, f)
        kept = regions.new_ones(regions.shape[:2]) if given.kept is None else given.kept.flatten(1).to(regions)
        return self.base_model(
            input_ids=given.ids,
            attention_mask=given.attention.to(kept),
            token_type_ids=given.segments,
            visual_embeds=regions,
            visual_attention_mask=kept,
            **wanted,
        )

    def _map(self, pixels: Tensor) -> Tensor:
        """(B, 3, h, w) → (B, f, rows, columns)."""
        found: Tensor = cast(nn.Module, self.vision)(pixel_values=pixels).last_hidden_state
        if found.ndim == 4:
            return found
        rows, columns = self.grid((pixels.shape[2], pixels.shape[3]))
        if not 0 <= found.shape[1] - rows * columns <= FRONT:
            raise ModelUnavailable("The vision encoder does not end in one token for each of its patches.")
        return found[:, -rows * columns :].mT.reshape(len(found), -1, rows, columns)
