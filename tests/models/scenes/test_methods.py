"""Every method of the registry on a picture with a text; those that learn are fitted for a step or two first."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.datasets.scenes.generator import items
from explainers.explanation import Attribution
from explainers.learned.aml import AttributionModel
from explainers.learned.batches import Seen, seen
from explainers.learned.command import Order, write_weights
from explainers.learned.fitting import explained, fit
from explainers.learned.recipes import RECIPES
from explainers.learned.weights import STORE_VARIABLE, own_folder, recipe_of
from explainers.methods import METHODS, Entry, chosen, fitting
from explainers.models.catalog import fingerprint
from explainers.models.encoding import OF_PICTURES, Encoding, Erasure
from explainers.models.padded import padded
from explainers.models.scenes.model import SceneModel

UNITS = 3 + 16
READY = [entry for entry in fitting(METHODS, ("text",), pictured=True) if entry.group != "Learned"]


@pytest.fixture
def encoding(model: SceneModel, square: Example) -> Encoding:
    return model.encode(square)


def scored(
    entry: Entry, model: SceneModel, encoding: Encoding, erasure: Erasure = "mask", steps: int = 5
) -> Attribution:
    return entry.make(erasure=erasure, seed=0, samples=40, steps=steps).attribute(model, encoding, 1)


@pytest.mark.parametrize(
    ("entry", "erasure"),
    [(entry, erasure) for entry in READY for erasure in OF_PICTURES if entry.kind != "sampled" or erasure == "blur"],
    ids=lambda each: getattr(each, "id", each),
)
def test_every_method_scores_words_and_patches(
    model: SceneModel, encoding: Encoding, entry: Entry, erasure: Erasure
) -> None:
    found = scored(entry, model, encoding, erasure)
    assert found.encoding is encoding
    assert len(found.scores) == UNITS
    assert np.isfinite(found.scores).all()
    if entry.kind != "one text":
        assert any(found.scores[:3])
        assert any(found.scores[3:])


@pytest.mark.parametrize(
    ("method", "expected"), [("text_only", (1.0,) * 3 + (0.0,) * 16), ("picture_only", (0.0,) * 3 + (1.0,) * 16)]
)
def test_the_controls_are_all_words_or_all_patches(
    model: SceneModel, encoding: Encoding, method: str, expected: tuple[float, ...]
) -> None:
    (entry,) = chosen([method])
    assert scored(entry, model, encoding).scores == expected


@pytest.mark.parametrize("erasure", ["mask", "zero", "blur"])
def test_more_steps_close_the_gap_of_integrated_gradients(
    model: SceneModel, encoding: Encoding, erasure: Erasure
) -> None:
    (entry,) = chosen(["integrated_gradients"])
    coarse, fine = (scored(entry, model, encoding, erasure, steps) for steps in (2, 200))
    assert coarse.gap is not None
    assert fine.gap is not None
    assert fine.gap < min(0.01, coarse.gap)
    whole, nothing = model.probabilities(encoding, [[1] * UNITS, [0] * UNITS], erasure)[:, 1]
    assert sum(fine.scores) == pytest.approx(whole - nothing, abs=fine.gap + 1e-5)


def test_occlusion_is_the_fall_in_probability_when_a_patch_is_erased(model: SceneModel, encoding: Encoding) -> None:
    (entry,) = chosen(["occlusion"])
    keeps = np.ones((2, UNITS))
    keeps[1, 10] = 0
    for erasure in OF_PICTURES:
        whole, without = model.probabilities(encoding, keeps, erasure)[:, 1]
        assert scored(entry, model, encoding, erasure).scores[10] == pytest.approx(whole - without, abs=1e-6)


@pytest.fixture
def texts(model: SceneModel, square: Example) -> list[Seen]:
    """Six statements about square pictures; the last two have a picture of the full width."""
    made = [next(items(seed, held_out=False)).example() for seed in range(8)]
    given = [Example(each.text, picture=square.picture) for each in made[:6]]
    return seen(model, [*given, *(Example(each.text, picture=each.picture) for each in made[6:])])


QUICK: dict[str, dict[str, Any]] = {
    "aml": {"rank": 2},
    "cimi": {"hidden": 8},
    "ciem": {"r": 4, "hidden": 16},
    "ivra": {},
}


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        *((method, {}) for method in RECIPES),
        *(("ivra", {"criterion": criterion}) for criterion in ("sim", "suff", "cons")),
        ("ivra", {"criterion": "sim", "smat": True, "norm": "softmax"}),
        ("aml", {"filler": "random"}),
        ("aml", {"filler": "learned"}),
        ("cimi", {"erasure": "zero"}),
        ("ciem", {"erasure": "zero", "layer": 2}),
    ],
    ids=str,
)
def test_what_learns_is_fitted_kept_and_explains_as_it_was(
    model: SceneModel,
    texts: list[Seen],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    settings: dict[str, Any],
) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path))
    given = {"epochs": 1, "batch": 3, "select": "last", **QUICK[method], **settings}
    recipe, before = recipe_of(method, given), fingerprint(model)
    found = fit(recipe, model, texts[:6], texts[6:], tmp_path / "run")
    assert found.step_number == 2
    assert fingerprint(model) == before
    order = Order(method, model.name, None, "mine", settings=tuple((name, str(value)) for name, value in given.items()))
    write_weights(order, model, found.best, own_folder(model.name, model.version), {})
    (entry,) = chosen([f"{method}:mine"])
    for text, expected in zip(texts[4:], explained(recipe, found.module, model, texts[4:]), strict=True):
        scores = scored(entry, model, text.encoding).scores
        assert len(scores) == len(text.encoding.units)
        assert scores == pytest.approx(expected, abs=1e-5)
        assert np.ptp(scores) > 0
    if method == "aml":
        (tuned,) = chosen(["faml:mine"])
        assert len(tuned.make(erasure="mask", seed=0, samples=2, steps=2).attribute(model, texts[0].encoding, 0).scores)


def test_what_learns_to_mask_does_not_read_what_a_person_zeroed(model: SceneModel, square: Example) -> None:
    assert square.picture is not None
    pixels = square.picture.pixels()
    pixels[:12, :12] = 255 - pixels[:12, :12]  # the first patch of the square
    one, other = (
        model.without(model.encode(Example(square.text, picture=picture)), [3], "zero")
        for picture in (square.picture, Picture.of(pixels))
    )
    inputs = padded([one, other], model.padding, model.device)
    same = replace(inputs, filler=inputs.filler[:1].expand(2, -1, -1))  # the mean colours of both differ a little
    module = AttributionModel(model, 2).eval()
    first, second = module(model, same, torch.full((2, 3), 1 / 3)).detach()
    assert first.numpy() == pytest.approx(second.numpy(), abs=1e-5)
