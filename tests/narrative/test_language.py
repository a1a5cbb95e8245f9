import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from explainers.datasets import entailment
from explainers.errors import ModelUnavailable
from explainers.narrative.language import (
    LONGEST,
    PIECES,
    Language,
    capitalised,
    language_of,
    new_language_model,
    pad_rows,
    vocabulary,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the film was dull", "The film was dull."),
        ("the film was dull .", "The film was dull."),
        ("was it ? no , it was not !", "Was it? No, it was not!"),
        ("i think i am", "I think I am."),
        ("", ""),
        (
            "The answer is neutral because Not all men are blond.",
            "The answer is neutral because not all men are blond.",
        ),
        ("the answer is neutral because A man is tall", "The answer is neutral because a man is tall."),
        ("it is so because USA and I agree", "It is so because USA and I agree."),
        ("it is so because I agree", "It is so because I agree."),
        ("it is so because John is a man", "It is so because John is a man."),
        ("it is so because There are two", "It is so because there are two."),
    ],
)
def test_sentences_are_written_as_people_write(text: str, expected: str) -> None:
    assert capitalised(text) == expected


def test_a_sentence_comes_back_from_its_ids(language: Language) -> None:
    text = "The answer is neutral because the film was very good."
    assert language.text(language.ids(text)) == text


def test_a_text_ends_and_nothing_after_the_end_is_read(language: Language) -> None:
    ids = language.ids("the film was good")
    assert ids.count(language.end_id) == 1
    assert ids[-1] == language.end_id
    assert language.text([*ids, *ids, language.pad_id]) == "The film was good."


def test_a_long_text_is_cut_and_leaves_room_for_the_state(language: Language) -> None:
    ids = language.ids("film " * 200)
    assert len(ids) == LONGEST - 1
    assert ids[-1] == language.end_id


def test_class_names_are_never_cut_wherever_they_stand(language: Language) -> None:
    for label in entailment.LABELS:
        (piece,) = language.pieces_within(label)
        assert language.ids(f"It is {label.upper()}, yes").count(piece) == 1
        assert language.ids(label)[0] == piece


def test_the_vocabulary_is_the_same_for_the_same_texts_and_no_larger_than_asked() -> None:
    texts = [f"{a}{b}{c} word" for a in "abcdefghijklmnop" for b in "qrstuvwxyz" for c in "aeioubcdfghjklmnpqrst"]
    first, second = (vocabulary(texts, ("neutral",)) for _ in range(2))
    assert first.get_vocab() == second.get_vocab()
    assert 200 < first.get_vocab_size() <= PIECES


def hubs(end: str) -> Tokenizer:
    """Byte pairs as GPT-2 has them: a word inside a sentence is another piece than at its beginning."""
    pieces = ["n", "e", "u", "Ġ", "Ġn", "ne", "Ġne", "neu", "Ġneu", "i", "s", "_"]
    merges = [("Ġ", "n"), ("n", "e"), ("Ġn", "e"), ("ne", "u"), ("Ġne", "u")]
    result = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, merges))
    result.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    result.decoder = decoders.ByteLevel()
    result.add_special_tokens([end])
    return result


@pytest.mark.parametrize("end", ["<|endoftext|>", "</s>"])
def test_a_hubs_vocabulary_pads_with_its_end(end: str) -> None:
    language = language_of(hubs(end))
    assert language.pad_id == language.end_id == language.tokenizer.token_to_id(end)
    assert language.never_generated == ()


def test_a_label_is_looked_for_as_it_stands_inside_a_sentence() -> None:
    language = language_of(hubs("</s>"))
    assert language.pieces_within("neu") == [language.tokenizer.token_to_id("Ġneu")]
    assert language.pieces_within("neu") != language.tokenizer.encode("neu").ids
    assert set(language.pieces_within("neu")) <= set(language.ids("is neu"))


def test_a_vocabulary_without_an_end_gets_a_sentence() -> None:
    with pytest.raises(ModelUnavailable, match="no end-of-text token"):
        language_of(hubs("[CLS]"))


def test_the_small_model_has_room_for_the_longest_sentence() -> None:
    config = new_language_model(50).config
    assert (config.n_layer, config.n_embd, config.vocab_size) == (4, 224, 50)
    assert config.n_positions >= LONGEST


def test_rows_of_unequal_length_stand_side_by_side() -> None:
    ids, real = pad_rows([[5, 6, 7], [8]], 0, torch.device("cpu"))
    assert ids.tolist() == [[5, 6, 7], [8, 0, 0]]
    assert real.tolist() == [[True, True, True], [True, False, False]]


def test_a_pad_token_that_is_also_a_word_is_still_real_where_it_was_said() -> None:
    _, real = pad_rows([[1, 0], [2]], 0, torch.device("cpu"))
    assert real.tolist() == [[True, True], [True, False]]
