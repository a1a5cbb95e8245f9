"""Two networks with an encoder for the text and one for the image: CLIP and FLAVA. A patch cannot be dropped from the
image encoder.

CLIP (Radford et al., 2021) with multi-modal factorised bilinear pooling (MFB; Yu et al., 2017), late fusion:

    z_o = Σ_k dropout((U x) ∘ (V y))_{o,k}      x, y: CLIP's text and image features;  U, V: linear, to O · K numbers
    c   = s / ‖s‖   with  s = sign(z) √|z|      →   MLP head

Image and text meet only here, after both encoders, so there is no attention between them.

FLAVA (Singh et al., 2022), with a multimodal encoder over the tokens of both:

    [CLS] | image token, patches | [CLS] words [SEP]   →   state of the first [CLS] = c   →   MLP head
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from explainers.models.multimodal.network import (
    Block,
    FusionNetwork,
    FusionShape,
    JointStates,
    MultimodalBatch,
    Stream,
    multiplied,
)
from explainers.models.multimodal.preprocessing import Size

SMOOTH = 1e-8  # under the root: its slope at 0 would be infinite


class FactorisedBilinearPooling(nn.Module):
    """(B, 2 · f): features of the text and of the image side by side → c (B, outputs), of length 1."""

    def __init__(self, width: int, factors: int, outputs: int) -> None:
        super().__init__()
        self.text, self.image = (nn.Linear(width, factors * outputs) for _ in range(2))
        self.dropout = nn.Dropout(0.1)
        self.factors = factors

    def forward(self, features: Tensor) -> Tensor:
        text, image = features.chunk(2, dim=1)
        product = self.dropout(self.text(text) * self.image(image))
        z = product.unflatten(1, (-1, self.factors)).sum(dim=2)  # (B, outputs)
        return functional.normalize(z / (z.abs() + SMOOTH).sqrt(), dim=1)


class Clip(FusionNetwork):
    def __init__(
        self, base_model: nn.Module, classes: int, shape: FusionShape, vision: nn.Module | None = None
    ) -> None:
        super().__init__(base_model, classes, shape, vision)
        self.fusion = FactorisedBilinearPooling(self.config.projection_dim, shape.factors, shape.outputs)

    def width(self) -> int:
        return self.shape.outputs

    @property
    def table(self) -> nn.Embedding:
        return cast(nn.Embedding, cast(Any, self.base_model).text_model.embeddings.token_embedding)

    def grid(self, size: Size) -> Size:
        side = self.config.vision_config.patch_size
        return size[0] // side, size[1] // side

    def features(self, batch: MultimodalBatch) -> Tensor:
        clip = cast(Any, self.base_model)
        states = clip.text_model(input_ids=batch.ids, attention_mask=batch.attention.long()).last_hidden_state
        ends = batch.attention.sum(dim=1) - 1  # the end token, from which CLIP reads a text, whatever its id
        text = clip.text_projection(states[torch.arange(len(states), device=states.device), ends])
        image = clip.visual_projection(clip.vision_model(pixel_values=batch.pixels).pooler_output)
        return torch.cat([text, image], dim=1)

    @property
    def streams(self) -> tuple[Stream, ...]:
        clip = cast(Any, self.base_model)
        return (
            Stream(clip.text_model.encoder.layers, self.config.text_config, ("words",)),
            Stream(clip.vision_model.encoder.layers, self.config.vision_config, ("other", "patches")),
        )

    @contextmanager
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> Iterator[None]:
        embeddings = cast(Any, self.base_model).vision_model.embeddings
        with multiplied(self.table, words), multiplied(embeddings.patch_embedding, patches):
            yield


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
