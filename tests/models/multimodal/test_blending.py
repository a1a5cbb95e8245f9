import numpy as np
import pytest
import torch

from explainers.models.inputs.canvas import Canvas
from explainers.models.multimodal.blending import Grid, Superpixels, blend
from explainers.models.multimodal.preprocessing import Preparation

LIKE = torch.zeros(0)


def square(side: int, crop: int | None = None) -> Preparation:
    middle = (crop, crop) if crop else None
    return Preparation(lambda _height, _width: (side, side), middle, (0.5,) * 3, (0.25,) * 3)


@pytest.fixture
def pixels() -> np.ndarray:
    """Without black or white: where resizing overshoots, values are clipped and nothing is a sum any more."""
    rng = np.random.default_rng(0)
    squares = rng.integers(80, 170, (2, 3, 3)).repeat(20, axis=0).repeat(20, axis=1)
    return (squares + rng.integers(-5, 6, (40, 60, 3))).astype(np.uint8)


@pytest.mark.parametrize("patching", [Grid(9), Superpixels(9)])
@pytest.mark.parametrize("erasure", ["mask", "blur"])
def test_a_mask_gives_what_the_painted_image_gives(
    pixels: np.ndarray, patching: Grid | Superpixels, erasure: str
) -> None:
    owners, names = patching.patch_owners(pixels)
    canvas = Canvas(pixels, owners + 2)  # two words stand before
    parts = blend(canvas, erasure, square(24), (3, 3), LIKE)
    mask = torch.ones(2, len(names) + 2)
    mask[1, [3, 5]] = 0
    painted = np.where(np.isin(owners, [1, 3])[:, :, None], canvas.replacement(erasure), pixels)
    whole, holed = parts.pixels(mask)
    assert torch.allclose(whole, square(24).apply(pixels), atol=1e-5)
    assert torch.allclose(holed, square(24).apply(painted), atol=1e-5)


def test_shares_are_areas(pixels: np.ndarray) -> None:
    owners, _ = Grid(6).patch_owners(pixels)  # 2 rows of 3: 20 × 20 each
    parts = blend(Canvas(pixels, owners), "zero", square(24), (2, 4), LIKE)  # the model's patches are 20 × 15
    mask = torch.ones(1, 6)
    mask[0, 1] = 0  # columns 20 to 40 of the first row; patches reach from 15 to 30 and from 30 to 45
    assert parts.share(mask)[0].tolist() == [
        pytest.approx([1, 1 / 3, 1 / 3, 1], abs=1e-6),
        pytest.approx([1, 1, 1, 1]),
    ]
    assert parts.kept(mask)[0].tolist() == [[True, False, False, True], [True] * 4]


def test_what_is_cut_off_covers_no_patch_of_the_model(pixels: np.ndarray) -> None:
    owners, _ = Grid(6).patch_owners(pixels)
    parts = blend(Canvas(pixels, owners), "zero", square(40, crop=20), (1, 1), LIKE)  # rows 10 to 30, columns 15 to 45
    share = parts.areas[:, 0, 0]
    # of 30 columns 5 belong to the first patches, 20 to the middle ones, 5 to the last; half of each to either row
    assert share.tolist() == pytest.approx([5 / 60, 20 / 60, 5 / 60] * 2)


def test_every_patch_of_the_model_is_shared_out_completely(pixels: np.ndarray) -> None:
    owners, _ = Superpixels(9).patch_owners(pixels)
    parts = blend(Canvas(pixels, owners), "mask", square(24), (5, 7), LIKE)
    assert torch.allclose(parts.areas.sum(dim=0), torch.ones(5, 7), atol=1e-5)


def test_shares_that_are_gone_for_good_add_up(pixels: np.ndarray) -> None:
    owners, _ = Grid(6).patch_owners(pixels)
    canvas = Canvas(pixels, owners).without({0}, {number: number - 1 for number in range(1, 6)}, "zero")
    parts = blend(canvas, "zero", square(24), (1, 1), LIKE)
    mask = torch.ones(1, 5)
    mask[0, 0] = 0
    assert float(parts.share(mask)) == pytest.approx(4 / 6)


def test_nothing_but_the_image_is_left_without_units(pixels: np.ndarray) -> None:
    canvas = Canvas(pixels, np.full(pixels.shape[:2], -1))
    parts = blend(canvas, "mask", square(24), (3, 3), LIKE)
    assert torch.allclose(parts.pixels(torch.ones(1, 4))[0], square(24).apply(pixels), atol=1e-5)


def test_pure_white_has_a_slope() -> None:
    white = np.full((8, 8, 3), 255, np.uint8)
    white[:, :4] = 0
    owners, _ = Grid(2).patch_owners(white)
    parts = blend(Canvas(white, owners), "mask", square(8), (1, 1), LIKE)
    mask = torch.ones(1, parts.contributions.shape[0], requires_grad=True)
    (slope,) = torch.autograd.grad(parts.pixels(mask)[0, :, :, 6].sum(), mask)
    assert float(slope.abs().max()) > 1
