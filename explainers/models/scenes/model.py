"""`scenes` as a `FrozenModel`: words and patches are tokens of one sequence, and one mask covers both.

An image is fitted into 400 × 100 pixels, of which the model reads three squares as 48 patches.
"""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageFilter
from torch import Tensor

from explainers.datasets.example import Example, InputImage
from explainers.datasets.scenes.world import HEIGHT, LEFTS, PAPER, SIDE, WIDTH
from explainers.errors import InputRefused
from explainers.models.batching import map_rows_in_threads, memory_errors
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.canvas import PatchEmbeddings
from explainers.models.inputs.encoding import (
    MULTIMODAL_ERASURES,
    NO_UNIT,
    Encoding,
    Erasure,
    Unit,
    UnitKind,
    encode,
)
from explainers.models.inputs.erasure import nonzero_mask
from explainers.models.inputs.requirements import EMPTY_TEXT, check_image
from explainers.models.scenes.network import COLUMNS, PATCH, PATCHES, SceneNetwork, framed, scaled, split_patches
from explainers.models.states import States

BLUR = 12.0  # pixels: things of 10 to 30 pixels lose their shape
FITTED = (
    "The model reads images that are four times as wide as high; this one was scaled to fit, and the rest was filled "
    "with grey. The model reads three squares of it and nothing between them, and was trained on drawn scenes only."
)
Box = tuple[int, int, int, int]


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
        """Raises `InputRefused` if image or text is missing, `DataUnavailable` if the image cannot be read."""
        example = Example(example) if isinstance(example, str) else example
        check_image(self.name, example, multimodal=True)
        with self.lock:  # a tokenizer's truncation is its state
            words = encode(self.tokenizer, (example.text,), unit)
        if not words.units:
            raise InputRefused(EMPTY_TEXT)
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


@dataclass(frozen=True, eq=False)
class FittedImage:
    """`pixels` (100, 400, 3) are what is read; `boxes` are the positions of the 48 patches in the original image, None
    for those outside it. `has_margins` tells whether it has another shape than the drawn scenes."""

    pixels: NDArray[np.uint8]
    boxes: tuple[Box | None, ...]
    warning: str = ""
    has_margins: bool = False


def fit_image(image: InputImage) -> FittedImage:
    """Raises `DataUnavailable` if the image cannot be read."""
    pixels = image.pixels()
    height, width = pixels.shape[:2]
    scale = min(WIDTH / width, HEIGHT / height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    offset = (WIDTH - size[0]) // 2, (HEIGHT - size[1]) // 2
    canvas = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    canvas.paste(Image.fromarray(pixels).resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0), offset)
    boxes = tuple(_patch_box(number, offset, size, (width, height)) for number in range(PATCHES))
    has_margins = size != (WIDTH, HEIGHT)
    warnings = (image.warning, FITTED if has_margins else "")
    return FittedImage(np.asarray(canvas), boxes, " ".join(filter(None, warnings)), has_margins)


def _patch_box(number: int, offset: tuple[int, int], size: tuple[int, int], original: tuple[int, int]) -> Box | None:
    """The box of a patch in pixels of the original image; None if it is outside."""
    row, column = divmod(number, COLUMNS)
    left = LEFTS[column * PATCH // SIDE] + column * PATCH % SIDE
    ends = []
    for start, axis in ((left, 0), (row * PATCH, 1)):
        first, last = (min(max(edge - offset[axis], 0), size[axis]) for edge in (start, start + PATCH))
        if first == last:
            return None
        first, last = (round(edge * original[axis] / size[axis]) for edge in (first, last))
        first = min(first, original[axis] - 1)
        ends.append((first, max(last, first + 1)))  # several patches may show one pixel of a tiny image
    (first, last), (top, bottom) = ends
    return first, top, last, bottom


def embed_patches(network: SceneNetwork, fitted: FittedImage, device: torch.device) -> NDArray[np.float32]:
    """(3, 48, d): each patch as it is, in the image's mean colour, and without its detail."""
    original = split_patches(fitted.pixels)
    mean = np.tile(original.reshape(-1, 3).mean(0), original.shape[1] // 3)[None].repeat(PATCHES, 0)
    blurred = split_patches(np.asarray(Image.fromarray(fitted.pixels).filter(ImageFilter.GaussianBlur(BLUR))))
    with torch.no_grad():
        patches = torch.stack([scaled(canvas.astype(np.float32)) for canvas in (original, mean, blurred)]).to(device)
        embedded = network.embed_patches(patches, torch.arange(PATCHES, device=device).expand(3, -1))
    return np.asarray(embedded.cpu(), dtype=np.float32)


def join_inputs(words: Encoding, fitted: FittedImage, embeddings: NDArray[np.float32]) -> Encoding:
    """Words and patches as one input: [CLS] patches [SEP] words [SEP], of which the units are words first."""
    inner = range(1, len(words.ids) - 1)  # without the special tokens of the sentence alone
    ids, segments = framed([words.ids[position] for position in inner])
    units, owners = list(words.units), [NO_UNIT]
    for number, box in enumerate(fitted.boxes):
        owners.append(NO_UNIT if box is None else len(units))
        if box is not None:
            row, column = divmod(number, COLUMNS)
            units.append(Unit(f"row {row + 1}, column {column + 1}", 0, 0, segment=1, box=box))
    owners += [NO_UNIT, *(words.owners[position] for position in inner), NO_UNIT]
    is_patch = np.asarray(segments) == 1
    rows = np.zeros((3, len(ids), embeddings.shape[-1]), np.float32)
    rows[:, is_patch] = embeddings
    return Encoding(
        words.texts,
        tuple(units),
        tuple(ids),
        tuple(segments),
        tuple(owners),
        warning=" ".join(filter(None, (words.warning, fitted.warning))),
        patch_embeddings=PatchEmbeddings(is_patch, rows[0], {"mask": rows[1], "blur": rows[2]}),
        unlike_training=fitted.has_margins,
    )
