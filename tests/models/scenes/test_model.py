"""What `scenes` promises as every model does, and that words and patches are erased alike."""

import io
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from explainers.datasets.example import Example, InputImage
from explainers.errors import DataUnavailable, ExplanationError
from explainers.models.calls import Meter
from explainers.models.catalog import fingerprint
from explainers.models.inputs.encoding import MULTIMODAL_ERASURES, NO_UNIT, Encoding, Erasure, encode
from explainers.models.precision import UsedPrecision
from explainers.models.scenes.model import FITTED, SceneModel, close_gaps, fit_image
from explainers.models.scenes.network import framed, scaled, split_patches

every_erasure = pytest.mark.parametrize("erasure", MULTIMODAL_ERASURES)
every_smooth_erasure = pytest.mark.parametrize("erasure", ["mask", "blur", "zero"])
WORDS, PATCHES = 9, 48


@pytest.fixture
def encoding(model: SceneModel, example: Example) -> Encoding:
    return model.encode(example)


def masks(units: int) -> NDArray[np.bool_]:
    """Everything, nothing, without a word, without a patch, words alone, patches alone, and by chance."""
    result = np.ones((9, units), dtype=bool)
    result[1] = result[2, 1] = result[3, 20] = result[4, WORDS:] = result[5, :WORDS] = False
    result[6:] = np.random.default_rng(0).random((3, units)) < 0.5
    return result


