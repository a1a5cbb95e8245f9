"""Every method of the registry on an image with a text; those that learn are fitted for a step or two first."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explainers.datasets.example import Example, InputImage
from explainers.datasets.scenes.generator import generate_items
from explainers.errors import ExplanationError
from explainers.installation import STORE_VARIABLE
from explainers.learned.aml import AttributionModel
from explainers.learned.batches import Batch, LearningExample, encode_for_learning
from explainers.learned.fit import write_weights
from explainers.learned.fitting_loop import explained, fit
from explainers.learned.recipes import RECIPES, recipe_of
from explainers.methods.registry import METHODS, MethodSpec, applicable, select
from explainers.models.catalog import fingerprint
from explainers.models.inputs.encoding import MULTIMODAL_ERASURES, Encoding, Erasure
from explainers.models.inputs.padded_batch import pad_batch
from explainers.models.scenes.model import SceneModel
from explainers.results.attribution import Attribution
from explainers.training.artifacts import own_folder
from explainers.training.spec import FitSpec

pytestmark = pytest.mark.usefixtures("narrow_search")
UNITS = 3 + 16
BLANK = Example("blue", image=InputImage.of(np.zeros((1, 1, 3), dtype=np.uint8)))
READY = [entry for entry in applicable(METHODS, BLANK) if not entry.learns and entry.needs != "prompt"]


@pytest.fixture
def encoding(model: SceneModel, square: Example) -> Encoding:
    return model.encode(square)


def scored(
    entry: MethodSpec, model: SceneModel, encoding: Encoding, erasure: Erasure = "mask", steps: int = 5
) -> Attribution:
    return entry.make(erasure=erasure, seed=0, samples=40, steps=steps).attribute(model, encoding, 1)


@pytest.mark.parametrize(
    ("entry", "erasure"),
    [(entry, "blur") for entry in READY]
    + [
        (entry, erasure)
        for entry in select(["integrated_gradients", "occlusion"])
        for erasure in ("mask", "delete", "zero")
    ],
    ids=lambda value: getattr(value, "id", value),
)
def test_every_method_scores_words_and_patches(
    model: SceneModel, encoding: Encoding, entry: MethodSpec, erasure: Erasure
) -> None:
    result = scored(entry, model, encoding, erasure)
    assert result.encoding is encoding
    assert len(result.scores) == UNITS
    assert np.isfinite(result.scores).all()
    if entry.kind != "one part":
        assert any(result.scores[:3])
        assert any(result.scores[3:])


@pytest.mark.parametrize(
    ("method", "expected"), [("text_only", (1.0,) * 3 + (0.0,) * 16), ("image_only", (0.0,) * 3 + (1.0,) * 16)]
)
def test_the_controls_are_all_words_or_all_patches(
    model: SceneModel, encoding: Encoding, method: str, expected: tuple[float, ...]
) -> None:
    (entry,) = select([method])
    assert scored(entry, model, encoding).scores == expected


@pytest.mark.parametrize("erasure", ["mask", "zero", "blur"])
def test_more_steps_close_the_gap_of_integrated_gradients(
    model: SceneModel, encoding: Encoding, erasure: Erasure
) -> None:
    (entry,) = select(["integrated_gradients"])
    coarse, fine = (scored(entry, model, encoding, erasure, steps) for steps in (2, 200))
    assert coarse.gap is not None
    assert fine.gap is not None
    assert fine.gap < min(0.01, coarse.gap)
    whole, nothing = model.probabilities(encoding, [[1] * UNITS, [0] * UNITS], erasure)[:, 1]
    assert sum(fine.scores) == pytest.approx(whole - nothing, abs=fine.gap + 1e-5)


def test_occlusion_is_the_fall_in_probability_when_a_patch_is_erased(model: SceneModel, encoding: Encoding) -> None:
    (entry,) = select(["occlusion"])
    keeps = np.ones((2, UNITS))
    keeps[1, 10] = 0
    for erasure in MULTIMODAL_ERASURES:
        whole, without = model.probabilities(encoding, keeps, erasure)[:, 1]
        assert scored(entry, model, encoding, erasure).scores[10] == pytest.approx(whole - without, abs=1e-5)


@pytest.fixture
def texts(model: SceneModel, square: Example) -> list[LearningExample]:
    """Six statements about square images; the last two have an image of the full width."""
    generated = [next(generate_items(seed, held_out=False)).example() for seed in range(8)]
    examples = [Example(example.text, image=square.image) for example in generated[:6]]
    return encode_for_learning(
        model, [*examples, *(Example(example.text, image=example.image) for example in generated[6:])]
    )


QUICK: dict[str, dict[str, Any]] = {
    "aml": {"rank": 2},
    "cimi": {"hidden": 8},
    "ciem": {"r": 4, "hidden": 16},
    "ivra": {},
    "cxplain": {},
}


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        *((method, {}) for method in RECIPES),
        *(("ivra", {"criterion": criterion}) for criterion in ("suff", "cons")),
        ("ivra", {"criterion": "comp", "smat": True, "norm": "softmax"}),
        ("aml", {"replacement": "random"}),
        ("aml", {"replacement": "learned"}),
        ("cimi", {"erasure": "zero"}),
        ("ciem", {"erasure": "zero", "layer": 2}),
    ],
    ids=str,
)
def test_what_learns_is_fitted_kept_and_explains_as_it_was(
    model: SceneModel,
    texts: list[LearningExample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    settings: dict[str, Any],
) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path))
    values = {"epochs": 1, "batch": 3, "select": "last", **QUICK[method], **settings}
    recipe, before = recipe_of(method, values), fingerprint(model)
    result = fit(recipe, model, texts[:6], texts[6:], tmp_path / "run")
    assert result.loop.step_number == 2
    assert fingerprint(model) == before
    spec = FitSpec(
        method, model.name, variant="mine", settings=tuple((name, str(value)) for name, value in values.items())
    )
    write_weights(spec, model, result.best, own_folder(model.name, model.version), {})
    (entry,) = select([f"{method}:mine"])
    for text, expected in zip(texts[4:], explained(recipe, result.module, model, texts[4:]), strict=True):
        scores = scored(entry, model, text.encoding).scores
        assert len(scores) == len(text.encoding.units)
        assert scores == pytest.approx(expected, abs=5e-5)
        assert np.ptp(scores) > 0
    if method == "aml":
        (tuned,) = select(["faml:mine"])
        assert len(tuned.make(erasure="mask", seed=0, samples=2, steps=2).attribute(model, texts[0].encoding, 0).scores)


def test_what_learns_to_mask_does_not_read_what_a_person_zeroed(model: SceneModel, square: Example) -> None:
    assert square.image is not None
    pixels = square.image.pixels()
    pixels[:12, :12] = 255 - pixels[:12, :12]  # the first patch of the square
    one, other = (
        model.without(model.encode(Example(square.text, image=image)), [3], "zero")
        for image in (square.image, InputImage.of(pixels))
    )
    inputs = pad_batch([one, other], model.pad_token, model.device)
    same = replace(
        inputs, patch_replacements=inputs.patch_replacements[:1].expand(2, -1, -1)
    )  # the mean colours of both differ a little
    module = AttributionModel(model, 2).eval()
    first, second = module(model, Batch(same, torch.full((2, 3), 1 / 3))).detach()
    assert first.numpy() == pytest.approx(second.numpy(), abs=1e-5)


def test_a_student_does_not_read_images(model: SceneModel, texts: list[LearningExample], tmp_path: Path) -> None:
    recipe = recipe_of("ivra", {"criterion": "sim", "batch": 3})
    with pytest.raises(ExplanationError, match="reads text only"):
        fit(recipe, model, texts[:6], texts[6:], tmp_path)
