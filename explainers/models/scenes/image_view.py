"""How `scenes` reads an image: fitted into 400 × 100 pixels, of which it reads three squares as 48 patches."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from explainers.datasets.image import InputImage
from explainers.datasets.scenes.drawing import HEIGHT, LEFTS, PAPER, WIDTH
from explainers.datasets.scenes.world import SIDE
from explainers.models.inputs.canvas import PatchEmbeddings
from explainers.models.inputs.encoding import NO_UNIT, Encoding, Unit
from explainers.models.scenes.network import COLUMNS, PATCH, PATCHES, SceneNetwork, scaled, split_patches
from explainers.models.scenes.vocabulary import framed

BLUR = 12.0  # pixels: things of 10 to 30 pixels lose their shape
FITTED = (
    "The model reads images that are four times as wide as high; this one was scaled to fit, and the rest was filled "
    "with grey. The model reads three squares of it and nothing between them, and was trained on drawn scenes only."
)
Box = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class FittedImage:
    """`pixels` (100, 400, 3) are what is read; `boxes` are the positions of the 48 patches in the original image, None
    for those outside it."""

    pixels: NDArray[np.uint8]
    boxes: tuple[Box | None, ...]
    warning: str = ""


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
    warnings = (image.warning, FITTED if size != (WIDTH, HEIGHT) else "")
    return FittedImage(np.asarray(canvas), boxes, " ".join(filter(None, warnings)))


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
    )
