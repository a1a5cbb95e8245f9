"""FLAVA (Singh et al., 2022): a text encoder, an image encoder, and a multimodal encoder over the tokens of both.

    [CLS] | image token, patches | [CLS] words [SEP]   →   state of the first [CLS] = c   →   MLP head

A patch cannot be dropped from the image encoder.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from explainers.models.multimodal.network import Block, FusionNetwork, JointStates, MultimodalBatch, Stream, multiplied
from explainers.models.multimodal.preprocessing import Size


class Flava(FusionNetwork):
    unused = ("pooler.",)

    def width(self) -> int:
        return int(self.config.multimodal_config.hidden_size)

    @property
    def table(self) -> nn.Embedding:
        return cast(nn.Embedding, cast(Any, self.base_model).text_model.embeddings.word_embeddings)

    def grid(self, size: Size) -> Size:
        side = self.config.image_config.patch_size
        return size[0] // side, size[1] // side

    def features(self, batch: MultimodalBatch) -> Tensor:
        output: Tensor = self._run(batch).last_hidden_state
        return output[:, 0]

    @contextmanager
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> Iterator[None]:
        embeddings = cast(Any, self.base_model).image_model.embeddings
        with multiplied(self.table, words), multiplied(embeddings.patch_embeddings, patches):
            yield

    @property
    def streams(self) -> tuple[Stream, ...]:
        joint = cast(Any, self.base_model).multimodal_model
        order: tuple[Block, ...] = ("other", "patches", "words")  # the image's token, and before it [CLS] where it is
        front: tuple[Block, ...] = ("other",) if joint.use_cls_token else ()
        return (Stream(joint.encoder.layer, self.config.multimodal_config, (*front, *order)),)

    def joint_states(self, batch: MultimodalBatch) -> JointStates:
        output = self._run(batch, output_attentions=True, output_hidden_states=True)
        text, whole = batch.ids.shape[1], output.hidden_states[0].shape[1]
        rows, columns = self.grid((batch.pixels.shape[2], batch.pixels.shape[3]))
        return JointStates(
            output.hidden_states,
            output.attentions,
            words=slice(whole - text, whole),
            patches=slice(whole - text - rows * columns, whole - text),
        )

    def _run(self, batch: MultimodalBatch, **options: bool) -> Any:
        """Like FlavaModel, which does not return the joint attention; the states joined lack the last LayerNorm."""
        flava = cast(Any, self.base_model)
        text = flava.text_model(
            input_ids=batch.ids,
            attention_mask=batch.attention.to(flava.logit_scale),
            token_type_ids=batch.segments,
            output_hidden_states=True,
        ).hidden_states[-1]
        image = flava.image_model(pixel_values=batch.pixels, output_hidden_states=True).hidden_states[-1]
        tokens = torch.cat([flava.image_to_mm_projection(image), flava.text_to_mm_projection(text)], dim=1)
        before = tokens.shape[1] + int(flava.multimodal_model.use_cls_token) - text.shape[1]
        attention = functional.pad(batch.attention, (before, 0), value=True).to(tokens)
        return flava.multimodal_model(tokens, attention_mask=attention, **options)
