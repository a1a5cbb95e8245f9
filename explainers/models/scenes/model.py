"""`scenes` as a `FrozenModel`: words and patches are tokens of one sequence, and one mask covers both."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explainers.datasets.example import Example
from explainers.datasets.image import InputImage
from explainers.errors import ExplanationError
from explainers.models.batching import map_rows_in_threads, memory_errors
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.canvas import PatchEmbeddings
from explainers.models.inputs.encoding import (
    MULTIMODAL_ERASURES,
    Encoding,
    Erasure,
    UnitKind,
    encode,
)
from explainers.models.inputs.erasure import nonzero_mask
from explainers.models.inputs.requirements import EMPTY_TEXT, check_image
from explainers.models.scenes.image_view import embed_patches, fit_image, join_inputs
from explainers.models.scenes.network import SceneNetwork
from explainers.models.states import States


@dataclass
class SceneModel(FrozenModel):
    """A single-stream model of images with texts. Units are the words, then the patches, row by row."""

    @property
    def erasures(self) -> tuple[Erasure, ...]:
        return MULTIMODAL_ERASURES

    @property
    def multimodal(self) -> bool:
        return True

    def encode(self, example: str | Example, unit: UnitKind = "word", *, windows: bool = False) -> Encoding:
        """Raises `ExplanationError` if image or text is missing, `DataUnavailable` if the image cannot be read."""
        example = Example(example) if isinstance(example, str) else example
        check_image(self.name, example, multimodal=True)
        with self.lock:  # a tokenizer's truncation is its state
            words = encode(self.tokenizer, (example.text,), unit)
        if not words.units:
            raise ExplanationError(EMPTY_TEXT)
        fitted = fit_image(cast(InputImage, example.image))
        encoding = join_inputs(words, fitted, embed_patches(cast(SceneNetwork, self.module), fitted, self.device))
        return replace(encoding, image=example.image)

    def soft(self, encoding: Encoding, mask: Tensor, erasure: Erasure = "mask") -> Tensor:
        """As for text; "mask" and "blur" blend each patch with its replacement as they blend words with [MASK]."""
        owners = torch.tensor(encoding.owners, device=self.device)
        wide = torch.cat([mask.to(self.device), mask.new_ones(len(mask), 1).to(self.device)], dim=1)
        share, nonzero = wide[:, owners], self._scale(nonzero_mask(encoding))  # (B, L)
        share = share if nonzero is None else share * nonzero
        embedded, mask_token = self._both(encoding, erasure)  # (1, L, d)
        with self._batch(len(mask)):
            segments = self._segments(encoding, len(mask))
            if erasure == "zero":
                with self._scaled_embeddings(share):
                    return self._logits(inputs_embeds=embedded.expand(len(mask), -1, -1), segments=segments)
            blend = share[:, :, None]  # (B, L, 1)
            return self._logits(inputs_embeds=blend * embedded + (1 - blend) * mask_token, segments=segments)

    def states(self, encoding: Encoding) -> States:
        with (
            memory_errors(),
            self._batch(1),
            torch.inference_mode(),
            self._scaled_embeddings(self._scale(nonzero_mask(encoding))),
        ):
            embedded, _ = self._both(encoding, "mask")
            output = self.base(
                inputs_embeds=embedded,
                attention_mask=torch.ones(embedded.shape[:2], dtype=torch.long, device=self.device),
                output_hidden_states=True,
                output_attentions=True,
                **self._segments(encoding, 1),
            )
        attentions = tuple(layer[0] for layer in output.attentions)
        return States(tuple(layer[0] for layer in output.hidden_states), attentions, self.mean_pooled)

    def _hard(self, encoding: Encoding, keeps: NDArray[np.bool_], erasure: Erasure) -> Tensor:
        kept = torch.from_numpy(encoding.tokens_kept(keeps)).to(self.device)  # (B, L)
        embedded, mask_token = self._both(encoding, erasure)  # (1, L, d)
        segments, attention, scale = self._segments(encoding, len(kept)), None, self._scale(nonzero_mask(encoding))
        rows = embedded.expand(len(kept), -1, -1)
        if erasure == "delete":
            positions, real = close_gaps(kept)
            rows = rows.gather(1, positions[:, :, None].expand(-1, -1, rows.shape[-1]))
            segments = {name: segment.gather(1, positions) for name, segment in segments.items()}
            attention, scale = real.long(), None
        elif erasure == "zero":
            scale = kept
        else:
            rows = torch.where(kept[:, :, None], embedded, mask_token)

        def answer(rows_part: slice) -> Tensor:
            types = {name: segment[rows_part] for name, segment in segments.items()}
            attended = None if attention is None else attention[rows_part]
            with torch.inference_mode(), self._products():
                return self._normalised(self._logits(inputs_embeds=rows[rows_part], attention=attended, segments=types))

        with self._batch(len(kept)):
            if scale is None and self.device.type == "cpu":
                return map_rows_in_threads(answer, len(kept))
            with self._scaled_embeddings(scale):
                return answer(slice(None))

    def _both(self, encoding: Encoding, erasure: Erasure) -> tuple[Tensor, Tensor]:
        """The embedding of each token, and what replaces it once it is erased: (1, L, d) each, without positions."""
        words, mask = self._word_embeddings(encoding)
        image = cast(PatchEmbeddings, encoding.patch_embeddings)
        at = torch.from_numpy(image.is_patch).to(self.device)[None, :, None]
        embedded, mask_token = (
            torch.from_numpy(part).to(self.device)[None] for part in (image.embeddings, image.replacement(erasure))
        )
        return torch.where(at, embedded, words), torch.where(at, mask_token, mask)


def close_gaps(kept: Tensor) -> tuple[Tensor, Tensor]:
    """For tokens kept (B, L): the positions of each row's tokens without gaps, and which of them are real."""
    lengths = kept.sum(1, keepdim=True)
    most = max(int(lengths.max()), 1)
    positions = kept.long().sort(dim=1, descending=True, stable=True).indices[:, :most]
    return positions, torch.arange(most, device=kept.device) < lengths.clamp(min=1)
