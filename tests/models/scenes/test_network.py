import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from explainers.models.scenes.network import (
    CLS,
    INPUTS,
    LONGEST,
    MASK,
    PAD,
    PATCH_ID,
    PATCHES,
    SEP,
    SPECIAL,
    UNK,
    SceneNetwork,
    framed,
    scaled,
    split_patches,
    train_tokenizer,
)
from explainers.models.scenes.samples import generate_sentences


def box_of(number: int) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of a patch in the image that is read: four columns to each of the squares."""
    row, column = divmod(number, 12)
    left = (0, 150, 300)[column // 4] + column % 4 * 25
    return left, row * 25, left + 25, row * 25 + 25


@pytest.mark.parametrize("number", [0, 3, 4, 11, 12, 30, 36, 47])
def test_painting_the_box_of_a_patch_changes_that_row_of_the_cut_alone(number: int) -> None:
    before = np.random.default_rng(0).integers(0, 200, (100, 400, 3), dtype=np.uint8)
    after = before.copy()
    left, top, right, bottom = box_of(number)
    after[top:bottom, left:right] = 255
    changed = (split_patches(before) != split_patches(after)).any(1)
    assert np.flatnonzero(changed).tolist() == [number]
    assert (split_patches(after)[number] == 255).all()


def test_a_patch_holds_its_pixels_row_by_row() -> None:
    pixels = np.zeros((100, 400, 3), np.uint8)
    pixels[25, 151] = (1, 2, 3)  # second row of patches, second square, its second column of pixels
    pixels[26, 150] = (4, 5, 6)
    patch = split_patches(pixels)[16]
    assert patch[3:6].tolist() == [1, 2, 3]
    assert patch[75:78].tolist() == [4, 5, 6]
    assert np.count_nonzero(split_patches(pixels)) == 6


def test_the_strips_between_the_squares_are_not_read() -> None:
    pixels = np.zeros((100, 400, 3), np.uint8)
    pixels[:, 100:150] = pixels[:, 250:300] = 255
    assert not split_patches(pixels).any()


def test_several_images_are_cut_as_each_alone() -> None:
    pair = np.random.default_rng(1).integers(0, 256, (2, 100, 400, 3), dtype=np.uint8)
    assert split_patches(pair).shape == (2, PATCHES, INPUTS) == (2, 48, 1875)
    assert np.array_equal(split_patches(pair), np.stack([split_patches(image) for image in pair]))


def test_colours_are_scaled_from_minus_1_to_1() -> None:
    for kind in (np.uint8, np.float32, np.float64):
        colours = np.array([0, 255, 51], kind)
        assert scaled(colours).tolist() == pytest.approx([-1, 1, -0.6])
        assert colours.tolist() == [0, 255, 51]


def test_patches_stand_between_the_frame_and_the_words() -> None:
    ids, kinds = framed([20, 21], patches=3)
    assert ids == [CLS, PATCH_ID, PATCH_ID, PATCH_ID, SEP, 20, 21, SEP]
    assert kinds == [0, 1, 1, 1, 0, 0, 0, 0]


@pytest.fixture
def inputs(tokenizer: Tokenizer) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
    """Ids, patches, their numbers and the rest of an input."""
    ids, kinds = framed(tokenizer.encode("two blue circles", add_special_tokens=False).ids)
    patches = torch.randn(1, PATCHES, INPUTS, generator=torch.Generator().manual_seed(0))
    rest = {"token_type_ids": torch.tensor([kinds]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
    return torch.tensor([ids]), patches, torch.arange(PATCHES)[None], rest


NetworkInputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]


def test_the_order_in_which_patches_stand_does_not_matter_but_their_place_does(
    small_network: SceneNetwork, inputs: NetworkInputs
) -> None:
    ids, patches, numbers, rest = inputs
    order = torch.randperm(PATCHES, generator=torch.Generator().manual_seed(1))
    plain = small_network(inputs_embeds=small_network.embeds(ids, patches, numbers), **rest)
    reordered = small_network(inputs_embeds=small_network.embeds(ids, patches[:, order], numbers[:, order]), **rest)
    moved = small_network(inputs_embeds=small_network.embeds(ids, patches[:, order], numbers), **rest)
    assert torch.allclose(plain, reordered, atol=1e-4)
    assert not torch.allclose(plain, moved, atol=1e-2)


def test_the_order_of_the_words_matters(small_network: SceneNetwork, inputs: NetworkInputs) -> None:
    ids, patches, numbers, rest = inputs
    turned = ids.clone()
    turned[0, 50:53] = ids[0, 50:53].flip(0)
    one, other = (
        small_network(inputs_embeds=small_network.embeds(token_ids, patches, numbers), **rest)
        for token_ids in (ids, turned)
    )
    assert not torch.allclose(one, other, atol=1e-2)


def test_padding_changes_nothing(small_network: SceneNetwork, inputs: NetworkInputs) -> None:
    ids, patches, numbers, rest = inputs
    embeds = small_network.embeds(ids, patches, numbers)
    longer = {name: torch.nn.functional.pad(part, (0, 5)) for name, part in rest.items()}
    padded = torch.nn.functional.pad(embeds, (0, 0, 0, 5), value=9.0)
    plain, filled = small_network(inputs_embeds=embeds, **rest), small_network(inputs_embeds=padded, **longer)
    assert torch.allclose(plain, filled, atol=1e-4)


def test_special_tokens_have_their_ids(tokenizer: Tokenizer) -> None:
    assert (
        [tokenizer.token_to_id(word) for word in SPECIAL] == [PAD, UNK, CLS, SEP, MASK, PATCH_ID] == [0, 1, 2, 3, 4, 5]
    )


@pytest.mark.parametrize("text", ["xylophone", "zq7", "Quetzalcoatl blue"])
def test_no_word_of_latin_letters_is_unknown(tokenizer: Tokenizer, text: str) -> None:
    assert UNK not in tokenizer.encode(text).ids


def test_common_words_are_one_piece(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("there are two blue circles touching", add_special_tokens=False).tokens == [
        "there", "are", "two", "blue", "circles", "touching",
    ]  # fmt: skip


def test_the_same_sentences_give_the_same_words_in_whatever_order(tokenizer: Tokenizer) -> None:
    again = train_tokenizer(generate_sentences(300, 1)[::-1])
    assert again.get_vocab() == tokenizer.get_vocab()


def test_a_long_sentence_is_cut(tokenizer: Tokenizer) -> None:
    assert len(tokenizer.encode("blue " * 100).ids) == LONGEST


def test_pieces_of_words_are_no_special_tokens(tokenizer: Tokenizer) -> None:
    assert {token.content for token in tokenizer.get_added_tokens_decoder().values()} == set(SPECIAL)
