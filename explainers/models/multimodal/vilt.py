"""ViLT (Kim et al., 2021), single stream: one Transformer over the words' tokens, a picture token and linear patches.

    [CLS] words [SEP] [picture] patches   →   tanh pooler of [CLS] = c   →   the library's classifier, or an MLP head

A patch is one linear map of 32 × 32 pixels, so a patch that is dropped ("delete") is really unknown to the model. The
library puts the patches into a random order, which changes no answer; here they stay in theirs, and chance alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional

from explainers.models.multimodal.network import Given, Joint, Network, Shape, multiplied
from explainers.models.multimodal.preparing import Preparation, Size, compared, preparation

LONGEST = 1333 / 800  # of the longer side, in shorter ones


class Vilt(Network):
    drops = True

    @classmethod
    def answering(cls, module: Any) -> "Vilt":
        """A ViltForQuestionAnswering: its own classifier is the head."""
        found = cls(module.vilt, 1, Shape())
        found.head = module.classifier
        return found

    def width(self) -> int:
        return int(self.config.hidden_size)

    @staticmethod
    def prepared(processor: Any) -> Preparation:
        def resized(height: int, width: int) -> Size:
            scale = processor.size.shortest_edge / min(height, width)
            scale = min(scale, int(LONGEST * processor.size.shortest_edge) / max(height, width))
            step = processor.size_divisor
            down, across = (max(step, int(scale * side + 0.5) // step * step) for side in (height, width))
            return down, across

        return compared(preparation(processor, resized), processor)

    def grid(self, size: Size) -> Size:
        side = self.config.patch_size
        return size[0] // side, size[1] // side

    def features(self, given: Given) -> Tensor:
        found: Tensor = self._run(given).pooler_output
        return found

    @contextmanager
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> Iterator[None]:
        embeddings = cast(Any, self.base_model).embeddings
        with multiplied(embeddings.text_embeddings, words), multiplied(embeddings.patch_embeddings, patches):
            yield

    def joint(self, given: Given) -> Joint:
        found = self._run(given, output_attentions=True, output_hidden_states=True)
        text, whole = given.ids.shape[1], found.hidden_states[0].shape[1]
        return Joint(found.hidden_states, found.attentions, slice(0, text), slice(text + 1, whole))

    def _run(self, given: Given, **wanted: bool) -> Any:
        patches = self._patches(given.pixels)
        present = patches.new_ones(patches.shape[:2])
        if given.kept is not None:
            present = functional.pad(given.kept.flatten(1), (1, 0), value=1.0)
        return self.base_model(
            input_ids=given.ids,
            attention_mask=given.attention.to(present),
            token_type_ids=given.segments,
            image_embeds=patches,
            pixel_mask=present,
            **wanted,
        )

    def _patches(self, pixels: Tensor) -> Tensor:
        """(B, 1 + rows · columns, d): the picture token and the patches, each with its position."""
        embeddings = cast(Any, self.base_model).embeddings
        seen = embeddings.patch_embeddings(pixels)  # (B, d, rows, columns)
        side = int((embeddings.position_embeddings.shape[1] - 1) ** 0.5)
        square = embeddings.position_embeddings[:, 1:].transpose(1, 2).unflatten(2, (side, side))
        places = functional.interpolate(square, size=seen.shape[2:], mode="bilinear", align_corners=True)
        token = (embeddings.cls_token + embeddings.position_embeddings[:, :1]).expand(len(pixels), -1, -1)
        return torch.cat([token, (seen + places).flatten(2).transpose(1, 2)], dim=1)
