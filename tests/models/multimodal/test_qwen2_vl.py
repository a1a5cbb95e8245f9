from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explainers.datasets.example import Example, InputImage
from explainers.models.catalog import load


def test_a_word_that_is_the_image_s_own_token_is_a_word(
    folders: dict[str, Path], image: Callable[..., InputImage]
) -> None:
    model = load(str(folders["qwen2-vl"]), device="cpu")
    encoding = model.encode(Example("is the cat red ?", image=image(0)))
    typed = replace(encoding, ids=(model.module.config.image_token_id, *encoding.ids[1:]))
    keeps = np.ones((2, len(encoding.units)))
    keeps[1, 0] = 0
    whole, without = model.probabilities(typed, keeps)
    assert not np.allclose(whole, without)
    assert without == pytest.approx(model.probabilities(encoding, keeps)[1], abs=1e-5)