def asked_directly(
    model: SceneModel, encoding: Encoding, raw_patches: NDArray[np.uint8], kept: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """The network's own forward: ids and patches (48, 1875) as training gives them, or only the tokens in `kept`."""
    network = model.module
    ids, kinds = torch.tensor([encoding.ids]), torch.tensor([encoding.segments])
    embeds = network.embeds(ids, scaled(raw_patches.astype(np.float32))[None], torch.arange(PATCHES)[None])
    places = slice(None) if kept is None else np.flatnonzero(kept)
    with torch.inference_mode():
        logits = network(inputs_embeds=embeds[:, places], token_type_ids=kinds[:, places])
    return np.asarray(logits.softmax(-1)[0].double())


def patches(encoding: Encoding) -> NDArray[np.uint8]:
    assert encoding.image is not None
    return split_patches(fit_image(encoding.image).pixels).copy()


@every_erasure
def test_bfloat16_reaches_every_thread_and_the_answer_is_near(
    model: SceneModel, encoding: Encoding, erasure: Erasure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", lambda *_: UsedPrecision("bfloat16"))
    kinds: set[torch.dtype] = set()
    model.module.head[-1].register_forward_hook(lambda _module, _args, output: kinds.add(output.dtype))
    rounded = model.in_precision("bfloat16").probabilities(encoding, masks(len(encoding.units)), erasure)
    assert kinds == {torch.bfloat16}
    exact = model.probabilities(encoding, masks(len(encoding.units)), erasure)
    assert 0 < np.abs(rounded - exact).max() < 0.1


def test_with_everything_kept_it_is_the_networks_own_answer(model: SceneModel, encoding: Encoding) -> None:
    (result,) = model.probabilities(encoding, np.ones((1, WORDS + PATCHES)))
    assert result == pytest.approx(asked_directly(model, encoding, patches(encoding)), abs=1e-5)
    assert result.sum() == pytest.approx(1)


def test_an_erased_patch_shows_the_mean_colour_of_the_whole_image(model: SceneModel, encoding: Encoding) -> None:
    keeps = np.ones(WORDS + PATCHES)
    keeps[WORDS + 12] = 0  # of nothing but the blue square
    raw_patches = patches(encoding).astype(np.float64)
    painted = raw_patches.copy()
    painted[12] = np.tile(raw_patches.reshape(-1, 3).mean(0), 625)
    whole, without = (asked_directly(model, encoding, pixels) for pixels in (raw_patches, painted))
    assert model.probabilities(encoding, keeps)[0] == pytest.approx(without, abs=1e-5)
    assert np.abs(whole - without).max() > 1e-3


def test_a_blurred_patch_shows_the_image_without_its_detail(model: SceneModel, encoding: Encoding) -> None:
    keeps = np.ones(WORDS + PATCHES)
    keeps[WORDS:] = 0
    blurred, masked = (model.probabilities(encoding, keeps, erasure)[0] for erasure in ("blur", "mask"))
    assert np.abs(blurred - masked).max() > 1e-3
    plain = InputImage.of(np.full((100, 400, 3), 90, np.uint8))  # an image without detail loses nothing by blurring
    flat = model.encode(Example("two circles", image=plain))
    keeps = np.ones((2, 2 + PATCHES))
    keeps[1, 2:] = 0
    one, other = model.probabilities(flat, keeps, "blur")
    assert one == pytest.approx(other, abs=1e-5)


def test_by_blur_words_are_masked(model: SceneModel, encoding: Encoding) -> None:
    keeps = np.ones(WORDS + PATCHES)
    keeps[2] = 0
    result = model.probabilities(encoding, keeps, "blur")
    assert result == pytest.approx(model.probabilities(encoding, keeps, "mask"), abs=1e-5)


def test_masked_words_are_the_mask_token(model: SceneModel, encoding: Encoding) -> None:
    keeps = np.ones(WORDS + PATCHES)
    keeps[2] = 0
    ids = tuple(
        model.mask_token if owner == 2 else token for token, owner in zip(encoding.ids, encoding.owners, strict=True)
    )
    assert ids != encoding.ids
    expected = asked_directly(model, replace(encoding, ids=ids), patches(encoding))
    assert model.probabilities(encoding, keeps)[0] == pytest.approx(expected, abs=1e-5)


def test_what_is_deleted_is_really_left_out(model: SceneModel, encoding: Encoding) -> None:
    keeps = masks(WORDS + PATCHES)
    result = model.probabilities(encoding, keeps, "delete")
    for answer, kept in zip(result, encoding.tokens_kept(keeps), strict=True):
        assert answer == pytest.approx(asked_directly(model, encoding, patches(encoding), kept), abs=1e-5)


def test_without_any_patch_the_words_are_read_as_if_no_image_stood_before_them(
    model: SceneModel, encoding: Encoding
) -> None:
    ids, kinds = framed(encoding.ids[50:-1], patches=0)
    with torch.inference_mode():
        logits = model.module(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([kinds]))
    keeps = np.arange(WORDS + PATCHES) < WORDS
    result = model.probabilities(encoding, keeps, "delete")[0]
    assert result == pytest.approx(np.asarray(logits.softmax(-1)[0]), abs=1e-5)


def test_zeroed_tokens_have_an_embedding_of_zero(model: SceneModel, encoding: Encoding) -> None:
    outputs: list[torch.Tensor] = []
    layer = model.base.encoder.layer[0]  # type: ignore[union-attr,index]
    handle = layer.register_forward_pre_hook(lambda _module, args: outputs.append(args[0]))
    try:
        keeps = np.ones(WORDS + PATCHES)
        keeps[[2, WORDS + 5]] = 0
        model.probabilities(encoding, keeps, "zero")
    finally:
        handle.remove()
    silent = np.flatnonzero(~outputs[0][0].abs().sum(-1).bool().numpy()).tolist()
    assert silent == [position for position, owner in enumerate(encoding.owners) if owner in (2, WORDS + 5)]


@every_erasure
def test_every_mask_changes_the_answer_and_batches_give_what_single_masks_give(
    model: SceneModel, encoding: Encoding, erasure: Erasure
) -> None:
    keeps = masks(WORDS + PATCHES)
    together = model.probabilities(encoding, keeps, erasure)
    alone = np.concatenate([model.probabilities(encoding, row, erasure) for row in keeps])
    assert together == pytest.approx(alone, abs=1e-5)
    assert together.sum(axis=1) == pytest.approx(np.ones(len(keeps)))
    assert len(np.unique(together.round(5), axis=0)) == len(keeps)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("erasure", ["mask", "blur", "delete", "zero"])
def test_two_threads_give_what_one_gives(model: SceneModel, encoding: Encoding, erasure: Erasure) -> None:
    keeps = np.random.default_rng(0).random((13, len(encoding.units))) < 0.6
    alone = model.probabilities(encoding, keeps, erasure)
    torch.set_num_threads(2)
    try:
        assert model.probabilities(encoding, keeps, erasure) == pytest.approx(alone, abs=1e-5)
    finally:
        torch.set_num_threads(1)


def test_equal_masks_are_computed_once_in_batches_that_fit(model: SceneModel, encoding: Encoding) -> None:
    keeps = masks(WORDS + PATCHES)
    expected = model.probabilities(encoding, keeps, "delete")
    meter = Meter()
    result = model.metered(meter).probabilities(encoding, np.vstack([keeps, keeps]), "delete")
    assert meter.calls == len(keeps)
    assert result == pytest.approx(np.vstack([expected, expected]), abs=1e-5)


@every_smooth_erasure
def test_soft_masks_of_0_and_1_are_hard_masks(model: SceneModel, encoding: Encoding, erasure: Erasure) -> None:
    keeps = masks(WORDS + PATCHES)
    with torch.no_grad():
        soft = model.soft_probabilities(encoding, torch.tensor(keeps).float(), erasure)
    assert soft.double().numpy() == pytest.approx(model.probabilities(encoding, keeps, erasure), abs=1e-5)


def test_what_cannot_be_deleted_by_halves_is_masked(model: SceneModel, encoding: Encoding) -> None:
    mask = torch.full((1, WORDS + PATCHES), 0.4)
    with torch.no_grad():
        assert torch.equal(model.soft(encoding, mask, "delete"), model.soft(encoding, mask, "mask"))


@every_smooth_erasure
def test_the_gradient_is_the_slope_and_reaches_every_unit(model: SceneModel, erasure: Erasure) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (100, 400, 3), dtype=np.uint8)  # no patch is its own replacement
    encoding = model.encode(Example("There are two yellow circles touching a wall.", image=InputImage.of(noise)))
    mask = torch.full((1, WORDS + PATCHES), 0.7, requires_grad=True)
    (gradient,) = torch.autograd.grad(model.soft(encoding, mask, erasure)[0, 1], mask)
    assert gradient[0].abs().min() > 0
    for unit in (1, 5, WORDS, WORDS + 30):
        step = torch.zeros_like(mask)
        step[0, unit] = 0.01
        with torch.no_grad():
            up, down = (model.soft(encoding, mask + sign * step, erasure)[0, 1] for sign in (1, -1))
        # single precision, and ReLU has corners
        assert float(gradient[0, unit]) == pytest.approx(float(up - down) / 0.02, rel=0.1, abs=5e-3)


@every_erasure
def test_what_was_erased_for_good_is_what_a_mask_would_erase(
    model: SceneModel, encoding: Encoding, erasure: Erasure
) -> None:
    erased_units = [2, 5, WORDS + 3, WORDS + 14]
    left = model.without(encoding, erased_units, erasure)
    stay = [unit for unit in range(WORDS + PATCHES) if unit not in erased_units]
    assert [unit.text for unit in left.units] == [encoding.units[unit].text for unit in stay]
    whole = np.ones((3, WORDS + PATCHES), dtype=bool)
    whole[:, erased_units] = False
    whole[1, [0, WORDS + 20]] = False
    whole[2, WORDS:] = False
    assert model.probabilities(left, whole[:, stay], erasure) == pytest.approx(
        model.probabilities(encoding, whole, erasure), abs=1e-5
    )


@every_smooth_erasure
def test_after_that_soft_masks_and_states_know_of_it_too(
    model: SceneModel, encoding: Encoding, erasure: Erasure
) -> None:
    left = model.without(encoding, [2, WORDS + 14], erasure)
    keeps = np.ones((2, len(left.units)), dtype=bool)
    keeps[1, [0, 20]] = False
    with torch.no_grad():
        soft = model.soft_probabilities(left, torch.tensor(keeps).float(), erasure)
    hard = model.probabilities(left, keeps, erasure)
    assert soft.double().numpy() == pytest.approx(hard, abs=1e-5)
    mean = model.states(left).hidden[-1].mean(0)
    assert np.asarray(model.module.head(mean).softmax(-1)) == pytest.approx(hard[0], abs=1e-5)


@every_erasure
def test_erasing_one_after_the_other_is_erasing_both(model: SceneModel, encoding: Encoding, erasure: Erasure) -> None:
    at_once = model.without(encoding, [2, WORDS + 14], erasure)
    first_the_word = model.without(model.without(encoding, [2], erasure), [WORDS - 1 + 14], erasure)
    first_the_patch = model.without(model.without(encoding, [WORDS + 14], erasure), [2], erasure)
    for other in (first_the_word, first_the_patch):
        assert (other.units, other.ids, other.owners, other.zeroed) == (
            at_once.units, at_once.ids, at_once.owners, at_once.zeroed,
        )  # fmt: skip
        assert other.patch_embeddings is not None
        assert at_once.patch_embeddings is not None
        assert np.array_equal(other.patch_embeddings.embeddings, at_once.patch_embeddings.embeddings)


def test_the_states_are_those_of_the_unmasked_input(model: SceneModel, encoding: Encoding) -> None:
    result = model.states(encoding)
    tokens = len(encoding.ids)
    assert [tuple(state.shape) for state in result.hidden] == [(tokens, 32)] * 7  # embeddings and six layers
    assert [tuple(layer.shape) for layer in result.attentions] == [(4, tokens, tokens)] * 6
    assert result.attentions[0].sum(-1).numpy() == pytest.approx(np.ones((4, tokens)), abs=1e-5)
    answer = model.module.head(result.hidden[-1].mean(0)).softmax(-1)
    assert np.asarray(answer) == pytest.approx(asked_directly(model, encoding, patches(encoding)), abs=1e-5)


@pytest.mark.parametrize("last_layer", [True, False])
def test_units_receive_the_attention_of_their_tokens(model: SceneModel, encoding: Encoding, last_layer: bool) -> None:
    layers = model.states(encoding).attentions
    mean = torch.stack(layers[-1:] if last_layer else layers).mean((0, 1, 2)).numpy()
    result = model.attention_received(encoding, last_layer=last_layer)
    assert len(result) == WORDS + PATCHES
    for unit in (0, 4, WORDS, WORDS + 47):
        assert result[unit] == pytest.approx(
            sum(mean[p] for p, owner in enumerate(encoding.owners) if owner == unit), abs=1e-5
        )


def condition(model: SceneModel) -> tuple[object, ...]:
    """Everything that an explanation could leave changed; transformers' own sleeping hooks do not count."""
    parts = list(model.module.modules())
    hooks = [
        hook
        for part in parts
        for name, result in vars(part).items()
        if name.endswith("_hooks")
        for hook in result.values()
        if getattr(hook, "__module__", "") != "transformers.utils.output_capturing"
    ]
    weights = [(weight.requires_grad, weight.grad is None) for weight in model.module.parameters()]
    return fingerprint(model), [part.training for part in parts], hooks, weights, torch.get_rng_state().tolist()


def everything(model: SceneModel, encoding: Encoding) -> None:
    for erasure in MULTIMODAL_ERASURES:
        model.probabilities(encoding, masks(WORDS + PATCHES), erasure)
        mask = torch.full((2, WORDS + PATCHES), 0.5, requires_grad=True)
        torch.autograd.grad(model.soft(encoding, mask, erasure).sum(), mask)
    model.states(encoding)


def test_the_model_is_unchanged_afterwards(model: SceneModel, example: Example) -> None:
    before = condition(model)
    everything(model, model.encode(example))
    assert condition(model) == before
    assert before[2] == []


def test_the_model_is_unchanged_after_an_exception_in_a_layer(
    model: SceneModel, encoding: Encoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = condition(model)

    def broken(*_args: object, **_named: object) -> object:
        raise RuntimeError("injected")

    with monkeypatch.context() as patch:
        patch.setattr(model.base.encoder.layer[1], "forward", broken)  # type: ignore[union-attr,index]
        for erasure in MULTIMODAL_ERASURES:
            with pytest.raises(RuntimeError, match="injected"):
                model.probabilities(encoding, masks(WORDS + PATCHES), erasure)
            with pytest.raises(RuntimeError, match="injected"):
                model.soft(encoding, torch.ones(1, WORDS + PATCHES, requires_grad=True), erasure)
        with pytest.raises(RuntimeError, match="injected"):
            model.states(model.without(encoding, [0], "zero"))
    assert condition(model) == before
    assert torch.is_grad_enabled()
    everything(model, encoding)


@pytest.mark.parametrize(
    ("example", "sentence"),
    [
        ("two circles", "small-scenes needs an image and a text; the image is missing. Add a PNG or JPEG file."),
        (Example("two circles"), "the image is missing"),
        (Example("", image=InputImage(b"x")), "The text is empty"),
        (Example(" \n", image=InputImage(b"x")), "The text is empty"),
        (Example("a", "b", image=InputImage(b"x")), "needs an image and one text. Omit the second text."),
    ],
)
def test_what_is_missing_or_too_much_is_a_sentence(model: SceneModel, example: str | Example, sentence: str) -> None:
    with pytest.raises(ExplanationError, match=sentence):
        model.encode(example)


def test_an_erasure_that_does_not_exist_is_answered_with_those_that_do(model: SceneModel, encoding: Encoding) -> None:
    with pytest.raises(ExplanationError, match="Choose one of: mask, delete, zero, blur"):
        model.probabilities(encoding, np.ones((1, WORDS + PATCHES)), "shuffle")  # type: ignore[arg-type]


def test_gaps_are_closed_in_order() -> None:
    kept = torch.tensor([[1, 0, 1, 1], [1, 0, 0, 1], [1, 1, 1, 0]]).bool()
    positions, real = close_gaps(kept)
    assert positions[real].tolist() == [0, 2, 3, 0, 3, 0, 1, 2]
    assert real.sum(1).tolist() == [3, 2, 3]
    assert positions.shape == (3, 3)


GREY = [211, 211, 211]


def noise(width: int, height: int) -> InputImage:
    return InputImage.of(np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8))


def test_an_image_of_the_models_size_is_read_as_it_is() -> None:
    original = noise(400, 100)
    fitted = fit_image(original)
    assert np.array_equal(fitted.pixels, original.pixels())
    assert (fitted.warning, fitted.has_margins) == ("", False)
    assert fitted.boxes[0] == (0, 0, 25, 25)
    assert fitted.boxes[4] == (150, 0, 175, 25)  # beyond the first strip
    assert fitted.boxes[47] == (375, 75, 400, 100)


def test_the_box_of_a_patch_is_where_its_pixels_are() -> None:
    original = noise(400, 100).pixels()
    fitted = fit_image(InputImage.of(original))
    for number, row in enumerate(split_patches(fitted.pixels)):
        left, top, right, bottom = fitted.boxes[number] or (0, 0, 0, 0)
        assert np.array_equal(row.reshape(25, 25, 3), original[top:bottom, left:right])


def test_an_image_twice_as_large_has_boxes_twice_as_large() -> None:
    small, large = fit_image(noise(400, 100)), fit_image(noise(800, 200))
    assert large.boxes == tuple(tuple(2 * side for side in box or ()) for box in small.boxes)
    assert large.warning == ""
    assert large.pixels.shape == (100, 400, 3)


@pytest.mark.parametrize(
    ("width", "height", "patches"),
    [
        (100, 100, 16),  # the middle square alone
        (60, 240, 8),  # 25 pixels wide, from 187 to 212: two columns of the middle square
        (200, 100, 16),  # from 100 to 300: both strips and the middle square
        (800, 100, 24),  # 50 pixels high, from 25 to 75
        (300, 100, 32),  # from 50 to 350: half of the first and of the last square
    ],
)
def test_another_shape_is_fitted_in_and_its_patches_lie_inside_it(width: int, height: int, patches: int) -> None:
    fitted = fit_image(noise(width, height))
    boxes = [box for box in fitted.boxes if box]
    assert len(boxes) == patches
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
    for one, other in combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    assert (fitted.warning, fitted.has_margins) == (FITTED, True)


def test_what_is_beside_the_image_is_grey_and_no_unit(model: SceneModel) -> None:
    fitted = fit_image(noise(100, 100))
    assert (fitted.pixels[:, :150] == GREY).all()
    assert (fitted.pixels[:, 250:] == GREY).all()
    assert [number for number, box in enumerate(fitted.boxes) if box] == [
        12 * row + column for row in range(4) for column in range(4, 8)
    ]
    encoding = model.encode(Example("two circles", image=noise(100, 100)))
    assert len(encoding.units) == 2 + 16
    assert encoding.owners.count(NO_UNIT) == 3 + 32  # [CLS], [SEP], [SEP] and 32 patches of grey


@pytest.mark.parametrize(("width", "height"), [(1, 1), (2, 3), (3, 3), (5, 1), (1, 9), (1000, 1), (1, 1000)])
def test_every_patch_that_shows_a_tiny_image_is_a_unit(width: int, height: int) -> None:
    fitted = fit_image(InputImage.of(np.zeros((height, width, 3), np.uint8)))
    visible = {number for number, row in enumerate(split_patches(fitted.pixels)) if (row != GREY[0]).any()}
    assert {number for number, box in enumerate(fitted.boxes) if box} == visible
    for box in filter(None, fitted.boxes):
        assert 0 <= box[0] < box[2] <= width
        assert 0 <= box[1] < box[3] <= height


def test_units_are_words_and_then_patches_row_by_row(model: SceneModel, example: Example) -> None:
    encoding = model.encode(example)
    words, patches = encoding.units[:9], encoding.units[9:]
    assert [word.text for word in words] == ["There", "are", "two", "yellow", "circles", "touching", "a", "wall", "."]
    assert [example.text[word.start : word.end] for word in words] == [word.text for word in words]
    assert {(word.kind, word.segment, word.box) for word in words} == {("word", 0, None)}
    assert [patch.text for patch in patches] == [f"row {r}, column {c}" for r in range(1, 5) for c in range(1, 13)]
    assert {(patch.kind, patch.segment, patch.start, patch.end) for patch in patches} == {("patch", 1, 0, 0)}
    assert patches[13].box == (25, 25, 50, 50)  # row 2, column 2


def test_the_image_stands_before_the_words(model: SceneModel, example: Example) -> None:
    encoding = model.encode(example)
    words = encode(model.tokenizer, (example.text,), "word")
    assert encoding.owners == (NO_UNIT, *range(9, 57), NO_UNIT, *words.owners[1:-1], NO_UNIT)
    assert encoding.ids[50:] == words.ids[1:]
    assert encoding.segments == (0, *[1] * 48, 0, *[0] * (len(words.ids) - 1))
    assert encoding.patch_embeddings is not None
    assert np.flatnonzero(encoding.patch_embeddings.is_patch).tolist() == list(range(1, 49))
    assert not encoding.patch_embeddings.embeddings[~encoding.patch_embeddings.is_patch].any()
    assert encoding.image is example.image
    assert encoding.multimodal


def test_tokens_can_be_the_units_of_the_words(model: SceneModel, example: Example) -> None:
    long = Example("Quetzalcoatl", image=example.image)
    pieces = len(model.tokenizer.encode("Quetzalcoatl", add_special_tokens=False).ids)
    assert pieces > 3
    assert len(model.encode(long, "word").units) == 1 + 48
    assert len(model.encode(long, "token").units) == pieces + 48


def test_a_long_text_and_a_square_image_both_give_a_warning(model: SceneModel) -> None:
    encoding = model.encode(Example("blue " * 100, image=noise(50, 50)))
    assert "The text is too long for this model" in encoding.warning
    assert FITTED in encoding.warning
    assert encoding.unlike_training
    assert not model.encode(Example("blue", image=noise(800, 200))).unlike_training


def test_transparency_gives_a_warning_too() -> None:
    file = io.BytesIO()
    Image.new("RGBA", (400, 100), (0, 0, 0, 0)).save(file, "PNG")
    fitted = fit_image(InputImage(file.getvalue()))
    assert fitted.warning == "Transparent parts of the image are read as white."
    assert (fitted.pixels == 255).all()


def test_what_is_no_image_is_a_sentence(model: SceneModel) -> None:
    with pytest.raises(DataUnavailable):
        model.encode(Example("two circles", image=InputImage(b"no picture")))
