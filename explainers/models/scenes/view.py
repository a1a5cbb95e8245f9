"""How `scenes` looks at a picture: fitted into 400 × 100 pixels, of which it reads three squares in 48 patches."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from explainers.datasets.picture import Picture
from explainers.datasets.scenes.drawing import HEIGHT, LEFTS, PAPER, WIDTH
from explainers.datasets.scenes.world import SIDE
from explainers.models.encoding import FIXED, Encoding, Unit
from explainers.models.scenes.network import COLUMNS, PATCH, PATCHES, SceneNetwork, cut, scaled
from explainers.models.scenes.reader import framed
from explainers.models.seen import Seen

BLUR = 12.0  # pixels: things of 10 to 30 pixels lose their shape
FITTED = (
    "The model reads pictures that are four times as wide as high; this one was fitted in, "
    "and what is beside it was filled with grey. It sees three squares of it, nothing between them, and knows drawn "
    "scenes only."
)
Box = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class View:
    """`pixels` (100, 400, 3) are what is read; `boxes` say where each of the 48 patches lies in the given picture, None
    for those beside it."""

    pixels: NDArray[np.uint8]
    boxes: tuple[Box | None, ...]
    notice: str = ""


def viewed(picture: Picture) -> View:
    """Raises `DataUnavailable` if the picture cannot be read."""
    given = picture.pixels()
    height, width = given.shape[:2]
    scale = min(WIDTH / width, HEIGHT / height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    offset = (WIDTH - size[0]) // 2, (HEIGHT - size[1]) // 2
    canvas = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    canvas.paste(Image.fromarray(given).resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0), offset)
    boxes = tuple(_placed(number, offset, size, (width, height)) for number in range(PATCHES))
    notices = (picture.notice, FITTED if size != (WIDTH, HEIGHT) else "")
    return View(np.asarray(canvas), boxes, " ".join(filter(None, notices)))


def _placed(number: int, offset: tuple[int, int], size: tuple[int, int], given: tuple[int, int]) -> Box | None:
    """From pixels that are read to pixels of the given picture."""
    row, column = divmod(number, COLUMNS)
    left = LEFTS[column * PATCH // SIDE] + column * PATCH % SIDE
    ends = []
    for start, axis in ((left, 0), (row * PATCH, 1)):
        first, last = (min(max(each - offset[axis], 0), size[axis]) for each in (start, start + PATCH))
        if first == last:
            return None
        first, last = (round(each * given[axis] / size[axis]) for each in (first, last))
        first = min(first, given[axis] - 1)
        ends.append((first, max(last, first + 1)))  # of a tiny picture several patches may show one pixel
    (first, last), (top, bottom) = ends
    return first, top, last, bottom


def seen(network: SceneNetwork, view: View, device: torch.device) -> NDArray[np.float32]:
    """(3, 48, d): each patch as it is, in the picture's mean colour, and without its detail."""
    own = cut(view.pixels)
    mean = np.tile(own.reshape(-1, 3).mean(0), own.shape[1] // 3)[None].repeat(PATCHES, 0)
    blurred = cut(np.asarray(Image.fromarray(view.pixels).filter(ImageFilter.GaussianBlur(BLUR))))
    with torch.no_grad():
        patches = torch.stack([scaled(each.astype(np.float32)) for each in (own, mean, blurred)]).to(device)
        found = network.look(patches, torch.arange(PATCHES, device=device).expand(3, -1))
    return np.asarray(found.cpu(), dtype=np.float32)


def joined(words: Encoding, view: View, looks: NDArray[np.float32]) -> Encoding:
    """Words and patches as one input: [CLS] patches [SEP] words [SEP], of which the units are words first."""
    inner = range(1, len(words.ids) - 1)  # the sentence's own frame is not used
    ids, segments = framed([words.ids[place] for place in inner])
    units, owners = list(words.units), [FIXED]
    for number, box in enumerate(view.boxes):
        owners.append(FIXED if box is None else len(units))
        if box is not None:
            row, column = divmod(number, COLUMNS)
            units.append(Unit(f"row {row + 1}, column {column + 1}", 0, 0, segment=1, box=box))
    owners += [FIXED, *(words.owners[place] for place in inner), FIXED]
    at = np.asarray(segments) == 1
    rows = np.zeros((3, len(ids), looks.shape[-1]), np.float32)
    rows[:, at] = looks
    return Encoding(
        words.texts,
        tuple(units),
        tuple(ids),
        tuple(segments),
        tuple(owners),
        notice=" ".join(filter(None, (words.notice, view.notice))),
        seen=Seen(at, rows[0], {"mask": rows[1], "blur": rows[2]}),
    )
