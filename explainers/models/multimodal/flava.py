"""FLAVA (Singh et al., 2022): a text encoder, an image encoder, and a multimodal encoder over the tokens of both.

    [CLS] | picture token, patches | [CLS] words [SEP]   →   state of the first [CLS] = c   →   MLP head

A patch cannot be dropped from the image encoder.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from explainers.models.multimodal.network import Given, Joint, Network, multiplied
from explainers.models.multimodal.preparing import Size


class Flava(Network):
    unread = ("pooler.",)

    def width(self) -> int:
        return int(self.config.multimodal_config.hidden_size)

    @property
    def table(self) -> nn.Embedding:
        return cast(nn.Embedding, cast(Any, self.base_model).text_model.embeddings.word_embeddings)

    def grid(self, size: Size) -> Size:
        side = self.config.image_config.patch_size
        return size[0] // side, size[1] // side

    def features(self, given: Given) -> Tensor:
        found: Tensor = self._run(given).last_hidden_state
        return found[:, 0]

    @contextmanager
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> Iterator[None]:
        embeddings = cast(Any, self.base_model).image_model.embeddings
        with multiplied(self.table, words), multiplied(embeddings.patch_embeddings, patches):
            yield

    def joint(self, given: Given) -> Joint:
        found = self._run(given, output_attentions=True, output_hidden_states=True)
        text, whole = given.ids.shape[1], found.hidden_states[0].shape[1]
        rows, columns = self.grid((given.pixels.shape[2], given.pixels.shape[3]))
        return Joint(
            found.hidden_states,
            found.attentions,
            words=slice(whole - text, whole),
            patches=slice(whole - text - rows * columns, whole - text),
        )

    def _run(self, given: Given, **wanted: bool) -> Any:
        """As FlavaModel does, which keeps its attention to itself: states without their last LayerNorm are joined."""
        flava = cast(Any, self.base_model)
        text = flava.text_model(
            input_ids=given.ids,
            attention_mask=given.attention.to(flava.logit_scale),
            token_type_ids=given.segments,
            output_hidden_states=True,
        ).hidden_states[-1]
        picture = flava.image_model(pixel_values=given.pixels, output_hidden_states=True).hidden_states[-1]
        tokens = torch.cat([flava.image_to_mm_projection(picture), flava.text_to_mm_projection(text)], dim=1)
        before = tokens.shape[1] + int(flava.multimodal_model.use_cls_token) - text.shape[1]
        attention = functional.pad(given.attention, (before, 0), value=True).to(tokens)
        return flava.multimodal_model(tokens, attention_mask=attention, **wanted)
