import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel

from explainers.datasets import esnli
from explainers.errors import ModelUnavailable
from explainers.narrative import language as languages
from explainers.narrative.language import (
    LONGEST,
    PIECES,
    Language,
    language,
    padded,
    pretrained,
    small,
    vocabulary,
    written,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the film was dull", "The film was dull."),
        ("the film was dull .", "The film was dull."),
        ("was it ? no , it was not !", "Was it? No, it was not!"),
        ("i think i am", "I think I am."),
        ("", ""),
    ],
)
def test_sentences_are_written_as_people_write(text: str, expected: str) -> None:
    assert written(text) == expected


def test_a_sentence_comes_back_from_its_ids(spoken: Language) -> None:
    text = "The answer is neutral because the film was very good."
    assert spoken.text(spoken.ids(text)) == text


def test_a_text_ends_and_nothing_after_the_end_is_read(spoken: Language) -> None:
    ids = spoken.ids("the film was good")
    assert ids.count(spoken.ends) == 1
    assert ids[-1] == spoken.ends
    assert spoken.text([*ids, *ids, spoken.pads]) == "The film was good."


def test_a_long_text_is_cut_and_leaves_room_for_the_state(spoken: Language) -> None:
    ids = spoken.ids("film " * 200)
    assert len(ids) == LONGEST - 1
    assert ids[-1] == spoken.ends


def test_class_names_are_never_cut_wherever_they_stand(spoken: Language) -> None:
    for label in esnli.LABELS:
        (piece,) = spoken.within(label)
        assert spoken.ids(f"It is {label.upper()}, yes").count(piece) == 1
        assert spoken.ids(label)[0] == piece


def test_the_vocabulary_is_the_same_for_the_same_texts_and_no_larger_than_asked() -> None:
    texts = [f"{a}{b}{c} word" for a in "abcdefghijklmnop" for b in "qrstuvwxyz" for c in "aeioubcdfghjklmnpqrst"]
    first, second = (vocabulary(texts, ("neutral",)) for _ in range(2))
    assert first.get_vocab() == second.get_vocab()
    assert 200 < first.get_vocab_size() <= PIECES


def hubs(end: str) -> Tokenizer:
    """Byte pairs as GPT-2 has them: a word inside a sentence is another piece than at its beginning."""
    pieces = ["n", "e", "u", "Ġ", "Ġn", "ne", "Ġne", "neu", "Ġneu", "i", "s", "_"]
    merges = [("Ġ", "n"), ("n", "e"), ("Ġn", "e"), ("ne", "u"), ("Ġne", "u")]
    found = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, merges))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    found.add_special_tokens([end])
    return found


@pytest.mark.parametrize("end", ["<|endoftext|>", "</s>"])
def test_a_hubs_vocabulary_pads_with_its_end(end: str) -> None:
    found = language(hubs(end))
    assert found.pads == found.ends == found.tokenizer.token_to_id(end)
    assert found.silent == ()


def test_a_label_is_looked_for_as_it_stands_inside_a_sentence() -> None:
    found = language(hubs("</s>"))
    assert found.within("neu") == [found.tokenizer.token_to_id("Ġneu")]
    assert found.within("neu") != found.tokenizer.encode("neu").ids
    assert set(found.within("neu")) <= set(found.ids("is neu"))


def test_a_vocabulary_without_an_end_gets_a_sentence() -> None:
    with pytest.raises(ModelUnavailable, match="no token for the end of a text"):
        language(hubs("[SEP]"))


def test_the_small_model_has_room_for_the_longest_sentence() -> None:
    config = small(50).config
    assert (config.n_layer, config.n_embd, config.vocab_size) == (4, 224, 50)
    assert config.n_positions >= LONGEST


def test_a_language_model_that_does_not_load_gets_a_sentence(tmp_path) -> None:
    with pytest.raises(
        ModelUnavailable, match=rf"The language model '{tmp_path}' could not be loaded: .*or one of: small, tiny\."
    ):
        pretrained(str(tmp_path))


def test_a_folder_with_a_causal_model_is_a_language(tmp_path) -> None:
    from transformers import PreTrainedTokenizerFast

    splitter = PreTrainedTokenizerFast(tokenizer_object=hubs("<|endoftext|>"), eos_token="<|endoftext|>")
    splitter.save_pretrained(tmp_path)
    config = GPT2Config(vocab_size=13, n_embd=8, n_layer=1, n_head=1, bos_token_id=12, eos_token_id=12)
    GPT2LMHeadModel(config).save_pretrained(tmp_path)
    phi, found = languages.pretrained(str(tmp_path))
    assert phi.get_input_embeddings().num_embeddings == found.size == 13
    assert found.text(found.ids("neu is")) == "Neu is."


def test_rows_of_unequal_length_stand_side_by_side() -> None:
    ids, real = padded([[5, 6, 7], [8]], 0, torch.device("cpu"))
    assert ids.tolist() == [[5, 6, 7], [8, 0, 0]]
    assert real.tolist() == [[True, True, True], [True, False, False]]


def test_a_filler_that_is_also_a_word_is_still_real_where_it_was_said() -> None:
    _, real = padded([[1, 0], [2]], 0, torch.device("cpu"))
    assert real.tolist() == [[True, True], [True, False]]
