"""The networks of CLIP and FLAVA, an encoder each for text and image, and of ViLT and VisualBERT, one for both.

CLIP (Radford et al., 2021) with multi-modal factorised bilinear pooling (MFB; Yu et al., 2017), late fusion:

    z_o = Σ_k dropout((U x) ∘ (V y))_{o,k}      x, y: CLIP's text and image features;  U, V: linear, to O · K numbers
    c   = s / ‖s‖   with  s = sign(z) √|z|      →   MLP head

Image and text meet only here, after both encoders, so there is no attention between them. A patch cannot be
dropped from an image encoder.

FLAVA (Singh et al., 2022), with a multimodal encoder over the tokens of both:

    [CLS] | image token, patches | [CLS] words [SEP]   →   state of the first [CLS] = c   →   MLP head

ViLT (Kim et al., 2021): the words' tokens, an image token and linear patches.

    [CLS] words [SEP] [image] patches   →   tanh pooler of [CLS] = c   →   the library's classifier, or an MLP head

A patch is one linear map of 32 × 32 pixels, so a patch that is dropped ("delete") leaves no trace in the others. The
library shuffles the patches, which changes no result; here they keep their order, and the random generator its state.

VisualBERT (Li et al., 2019), early fusion: words and regions of the image in one BERT.

    [CLS] words [SEP] regions   →   tanh pooler of [CLS] = c   →   MLP head

The paper's regions come from a detector that cannot be installed cleanly today. Here they are the cells of the last
feature map of any vision encoder (grid features; Jiang et al., 2020): ResNet-50 has VisualBERT's 2048 numbers, and
where the widths differ, a random projection that is stored with the head lies between. VisualBERT was not trained on
such regions, so its head has to make up for that. A cell depends on the whole image: dropping it alone ("delete") would
hide little, so its pixels get the mean colour too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.models.multimodal import network
from explainers.models.multimodal.preprocessing import Preparation, Size, compared, preparation

SMOOTH = 1e-8  # under the root: its slope at 0 would be infinite
LONGEST = 1333 / 800  # the longer side at most, in shorter sides
FRONT = 8  # tokens at most before the patches, such as [CLS] and registers


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


class Clip(network.FusionNetwork):
    def __init__(
        self, base_model: nn.Module, classes: int, shape: network.FusionShape, vision: nn.Module | None = None
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

    def features(self, batch: network.MultimodalBatch) -> Tensor:
        clip = cast(Any, self.base_model)
        states = clip.text_model(input_ids=batch.ids, attention_mask=batch.attention.long()).last_hidden_state
        ends = batch.attention.sum(dim=1) - 1  # the end token, from which CLIP reads a text, whatever its id
        text = clip.text_projection(states[torch.arange(len(states), device=states.device), ends])
        image = clip.visual_projection(clip.vision_model(pixel_values=batch.pixels).pooler_output)
        return torch.cat([text, image], dim=1)

    @property
    def streams(self) -> tuple[network.Stream, ...]:
        clip = cast(Any, self.base_model)
        return (
            network.Stream(clip.text_model.encoder.layers, self.config.text_config, ("words",)),
            network.Stream(clip.vision_model.encoder.layers, self.config.vision_config, ("other", "patches")),
        )

    @contextmanager
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> Iterator[None]:
        embeddings = cast(Any, self.base_model).vision_model.embeddings
        with network.multiplied(self.table, words), network.multiplied(embeddings.patch_embedding, patches):
            yield


class Flava(network.FusionNetwork):
    unused = ("pooler.",)

    def width(self) -> int:
        return int(self.config.multimodal_config.hidden_size)

    @property
    def table(self) -> nn.Embedding:
        return cast(nn.Embedding, cast(Any, self.base_model).text_model.embeddings.word_embeddings)

    def grid(self, size: Size) -> Size:
        side = self.config.image_config.patch_size
        return size[0] // side, size[1] // side

    def features(self, batch: network.MultimodalBatch) -> Tensor:
        output: Tensor = self._run(batch).last_hidden_state
        return output[:, 0]

    @contextmanager
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> Iterator[None]:
        embeddings = cast(Any, self.base_model).image_model.embeddings
        with network.multiplied(self.table, words), network.multiplied(embeddings.patch_embeddings, patches):
            yield

    @property
    def streams(self) -> tuple[network.Stream, ...]:
        joint = cast(Any, self.base_model).multimodal_model
        order: tuple[network.Block, ...] = (
            "other",
            "patches",
            "words",
        )  # the image's token, and before it [CLS] where it is
        front: tuple[network.Block, ...] = ("other",) if joint.use_cls_token else ()
        return (network.Stream(joint.encoder.layer, self.config.multimodal_config, (*front, *order)),)

    def joint_states(self, batch: network.MultimodalBatch) -> network.JointStates:
        output = self._run(batch, output_attentions=True, output_hidden_states=True)
        text, whole = batch.ids.shape[1], output.hidden_states[0].shape[1]
        rows, columns = self.grid((batch.pixels.shape[2], batch.pixels.shape[3]))
        return network.JointStates(
            output.hidden_states,
            output.attentions,
            words=slice(whole - text, whole),
            patches=slice(whole - text - rows * columns, whole - text),
        )

    def _run(self, batch: network.MultimodalBatch, **options: bool) -> Any:
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


class Vilt(network.FusionNetwork):
    drops = True

    @classmethod
    def from_vqa_model(cls, module: Any) -> "Vilt":
        """A ViltForQuestionAnswering: its own classifier is the head."""
        vilt = cls(module.vilt, 1, network.FusionShape())
        vilt.head = module.classifier
        return vilt

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

    def features(self, batch: network.MultimodalBatch) -> Tensor:
        output: Tensor = self._run(batch).pooler_output
        return output

    @contextmanager
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> Iterator[None]:
        embeddings = cast(Any, self.base_model).embeddings
        with (
            network.multiplied(embeddings.text_embeddings, words),
            network.multiplied(embeddings.patch_embeddings, patches),
        ):
            yield

    @property
    def streams(self) -> tuple[network.Stream, ...]:
        return (network.Stream(cast(Any, self.base_model).encoder.layer, self.config, ("words", "other", "patches")),)

    def joint_states(self, batch: network.MultimodalBatch) -> network.JointStates:
        output = self._run(batch, output_attentions=True, output_hidden_states=True)
        text, whole = batch.ids.shape[1], output.hidden_states[0].shape[1]
        return network.JointStates(output.hidden_states, output.attentions, slice(0, text), slice(text + 1, whole))

    def _run(self, batch: network.MultimodalBatch, **options: bool) -> Any:
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


class VisualBert(network.FusionNetwork):
    drops = True
    needs_vision = True

    def __init__(
        self, base_model: nn.Module, classes: int, shape: network.FusionShape, vision: nn.Module | None = None
    ) -> None:
        if vision is None:
            raise ValueError("VisualBERT reads features of another model's image encoder.")
        super().__init__(base_model, classes, shape, vision)
        self.vision_config = cast(Any, vision).config
        self.grids: dict[Size, Size] = {}
        wide = (
            self.vision_config.hidden_sizes[-1]
            if hasattr(self.vision_config, "hidden_sizes")
            else self.vision_config.hidden_size
        )
        width = self.config.visual_embedding_dim
        self.projection: nn.Module = nn.Identity()
        if wide != width:
            self.projection = nn.Linear(wide, width, bias=False)
            nn.init.orthogonal_(self.projection.weight)

    def width(self) -> int:
        return int(self.config.hidden_size)

    def grid(self, size: Size) -> Size:
        side = getattr(self.vision_config, "patch_size", None)
        if isinstance(side, int):
            return size[0] // side, size[1] // side
        if size not in self.grids:
            with torch.inference_mode():  # only the output of a convolutional network shows its grid
                cells = self._map(next(self.parameters()).new_zeros(1, 3, *size))
            self.grids[size] = cells.shape[2], cells.shape[3]
        return self.grids[size]

    def features(self, batch: network.MultimodalBatch) -> Tensor:
        output: Tensor = self._run(batch).pooler_output
        return output

    @contextmanager
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> Iterator[None]:
        embeddings = getattr(self.vision, "embeddings", None)
        below = getattr(embeddings, "patch_embeddings", None) or getattr(embeddings, "patch_embedding", None)
        if patches is not None and below is None:
            raise ExplanationError(
                "The operator “zero” needs patches that are embedded one by one, and this model reads images with a "
                "convolutional network. Choose mask, blur or delete."
            )
        with (
            network.multiplied(cast(nn.Module, self.base_model.embeddings), words),
            network.multiplied(below or self, patches),
        ):
            yield

    @property
    def streams(self) -> tuple[network.Stream, ...]:
        return (network.Stream(cast(Any, self.base_model).encoder.layer, self.config, ("words", "patches")),)

    def joint_states(self, batch: network.MultimodalBatch) -> network.JointStates:
        output = self._run(batch, output_attentions=True, output_hidden_states=True)
        text, whole = batch.ids.shape[1], output.hidden_states[0].shape[1]
        return network.JointStates(output.hidden_states, output.attentions, slice(0, text), slice(text, whole))

    def _run(self, batch: network.MultimodalBatch, **options: bool) -> Any:
        regions = self.projection(self._map(batch.pixels).flatten(2).transpose(1, 2))  # (B, rows · columns, f)
        kept = regions.new_ones(regions.shape[:2]) if batch.kept is None else batch.kept.flatten(1).to(regions)
        return self.base_model(
            input_ids=batch.ids,
            attention_mask=batch.attention.to(kept),
            token_type_ids=batch.segments,
            visual_embeds=regions,
            visual_attention_mask=kept,
            **options,
        )

    def _map(self, pixels: Tensor) -> Tensor:
        """(B, 3, h, w) → (B, f, rows, columns)."""
        states: Tensor = cast(nn.Module, self.vision)(pixel_values=pixels).last_hidden_state
        if states.ndim == 4:
            return states
        rows, columns = self.grid((pixels.shape[2], pixels.shape[3]))
        if not 0 <= states.shape[1] - rows * columns <= FRONT:
            raise ModelUnavailable("The vision encoder does not end in one token for each of its patches.")
        return states[:, -rows * columns :].mT.reshape(len(states), -1, rows, columns)
