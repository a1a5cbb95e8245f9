import numpy as np
import pytest

from explainers.models.multimodal.blending import Grid, Superpixels, units


@pytest.mark.parametrize(
    ("height", "width", "cells", "rows", "columns"),
    [
        (224, 224, 49, 7, 7),
        (100, 400, 49, 4, 14),
        (3, 5, 49, 3, 5),
        (1, 1, 49, 1, 1),
        (50, 50, 1, 1, 1),
        (9, 90, 9, 1, 9),
    ],
)
def test_cells_are_as_square_as_the_image_allows(height: int, width: int, cells: int, rows: int, columns: int) -> None:
    owners, names = Grid(cells).patch_owners(np.zeros((height, width, 3), np.uint8))
    assert len(names) == rows * columns
    assert names[-1] == f"row {rows}, column {columns}"
    assert sorted(set(owners.ravel().tolist())) == list(range(rows * columns))
    areas = np.bincount(owners.ravel())
    assert areas.max() <= np.ceil(height / rows) * np.ceil(width / columns)


def test_boxes_are_in_pixels_and_end_after_the_last() -> None:
    owners, names = Grid(4).patch_owners(np.zeros((10, 20, 3), np.uint8))  # 1 row of 3: 20 / 3 = 6⅔
    result = units(owners, names)
    assert [unit.box for unit in result] == [(0, 0, 7, 10), (7, 0, 13, 10), (13, 0, 20, 10)]
    assert {(unit.start, unit.end, unit.segment, unit.kind) for unit in result} == {(0, 0, 1, "patch")}


def test_regions_follow_the_colours() -> None:
    pixels = np.full((60, 80, 3), 230, np.uint8)
    pixels[10:30, 20:50] = (200, 0, 0)
    owners, names = Superpixels(count=12).patch_owners(pixels)
    members = set(owners[12:28, 22:48].ravel().tolist())
    outside = set(np.concatenate([owners[:8].ravel(), owners[34:].ravel()]).tolist())
    assert members.isdisjoint(outside)
    assert len(names) == owners.max() + 1
    assert names[0] == "region 1"
    for number, unit in enumerate(units(owners, names)):
        down, across = np.nonzero(owners == number)
        assert unit.box == (across.min(), down.min(), across.max() + 1, down.max() + 1)


@pytest.mark.parametrize("size", [(1, 1), (2, 700), (700, 900)])
def test_regions_cover_images_of_any_size(size: tuple[int, int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)
    owners, names = Superpixels().patch_owners(pixels)
    assert owners.shape == size
    assert set(range(len(names))) == set(owners.ravel().tolist())
