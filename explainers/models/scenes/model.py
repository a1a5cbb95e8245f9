"""`scenes` behind the door of every model: words and patches are tokens of one sequence, one mask lies over both."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.errors import ExplanationError
from explainers.models.asking import EMPTY, check_picture
from explainers.models.batching import memory_explained
from explainers.models.classifier import FrozenModel, States
from explainers.models.encoding import OF_PICTURES, Encoding, Erasure, UnitKind, encode
from explainers.models.erasing import present
from explainers.models.lanes import in_lanes
from explainers.models.scenes.network import SceneNetwork
from explainers.models.scenes.view import joined, seen, viewed
from explainers.models.seen import Seen


@dataclass
class SceneModel(FrozenModel):
    """A single-stream model of pictures with texts. Units are the words, then the patches, row by row."""

    @property
    def erasures(self) -> tuple[Erasure, ...]:
        return OF_PICTURES

    @property
    def pictured(self) -> bool:
        return True

    def encode(self, example: str | Example, unit: UnitKind = "word") -> Encoding:
        """Raises `ExplanationError` if the picture or the text is missing, `DataUnavailable` if it is no picture."""
        given = Example(example) if isinstance(example, str) else example
        check_picture(self.name, given, pictured=True)
        with self.lock:  # a tokenizer's truncation is its state
            words = encode(self.tokenizer, (given.text,), unit)
        if not words.units:
            raise ExplanationError(EMPTY)
        view = viewed(cast(Picture, given.picture))
        found = joined(words, view, seen(cast(SceneNetwork, self.module), view, self.device))
        return replace(found, picture=given.picture)

    def soft(self, encoding: Encoding, mask: Tensor, erasure: Erasure = "mask") -> Tensor:
        """As of every model; "mask" and "blur" blend each patch with its filler as they blend words with [MASK]."""
        owners = torch.tensor(encoding.owners, device=self.device)
        wide = torch.cat([mask.to(self.device), mask.new_ones(len(mask), 1).to(self.device)], dim=1)
        share, gone = wide[:, owners], self._scale(present(encoding))  # (B, L)
        share = share if gone is None else share * gone
        own, filler = self._both(encoding, erasure)  # (1, L, d)
        with self._batch(len(mask)):
            segments = self._segments(encoding, len(mask))
            if erasure == "zero":
                with self._scaled_embeddings(share):
                    return self._logits(inputs_embeds=own.expand(len(mask), -1, -1), segments=segments)
            blend = share[:, :, None]  # (B, L, 1)
            return self._logits(inputs_embeds=blend * own + (1 - blend) * filler, segments=segments)

    def states(self, encoding: Encoding) -> States:
        with (
            memory_explained(),
            self._batch(1),
            torch.inference_mode(),
            self._scaled_embeddings(self._scale(present(encoding))),
        ):
            own, _ = self._both(encoding, "mask")
            found = self.base(
                inputs_embeds=own,
                attention_mask=torch.ones(own.shape[:2], dtype=torch.long, device=self.device),
                output_hidden_states=True,
                output_attentions=True,
                **self._segments(encoding, 1),
            )
        attentions = tuple(layer[0] for layer in found.attentions)
        return States(tuple(layer[0] for layer in found.hidden_states), attentions, self.pooled)

    def _hard(self, encoding: Encoding, keeps: NDArray[np.bool_], erasure: Erasure) -> Tensor:
        kept = torch.from_numpy(encoding.tokens_kept(keeps)).to(self.device)  # (B, L)
        own, filler = self._both(encoding, erasure)  # (1, L, d)
        segments, attention, scale = self._segments(encoding, len(kept)), None, self._scale(present(encoding))
        rows = own.expand(len(kept), -1, -1)
        if erasure == "delete":
            place, real = closed(kept)
            rows = rows.gather(1, place[:, :, None].expand(-1, -1, rows.shape[-1]))
            segments = {name: each.gather(1, place) for name, each in segments.items()}
            attention, scale = real.long(), None
        elif erasure == "zero":
            scale = kept
        else:
            rows = torch.where(kept[:, :, None], own, filler)

        def answered(part: slice) -> Tensor:
            given = {name: each[part] for name, each in segments.items()}
            seen = None if attention is None else attention[part]
            with torch.inference_mode():
                return self._normalised(self._logits(inputs_embeds=rows[part], attention=seen, segments=given))

        with self._batch(len(kept)):
            if scale is None and self.device.type == "cpu":
                return in_lanes(answered, len(kept))
            with self._scaled_embeddings(scale):
                return answered(slice(None))

    def _both(self, encoding: Encoding, erasure: Erasure) -> tuple[Tensor, Tensor]:
        """What stands in each place, and what stands there once it is erased: (1, L, d) each, without position."""
        words, mask = self._word_embeddings(encoding)
        picture = cast(Seen, encoding.seen)
        at = torch.from_numpy(picture.at).to(self.device)[None, :, None]
        own, filler = (torch.from_numpy(part).to(self.device)[None] for part in (picture.own, picture.filler(erasure)))
        return torch.where(at, own, words), torch.where(at, filler, mask)


def closed(kept: Tensor) -> tuple[Tensor, Tensor]:
    """For tokens kept (B, L): the places from which each row is taken, gaps closed, and which of them are real."""
    lengths = kept.sum(1, keepdim=True)
    most = max(int(lengths.max()), 1)
    place = kept.long().sort(dim=1, descending=True, stable=True).indices[:, :most]
    return place, torch.arange(most, device=kept.device) < lengths.clamp(min=1)
