"""ViLT (Kim et al., 2021), single stream: one Transformer over the words' tokens, an image token and linear patches.

    [CLS] words [SEP] [image] patches   →   tanh pooler of [CLS] = c   →   the library's classifier, or an MLP head

A patch is one linear map of 32 × 32 pixels, so a patch that is dropped ("delete") leaves no trace in the others. The
library shuffles the patches, which changes no result; here they keep their order, and the random generator its state.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional

from explainers.models.multimodal.network import (
    FusionNetwork,
    FusionShape,
    JointStates,
    MultimodalBatch,
    Stream,
    multiplied,
)
from explainers.models.multimodal.preprocessing import Preparation, Size, compared, preparation

LONGEST = 1333 / 800  # the longer side at most, in shorter sides


class Vilt(FusionNetwork):
    drops = True

    @classmethod
    def from_vqa_model(cls, module: Any) -> "Vilt":
        """A ViltForQuestionAnswering: its own classifier is the head."""
        network = cls(module.vilt, 1, FusionShape())
        network.head = module.classifier
        return network

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

    def features(self, batch: MultimodalBatch) -> Tensor:
        output: Tensor = self._run(batch).pooler_output
        return output

    @contextmanager
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> Iterator[None]:
        embeddings = cast(Any, self.base_model).embeddings
        with multiplied(embeddings.text_embeddings, words), multiplied(embeddings.patch_embeddings, patches):
            yield

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (Stream(cast(Any, self.base_model).encoder.layer, self.config, ("words", "other", "patches")),)

    def joint_states(self, batch: MultimodalBatch) -> JointStates:
        output = self._run(batch, output_attentions=True, output_hidden_states=True)
        text, whole = batch.ids.shape[1], output.hidden_states[0].shape[1]
        return JointStates(output.hidden_states, output.attentions, slice(0, text), slice(text + 1, whole))

    def _run(self, batch: MultimodalBatch, **options: bool) -> Any:
        patches = self._patches(batch.pixels)
        present = patches.new_ones(patches.shape[:2])
        if batch.kept is not None:
            present = functional.pad(batch.kept.flatten(1), (1, 0), value=1.0)
        return self.base_model(
            input_ids=batch.ids,
            attention_mask=batch.attention.to(present),
            token_type_ids=batch.segments,
            image_embeds=patches,
            pixel_mask=present,
            **options,
        )

    def _patches(self, pixels: Tensor) -> Tensor:
        """(B, 1 + rows · columns, d): the image token and the patches, each with its position."""
        embeddings = cast(Any, self.base_model).embeddings
        patches = embeddings.patch_embeddings(pixels)  # (B, d, rows, columns)
        side = int((embeddings.position_embeddings.shape[1] - 1) ** 0.5)
        square = embeddings.position_embeddings[:, 1:].transpose(1, 2).unflatten(2, (side, side))
        positions = functional.interpolate(square, size=patches.shape[2:], mode="bilinear", align_corners=True)
        token = (embeddings.cls_token + embeddings.position_embeddings[:, :1]).expand(len(pixels), -1, -1)
        return torch.cat([token, (patches + positions).flatten(2).transpose(1, 2)], dim=1)
