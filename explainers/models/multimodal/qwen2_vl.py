"""Qwen2-VL (Wang et al., 2024) with an MLP head in place of its language model's, as in CAuSE.

    <vision start> patches <vision end> words <end>   →   last (or mean) hidden state = c   →   MLP head

The end token is always there, so that the class is never read from a word that may be erased. There is no chat template
around the text. Images are smaller than in the library, at most 256 patches of 28 × 28 pixels: an explanation costs
hundreds of passes. Patches cannot be dropped: the model needs whole rows and columns. Positions are rotary, and every
layer normalises its input first: with "zero" a token counts in full until its multiplier is exactly 0.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional

from explainers.errors import ExplanationError
from explainers.models.multimodal import network, preprocessing

PATCHES = 256  # at most
LONGEST = 200  # the library's limit for length : width


class Qwen2Vl(network.FusionNetwork):
    ends = True
    causal = True

    def width(self) -> int:
        return int(self.config.text_config.hidden_size)

    @staticmethod
    def prepared(processor: Any) -> preprocessing.Preparation:
        from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

        step, size = processor.patch_size * processor.merge_size, processor.size
        most = min(size.longest_edge, PATCHES * step * step)

        def resized(height: int, width: int) -> preprocessing.Size:
            if max(height, width) > LONGEST * min(height, width):
                raise ExplanationError(f"The image is more than {LONGEST} times as long as wide. Crop it.")
            down, across = smart_resize(height, width, step, size.shortest_edge, most)
            return down, across

        return preprocessing.preparation(processor, resized)

    def grid(self, size: preprocessing.Size) -> preprocessing.Size:
        side = self.config.vision_config.patch_size * self.config.vision_config.spatial_merge_size
        return size[0] // side, size[1] // side

    def features(self, batch: network.MultimodalBatch) -> Tensor:
        _, states, present = self._run(batch)
        if self.shape.reads == "mean":
            shares = present.to(states)[:, :, None]  # (B, T, 1)
            return (states * shares).sum(dim=1) / shares.sum(dim=1)
        return states[torch.arange(len(states), device=states.device), present.sum(dim=1) - 1]

    @contextmanager
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> Iterator[None]:
        merged = self.config.vision_config.spatial_merge_size**2  # embedded patches in a row are one of the model's
        scale = None if patches is None else patches.flatten(1).repeat_interleave(merged, dim=1)
        visual = cast(Any, self.base_model).visual
        with network.multiplied(self.table, words), network.multiplied(visual.patch_embed, scale):
            yield

    @property
    def streams(self) -> tuple[network.Stream, ...]:
        layers = cast(Any, self.base_model).language_model.layers
        return (network.Stream(layers, self.config.text_config, ("other", "patches", "other", "words")),)

    def joint_states(self, batch: network.MultimodalBatch) -> network.JointStates:
        layers = cast(Any, self.base_model).language_model.layers
        with (
            network.recorded(layers) as hidden,
            network.recorded([layer.self_attn for layer in layers], output=1) as attentions,
        ):
            tokens, states, present = self._run(batch)
        text, whole = batch.ids.shape[1], states.shape[1]
        reads = int(present.sum()) - 1 if self.shape.reads == "last" else None
        positions = slice(whole - text, whole), slice(1, whole - text - 1)
        return network.JointStates((tokens, *hidden), tuple(attentions), *positions, reads)

    def _run(self, batch: network.MultimodalBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Embeddings and last hidden states, (B, T, d), and which of them are tokens rather than padding, (B, T)."""
        model, config = cast(Any, self.base_model), self.config
        pixels, sizes = self._cut(batch.pixels)
        patches = model.visual(pixels, grid_thw=sizes).pooler_output.unflatten(0, (len(sizes), -1))  # (B, V, d)
        before = torch.tensor([config.vision_start_token_id, *[config.image_token_id] * patches.shape[1]])
        ids = torch.cat([before, torch.tensor([config.vision_end_token_id])]).to(batch.ids)
        frame = functional.embedding(ids[[0, -1]], self.table.weight).expand(len(sizes), -1, -1)  # (B, 2, d)
        tokens = torch.cat([frame[:, :1], patches, frame[:, 1:], self.table(batch.ids)], dim=1)  # (B, T, d)
        present = functional.pad(batch.attention, (len(ids), 0), value=True)
        whole, kinds = torch.cat([ids, batch.ids[0]])[None], torch.zeros_like(present[:1], dtype=torch.int)
        kinds[:, 1 : len(ids) - 1] = 1  # by position: the text may hold the image's token
        positions, _ = model.get_rope_index(whole, kinds, image_grid_thw=sizes[:1])
        states: Tensor = model.language_model(
            inputs_embeds=tokens,
            attention_mask=present.long(),
            position_ids=positions.expand(-1, len(tokens), -1),
            use_cache=False,
        ).last_hidden_state
        return tokens, states, present

    def _cut(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """(B, 3, h, w) → (B · patches, numbers of one), in the processor's order, and time, rows and columns (B, 3)."""
        vision = self.config.vision_config
        side, merge, time = vision.patch_size, vision.spatial_merge_size, vision.temporal_patch_size
        rows, columns = images.shape[2] // side, images.shape[3] // side
        cut = images.reshape(len(images), -1, rows // merge, merge, side, columns // merge, merge, side)
        cut = cut.permute(0, 2, 5, 3, 6, 1, 4, 7)  # (B, rows / m, columns / m, m, m, 3, side, side)
        still = cut.unsqueeze(6).expand(*(-1,) * 6, time, -1, -1)  # an image is a video of equal frames
        sizes = torch.tensor([[1, rows, columns]], device=images.device).expand(len(images), -1)
        return still.reshape(len(images) * rows * columns, -1), sizes
