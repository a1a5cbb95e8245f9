import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoImageProcessor

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.models.multimodal.architectures import Vilt
from explainers.models.multimodal.network import FusionNetwork
from explainers.models.multimodal.preprocessing import preparation
from explainers.models.multimodal.qwen2_vl import PATCHES, Qwen2Vl

SIZES = [(60, 80), (300, 411), (200, 90), (64, 64)]
SMALL = {"size": 64, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
KINDS: dict[str, dict[str, Any]] = {
    "ViltFeatureExtractor": {"size_divisor": 8},
    "CLIPFeatureExtractor": {"crop_size": 64},
    "FlavaImageProcessor": {"size": {"height": 64, "width": 64}, "crop_size": {"height": 64, "width": 64}},
    "ViTFeatureExtractor": {},
    "ConvNextFeatureExtractor": {"crop_pct": 0.875},
}


def processor(folder: Path, kind: str, **numbers: Any) -> Any:
    """The library's, from the file that its models have on the hub; old ones call it a feature extractor."""
    key = "feature_extractor_type" if "Feature" in kind else "image_processor_type"
    (folder / "preprocessor_config.json").write_text(json.dumps({key: kind} | numbers))
    return AutoImageProcessor.from_pretrained(folder, trust_remote_code=False)


def smooth(height: int, width: int) -> np.ndarray:
    down, across = np.mgrid[0:height, 0:width]
    return np.stack([255 * down / height, 255 * across / width, (down + across) % 64 * 2], axis=2).astype(np.uint8)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_images_are_prepared_as_the_library_does(tmp_path: Path, kind: str, size: tuple[int, int]) -> None:
    theirs = processor(tmp_path, kind, **SMALL | KINDS[kind])
    ours = (Vilt if "Vilt" in kind else FusionNetwork).prepared(theirs)
    pixels = smooth(*size)
    (expected,) = theirs(images=pixels, return_tensors="pt")["pixel_values"]
    result = ours.apply(pixels)
    assert result.shape == expected.shape == (3, *ours.size(size))
    step = 1 / 255 / 0.5  # the library rounds to whole bytes after each direction
    assert float((result - expected).abs().mean()) < step / 2
    assert float((result - expected).abs().max()) < 12 * step  # where a sharp edge overshoots


@pytest.mark.parametrize("size", SIZES)
def test_qwen_s_images_get_the_library_s_size_and_patches(tmp_path: Path, size: tuple[int, int]) -> None:
    theirs = processor(tmp_path, "Qwen2VLImageProcessor", min_pixels=56 * 56, max_pixels=28 * 28 * 64)
    result = Qwen2Vl.prepared(theirs).size(size)
    _, rows, columns = theirs(images=smooth(*size), return_tensors="pt")["image_grid_thw"][0].tolist()
    assert result == (rows * 14, columns * 14)


def test_qwen_s_images_are_never_larger_than_an_explanation_can_pay_for(tmp_path: Path) -> None:
    ours = Qwen2Vl.prepared(processor(tmp_path, "Qwen2VLImageProcessor"))
    height, width = ours.size((3000, 4000))
    assert height * width <= PATCHES * 28 * 28 < 3000 * 4000


def test_a_thread_is_no_image_for_qwen(tmp_path: Path) -> None:
    with pytest.raises(ExplanationError, match="more than 200 times as long as wide"):
        Qwen2Vl.prepared(processor(tmp_path, "Qwen2VLImageProcessor")).size((2, 500))


def test_a_crop_reports_the_visible_area(tmp_path: Path) -> None:
    ours = FusionNetwork.prepared(processor(tmp_path, "CLIPFeatureExtractor", **SMALL, crop_size=64))
    # 100 × 200 becomes 64 × 128, of which the middle 64 columns are seen: 50 to 150 of the image
    assert ours.visible_area((100, 200)) == (50, 0, 150, 100)
    assert Vilt.prepared(processor(tmp_path, "ViltFeatureExtractor", **SMALL)).visible_area((100, 200)) == (
        0,
        0,
        200,
        100,
    )


@pytest.mark.parametrize("numbers", [{"resample": 1}, {"resample": 0}, {"do_resize": False}, {"do_rescale": False}])
def test_an_unsupported_preparation_is_refused(tmp_path: Path, numbers: dict[str, Any]) -> None:
    with pytest.raises(ModelUnavailable, match=r"prepared by ViTImageProcessor.* in a way that is not supported"):
        preparation(processor(tmp_path, "ViTFeatureExtractor", **SMALL, **numbers))


def test_a_processor_with_other_results_is_refused(tmp_path: Path) -> None:
    theirs = processor(tmp_path, "ViTFeatureExtractor", **SMALL)
    theirs.rescale_factor = 1 / 128
    with pytest.raises(ModelUnavailable, match="is not supported"):
        FusionNetwork.prepared(theirs)
    with pytest.raises(ModelUnavailable, match="is not supported"):
        FusionNetwork.prepared(processor(tmp_path, "CLIPFeatureExtractor", size=32, crop_size=64))
