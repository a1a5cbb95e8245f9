"""Every architecture of images with text answers masks in bfloat16, near what it answers in float32."""

import numpy as np
import pytest

from explainers.models.inputs.encoding import MULTIMODAL_ERASURES
from explainers.models.multimodal.model import MultimodalModel
from explainers.models.precision import UsedPrecision
from tests.models.multimodal.conftest import examples


def test_masks_are_answered_in_bfloat16(model: MultimodalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", lambda *_: UsedPrecision("bfloat16"))
    encoding = model.encode(examples(1)[0])
    masks = np.random.default_rng(0).random((4, len(encoding.units))) < 0.7
    for erasure in MULTIMODAL_ERASURES:
        exact = model.probabilities(encoding, masks, erasure)
        rounded = model.in_precision("bfloat16").probabilities(encoding, masks, erasure)
        assert 0 < np.abs(rounded - exact).max() < 0.1
