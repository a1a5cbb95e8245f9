"""What every model of an image and a text promises, whichever architecture it has."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from explainers.datasets.example import Example, InputImage
from explainers.errors import ExplanationError
from explainers.methods.registry import METHODS, MethodSpec
from explainers.metrics.sensitivity import replace_units
from explainers.models.catalog import fingerprint, load
from explainers.models.inputs.encoding import MULTIMODAL_ERASURES, Encoding, Erasure
from explainers.models.multimodal.blending import Grid, Superpixels
from explainers.models.multimodal.model import MultimodalModel
from explainers.results.attribution import Attribution

pytestmark = pytest.mark.usefixtures("narrow_search")
TEXT = "is the cat red ?"  # 5 words
PATCHES = 49

every_erasure = pytest.mark.parametrize("erasure", MULTIMODAL_ERASURES)
every_method = pytest.mark.parametrize(
    "entry",
    [entry for entry in METHODS if not entry.learns and not entry.is_single_part and entry.needs != "prompt"],
    ids=lambda entry: entry.id,
)


@pytest.fixture
def example(image: Callable[..., InputImage]) -> Example:
    return Example(TEXT, image=image(3))


@pytest.fixture
def encoding(model: MultimodalModel, example: Example) -> Encoding:
    return model.encode(example)


def masks(units: int) -> NDArray[np.bool_]:
    """Everything, nothing, without a word, without a patch, without the patches, without the words, and by chance."""
    result = np.ones((10, units), dtype=bool)
    result[1] = result[2, 1] = result[3, 20] = result[4, 5:] = result[5, :5] = False
    result[6:] = np.random.default_rng(0).random((4, units)) < 0.5
    return result


def scored(entry: MethodSpec, model: MultimodalModel, encoding: Encoding) -> Attribution:
    return entry.make(erasure="mask", seed=0, samples=60, steps=5).attribute(model, encoding, 0)


@pytest.mark.parametrize(("height", "width"), [(32, 32), (50, 33), (41, 120), (5, 90)])
def test_units_are_words_and_then_patches_that_tile_the_image(
    model: MultimodalModel, image: Callable[..., InputImage], height: int, width: int
) -> None:
    encoding = model.encode(Example(TEXT, image=image(0, height, width)))
    kinds = [unit.kind for unit in encoding.units]
    assert kinds == ["word"] * 5 + ["patch"] * (len(kinds) - 5)
    assert [encoding.texts[0][unit.start : unit.end] for unit in encoding.units[:5]] == TEXT.split()
    covered = np.zeros((height, width), dtype=int)
    assert encoding.canvas is not None
    for number, unit in enumerate(encoding.units[5:], start=5):
        left, top, right, bottom = unit.box  # type: ignore[misc]
        covered[top:bottom, left:right] += 1
        assert (encoding.canvas.owners[top:bottom, left:right] == number).all()
        assert unit.segment == 1
    assert (covered == 1).all()
    assert {unit.text for unit in encoding.units} >= {"row 1, column 1"}
    assert max(encoding.owners) == 4  # tokens are of words alone


def test_whole_inputs_get_the_answer_of_the_library(
    model: MultimodalModel, example: Example, encoding: Encoding, library: Callable[..., NDArray[np.float64]]
) -> None:
    (result,) = model.probabilities(encoding, np.ones((1, len(encoding.units))))
    assert example.image is not None
    assert result == pytest.approx(library(TEXT, example.image.pixels()), abs=1e-5)
    assert result.sum() == pytest.approx(1)


def test_without_a_patch_the_answer_is_the_library_s_for_a_painted_image(
    model: MultimodalModel, example: Example, encoding: Encoding, library: Callable[..., NDArray[np.float64]]
) -> None:
    assert example.image is not None
    pixels = example.image.pixels()
    mean = np.rint(pixels.mean(axis=(0, 1)))
    left, top, right, bottom = encoding.units[5 + 24].box  # type: ignore[misc]
    pixels[top:bottom, left:right] = mean
    keeps = np.ones((1, len(encoding.units)))
    keeps[0, 5 + 24] = 0
    assert model.probabilities(encoding, keeps)[0] == pytest.approx(library(TEXT, pixels), abs=1e-5)
    assert not np.allclose(model.probabilities(encoding, keeps), model.probabilities(encoding, keeps * 0 + 1))


@every_erasure
def test_batches_give_what_single_masks_give(model: MultimodalModel, encoding: Encoding, erasure: Erasure) -> None:
    keeps = masks(len(encoding.units))
    together = model.probabilities(encoding, keeps, erasure)
    alone = np.concatenate([model.probabilities(encoding, row, erasure) for row in keeps])
    assert together == pytest.approx(alone, abs=1e-5)
    assert together.sum(axis=1) == pytest.approx(np.ones(10))
    assert len(np.unique(together.round(6), axis=0)) == 10  # every mask changes the answer


@pytest.mark.usefixtures("small_batches")
def test_every_mask_is_computed_once(model: MultimodalModel, encoding: Encoding) -> None:
    keeps = masks(len(encoding.units))
    model.probabilities(encoding, np.vstack([keeps, keeps]))
    assert model.meter.calls == 10


@pytest.mark.parametrize("erasure", ["mask", "blur", "zero"])
def test_soft_masks_of_0_and_1_are_hard_masks(model: MultimodalModel, encoding: Encoding, erasure: Erasure) -> None:
    keeps = masks(len(encoding.units))
    with torch.no_grad():
        soft = model.soft_probabilities(encoding, torch.tensor(keeps).float(), erasure)
    assert soft.double().numpy() == pytest.approx(model.probabilities(encoding, keeps, erasure), abs=1e-5)


@pytest.mark.parametrize("erasure", ["mask", "blur", "zero"])
def test_the_gradient_is_the_slope(loaded: MultimodalModel, example: Example, erasure: Erasure) -> None:
    exact = load(loaded.name, device="cpu")
    exact.module.double()
    encoding = exact.encode(example)
    mask = torch.full((1, len(encoding.units)), 0.7, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(exact.soft(encoding, mask, erasure)[0, 1], mask)
    assert torch.isfinite(gradient).all()
    largest = float(gradient.abs().max())
    for unit in (1, 5, 20, 50):
        step = torch.zeros_like(mask)
        step[0, unit] = 0.01
        with torch.no_grad():
            up, down = (exact.soft(encoding, mask + sign * step, erasure)[0, 1] for sign in (1, -1))
        # some of the library's layers compute in single precision whatever they are given
        assert float(gradient[0, unit]) == pytest.approx(float(up - down) / 0.02, rel=0.01, abs=0.005 * largest)


def condition(model: MultimodalModel) -> tuple[object, ...]:
    """Everything about a model that an explanation could leave changed."""
    parts = list(model.module.modules())
    hooks = [
        sorted((name, len(kept)) for name, kept in vars(part).items() if name.endswith("_hooks")) for part in parts
    ]
    weights = [(weight.requires_grad, weight.grad is None) for weight in model.module.parameters()]
    return fingerprint(model), [part.training for part in parts], hooks, weights, torch.get_rng_state().tolist()


def test_the_model_is_the_same_afterwards(
    model: MultimodalModel, encoding: Encoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = condition(model)
    keeps = masks(len(encoding.units))

    def everything() -> None:
        for erasure in MULTIMODAL_ERASURES:
            model.probabilities(encoding, keeps, erasure)
        for erasure in ("mask", "zero"):
            mask = torch.ones(2, len(encoding.units), requires_grad=True)
            torch.autograd.grad(model.soft(encoding, mask, erasure).sum(), mask)  # type: ignore[arg-type]

    everything()
    assert condition(model) == before

    def broken(_self: object, features: torch.Tensor) -> torch.Tensor:
        raise ArithmeticError

    monkeypatch.setattr(type(model.network.head), "forward", broken)
    for erasure in MULTIMODAL_ERASURES:
        with pytest.raises(ArithmeticError):
            model.probabilities(encoding, keeps, erasure)
    for erasure in ("mask", "zero"):
        with pytest.raises(ArithmeticError):
            model.soft(encoding, torch.ones(2, len(encoding.units)), erasure)  # type: ignore[arg-type]
    monkeypatch.undo()
    assert condition(model) == before
    everything()


@every_method
def test_every_method_gives_each_unit_a_score(model: MultimodalModel, example: Example, entry: MethodSpec) -> None:
    if entry.optimised:  # a search asks thousands of inputs about 49 patches
        model = model.with_patching(Grid(16))
    encoding = model.encode(example)
    if entry.id.startswith("attention") and "clip" in model.name:
        with pytest.raises(ExplanationError, match="words and patches never attend to each other"):
            scored(entry, model, encoding)
        return
    if entry.one_window and not entry.learns:  # takes layers apart that are built like BERT's
        with pytest.raises(ExplanationError):
            scored(entry, model, encoding)
        return
    result = scored(entry, model, encoding)
    assert result == scored(entry, model, encoding)
    assert len(result.scores) == 5 + (16 if entry.optimised else PATCHES)
    assert np.isfinite(result.scores).all()
    assert any(result.scores[:5])
    assert any(result.scores[5:])


def test_states_have_a_position_for_every_unit(model: MultimodalModel, encoding: Encoding) -> None:
    if "clip" in model.name:
        return
    states = model.states(encoding)
    layers, tokens = len(states.attentions), states.hidden[0].shape[0]
    assert len(states.hidden) == layers + 1
    assert {layer.shape[1:] for layer in states.attentions} == {(tokens, tokens)}
    assert all(torch.allclose(layer.sum(dim=-1), torch.ones(()), atol=1e-5) for layer in states.attentions)
    for last_layer in (False, True):
        received = model.attention_received(encoding, last_layer=last_layer)
        assert received.min() > 0
        assert 0.3 < received.sum() < 1  # the rest goes to tokens of neither words nor patches


def test_more_steps_close_the_gap_of_integrated_gradients(model: MultimodalModel, encoding: Encoding) -> None:
    (entry,) = (entry for entry in METHODS if entry.id == "integrated_gradients")
    coarse, fine = (
        entry.make(erasure="mask", seed=0, samples=0, steps=steps).attribute(model, encoding, 0).gap
        for steps in (3, 40)
    )
    assert coarse is not None
    assert fine is not None
    assert fine < max(coarse / 2, 1e-4)


@every_erasure
def test_what_is_clicked_away_stays_away(model: MultimodalModel, encoding: Encoding, erasure: Erasure) -> None:
    removed = (2, 7, 30)
    left = model.without(encoding, removed, erasure)
    assert len(left.units) == 5 + PATCHES - 3
    keeps = np.ones((2, 5 + PATCHES), dtype=bool)
    keeps[:, removed] = False
    keeps[1, [0, 40]] = False
    of_the_rest = np.delete(keeps, removed, axis=1)
    assert model.probabilities(left, of_the_rest, erasure) == pytest.approx(
        model.probabilities(encoding, keeps, erasure), abs=1e-5
    )
    again = model.without(left, [len(left.units) - 1], erasure)
    assert [unit.text for unit in again.units] == [unit.text for unit in left.units[:-1]]
    if erasure != "delete":
        with torch.no_grad():
            soft = model.soft_probabilities(left, torch.tensor(of_the_rest).float(), erasure)
        assert soft.double().numpy() == pytest.approx(model.probabilities(left, of_the_rest, erasure), abs=1e-5)


def test_without_its_whole_image_the_words_are_still_explained(model: MultimodalModel, encoding: Encoding) -> None:
    left = model.without(encoding, range(5, 5 + PATCHES), "mask")
    assert {unit.kind for unit in left.units} == {"word"}
    keeps = np.ones((1, 5 + PATCHES))
    keeps[0, 5:] = 0
    assert model.probabilities(left, np.ones((1, 5))) == pytest.approx(model.probabilities(encoding, keeps), abs=1e-5)


@pytest.mark.parametrize(
    ("text", "pair", "seed", "sentence"),
    [
        (TEXT, None, None, "the image is missing"),
        ("", None, 0, "The text is empty"),
        ("  ", None, 0, "The text is empty"),
        (TEXT, "a dog", 0, "Omit the second text"),
    ],
)
def test_what_is_missing_or_too_much_is_a_sentence(
    model: MultimodalModel,
    image: Callable[..., InputImage],
    text: str,
    pair: str | None,
    seed: int | None,
    sentence: str,
) -> None:
    example = Example(text, pair, image=None if seed is None else image(seed))
    with pytest.raises(ExplanationError, match=sentence):
        model.encode(example)


def test_a_text_alone_is_refused(model: MultimodalModel) -> None:
    with pytest.raises(ExplanationError, match="the image is missing"):
        model.encode(TEXT)
    with pytest.raises(ExplanationError, match="cannot classify a text alone"):
        model.logits(torch.zeros(1, 3, dtype=torch.long), (0, 0, 0))


def test_an_unknown_erasure_is_refused_with_the_available_ones(model: MultimodalModel, encoding: Encoding) -> None:
    with pytest.raises(ExplanationError, match="Choose one of: mask, delete, zero, blur"):
        model.probabilities(encoding, np.ones((1, 54)), "shuffle")  # type: ignore[arg-type]


def test_the_image_may_be_cut_along_its_colours(model: MultimodalModel, example: Example) -> None:
    encoding = model.with_patching(Superpixels(count=8)).encode(example)
    patches = encoding.units[5:]
    assert 2 <= len(patches) <= 16
    assert patches[0].text == "region 1"
    assert np.isfinite(model.probabilities(encoding, np.eye(len(encoding.units)), "blur")).all()
    assert len(model.encode(example).units) == 5 + PATCHES  # the model itself is as it was


def test_a_large_image_is_explained_in_its_own_pixels(model: MultimodalModel, image: Callable[..., InputImage]) -> None:
    encoding = model.encode(Example(TEXT, image=image(0, 300, 400)))
    assert max(unit.box[2] for unit in encoding.units if unit.box) == 400
    assert np.isfinite(model.probabilities(encoding, masks(len(encoding.units)), "zero")).all()


@pytest.mark.parametrize("size", [(1, 1), (2, 90), (90, 2)])
def test_an_image_of_any_shape_is_explained(
    model: MultimodalModel, image: Callable[..., InputImage], size: tuple[int, int]
) -> None:
    encoding = model.encode(Example(TEXT, image=image(0, *size)))
    for erasure in MULTIMODAL_ERASURES:
        assert np.isfinite(model.probabilities(encoding, np.eye(len(encoding.units)), erasure)).all()


def test_words_and_patches_of_another_example_can_take_their_places(
    model: MultimodalModel, encoding: Encoding, image: Callable[..., InputImage]
) -> None:
    other = model.encode(Example("a dog", image=image(7)))
    whole = np.ones((1, len(encoding.units)))
    before = model.probabilities(encoding, whole)
    for loans in ({2: 1}, {30: 20}):
        assert not np.allclose(model.probabilities(replace_units(encoding, other, loans), whole), before)


def test_tokens_can_be_the_units_of_the_text(model: MultimodalModel, example: Example) -> None:
    assert len(model.encode(example, "token").units) == 5 + PATCHES


def test_a_long_text_is_cut_where_the_model_s_positions_end(model: MultimodalModel, example: Example) -> None:
    encoding = model.encode(replace(example, text="cat " * 600))
    assert "too long for this model" in encoding.warning
    assert np.isfinite(model.probabilities(encoding, np.ones((1, len(encoding.units))))).all()
