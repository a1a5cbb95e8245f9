import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from explainers.models.scenes.network import INPUTS, PATCHES, SceneNetwork, cut, scaled
from explainers.models.scenes.reader import CLS, LONGEST, LOOK, MASK, PAD, SEP, SPECIAL, UNK, framed, learned
from explainers.models.scenes.samples import sentences


def box_of(number: int) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of a patch in the picture that is read: four columns to each of the squares."""
    row, column = divmod(number, 12)
    left = (0, 150, 300)[column // 4] + column % 4 * 25
    return left, row * 25, left + 25, row * 25 + 25


@pytest.mark.parametrize("number", [0, 3, 4, 11, 12, 30, 36, 47])
def test_painting_the_box_of_a_patch_changes_that_row_of_the_cut_alone(number: int) -> None:
    before = np.random.default_rng(0).integers(0, 200, (100, 400, 3), dtype=np.uint8)
    after = before.copy()
    left, top, right, bottom = box_of(number)
    after[top:bottom, left:right] = 255
    changed = (cut(before) != cut(after)).any(1)
    assert np.flatnonzero(changed).tolist() == [number]
    assert (cut(after)[number] == 255).all()


def test_a_patch_holds_its_pixels_row_by_row() -> None:
    pixels = np.zeros((100, 400, 3), np.uint8)
    pixels[25, 151] = (1, 2, 3)  # second row of patches, second square, its second column of pixels
    pixels[26, 150] = (4, 5, 6)
    patch = cut(pixels)[16]
    assert patch[3:6].tolist() == [1, 2, 3]
    assert patch[75:78].tolist() == [4, 5, 6]
    assert np.count_nonzero(cut(pixels)) == 6


def test_the_strips_between_the_squares_are_not_read() -> None:
    pixels = np.zeros((100, 400, 3), np.uint8)
    pixels[:, 100:150] = pixels[:, 250:300] = 255
    assert not cut(pixels).any()


def test_several_pictures_are_cut_as_each_alone() -> None:
    pair = np.random.default_rng(1).integers(0, 256, (2, 100, 400, 3), dtype=np.uint8)
    assert cut(pair).shape == (2, PATCHES, INPUTS) == (2, 48, 1875)
    assert np.array_equal(cut(pair), np.stack([cut(each) for each in pair]))


def test_colours_are_scaled_from_minus_1_to_1() -> None:
    for kind in (np.uint8, np.float32, np.float64):
        given = np.array([0, 255, 51], kind)
        assert scaled(given).tolist() == pytest.approx([-1, 1, -0.6])
        assert given.tolist() == [0, 255, 51]


def test_patches_stand_between_the_frame_and_the_words() -> None:
    ids, kinds = framed([20, 21], patches=3)
    assert ids == [CLS, LOOK, LOOK, LOOK, SEP, 20, 21, SEP]
    assert kinds == [0, 1, 1, 1, 0, 0, 0, 0]


@pytest.fixture
def inputs(reader: Tokenizer) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
    """Ids, patches, their numbers and the rest of an input."""
    ids, kinds = framed(reader.encode("two blue circles", add_special_tokens=False).ids)
    looks = torch.randn(1, PATCHES, INPUTS, generator=torch.Generator().manual_seed(0))
    rest = {"token_type_ids": torch.tensor([kinds]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
    return torch.tensor([ids]), looks, torch.arange(PATCHES)[None], rest


Given = tuple[torch.Tensor, torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]


def test_the_order_in_which_patches_stand_does_not_matter_but_their_place_does(
    small_network: SceneNetwork, inputs: Given
) -> None:
    ids, looks, numbers, rest = inputs
    order = torch.randperm(PATCHES, generator=torch.Generator().manual_seed(1))
    plain = small_network(inputs_embeds=small_network.embeds(ids, looks, numbers), **rest)
    reordered = small_network(inputs_embeds=small_network.embeds(ids, looks[:, order], numbers[:, order]), **rest)
    moved = small_network(inputs_embeds=small_network.embeds(ids, looks[:, order], numbers), **rest)
    assert torch.allclose(plain, reordered, atol=1e-4)
    assert not torch.allclose(plain, moved, atol=1e-2)


def test_the_order_of_the_words_matters(small_network: SceneNetwork, inputs: Given) -> None:
    ids, looks, numbers, rest = inputs
    turned = ids.clone()
    turned[0, 50:53] = ids[0, 50:53].flip(0)
    one, other = (
        small_network(inputs_embeds=small_network.embeds(each, looks, numbers), **rest) for each in (ids, turned)
    )
    assert not torch.allclose(one, other, atol=1e-2)


def test_padding_changes_nothing(small_network: SceneNetwork, inputs: Given) -> None:
    ids, looks, numbers, rest = inputs
    embeds = small_network.embeds(ids, looks, numbers)
    longer = {name: torch.nn.functional.pad(part, (0, 5)) for name, part in rest.items()}
    padded = torch.nn.functional.pad(embeds, (0, 0, 0, 5), value=9.0)
    plain, filled = small_network(inputs_embeds=embeds, **rest), small_network(inputs_embeds=padded, **longer)
    assert torch.allclose(plain, filled, atol=1e-4)


def test_the_words_numbers_are_what_is_said_of_them(reader: Tokenizer) -> None:
    assert [reader.token_to_id(word) for word in SPECIAL] == [PAD, UNK, CLS, SEP, MASK, LOOK] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("text", ["xylophone", "zq7", "Quetzalcoatl blue"])
def test_no_word_of_latin_letters_is_unknown(reader: Tokenizer, text: str) -> None:
    assert UNK not in reader.encode(text).ids


def test_common_words_are_one_piece(reader: Tokenizer) -> None:
    assert reader.encode("there are two blue circles touching", add_special_tokens=False).tokens == [
        "there", "are", "two", "blue", "circles", "touching",
    ]  # fmt: skip


def test_the_same_sentences_give_the_same_words_in_whatever_order(reader: Tokenizer) -> None:
    again = learned(sentences(300, 1)[::-1])
    assert again.get_vocab() == reader.get_vocab()


def test_a_long_sentence_is_cut(reader: Tokenizer) -> None:
    assert len(reader.encode("blue " * 100).ids) == LONGEST


def test_pieces_of_words_are_no_special_tokens(reader: Tokenizer) -> None:
    assert {token.content for token in reader.get_added_tokens_decoder().values()} == set(SPECIAL)
