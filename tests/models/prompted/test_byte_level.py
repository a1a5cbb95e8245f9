"""Prompts with a tokenizer as those of GPT-2, Llama 3 and Qwen: spaces before words, a token that begins a text, joined
marks."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from explainers import ExplanationError, explain, load
from explainers.models.frozen_model import FrozenModel
from explainers.models.precision import UsedPrecision
from explainers.models.prompt import Prompt, PromptError
from explainers.models.prompted import loading
from explainers.models.prompted.model import PromptedModel
from tests.models.prompted.conftest import byte_level, language_model, write_byte_level

CLASSES = {"no": "old", "yes": "new"}
REVIEW = Prompt("Review: {text}\n Sentiment:", CLASSES)
Opened = Callable[..., PromptedModel]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    from explainers.installation import STORE_VARIABLE

    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))

    def load_it(prompt: Prompt, begins: str = "<s>", ends: str = "", chat: str | None = None) -> PromptedModel:
        folder = tmp_path / f"llama {begins.strip('<>')}{ends.strip('</>')}{bool(chat)}"
        if not folder.is_dir():
            write_byte_level(folder, chat, begins, ends)
        model = load(str(folder), prompt=prompt, device="cpu")
        assert isinstance(model, PromptedModel)
        return model

    return load_it


def pieces(model: PromptedModel, ids: tuple[int, ...]) -> list[str]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model.name.rpartition(":")[0])
    return list(tokenizer.convert_ids_to_tokens(list(ids)))


def test_a_space_before_the_text_belongs_to_its_first_word(opened: Opened) -> None:
    model = opened(REVIEW)
    encoding = model.encode("long film.")
    assert pieces(model, encoding.ids) == [
        "<s>", "Review", ":", "Ġlong", "Ġfilm", ".Ċ", "ĠSentiment", ":",
    ]  # fmt: skip
    assert encoding.owners == (-1, -1, -1, 0, 1, -1, -1, -1)  # the joined mark is the template's
    assert [(unit.text, unit.start, unit.end) for unit in encoding.units] == [("long", 0, 4), ("film", 5, 9)]
    assert encoding.texts == ("long film.",)
    spaced = model.encode(" long film. ")
    assert [unit.text for unit in spaced.units] == ["long", "film", "."]


@pytest.mark.parametrize("ends", ["", "</s>"])
def test_a_token_that_ends_a_text_is_left_out(opened: Opened, ends: str) -> None:
    model = opened(REVIEW, ends=ends)
    assert pieces(model, model.encode("long film").ids)[-1] == ":"
    assert [tokens for tokens in model.tokens] == [(" old",), (" new",)]


@pytest.mark.parametrize(
    "template", ["Review: {text}", "Review: {text}\n Sentiment:", "{text} was", "is {text} {text_pair}"]
)
def test_every_mask_answers_alone_as_in_a_batch(opened: Opened, template: str) -> None:
    model = opened(Prompt(template, CLASSES))
    from explainers.datasets.example import Example

    encoding = model.encode(Example("long film", "a plot" if "pair" in template else None))
    units = len(encoding.units)
    keeps = np.vstack([np.zeros(units, bool), np.ones(units, bool), np.eye(units, dtype=bool)])
    for erasure in model.erasures:
        together = model.probabilities(encoding, keeps, erasure)
        for keep, row in zip(keeps, together, strict=True):
            assert model.probabilities(encoding, keep[None], erasure)[0] == pytest.approx(row, abs=1e-5)
        layers, model.cache.layers = model.cache.layers, []
        assert model.probabilities(encoding, keeps, erasure) == pytest.approx(together, abs=1e-5)
        model.cache.layers = layers


def test_a_template_without_words_is_a_sentence(opened: Opened) -> None:
    with pytest.raises(PromptError, match="needs words beside the text"):
        opened(Prompt("{text}", CLASSES), begins="")
    assert opened(Prompt("{text}", CLASSES)).fixed


def test_digits_whose_space_is_a_token_are_told_apart(opened: Opened) -> None:
    model = opened(Prompt("Review: {text} is", {"bad": "1", "good": "5"}))
    assert model.tokens == (("1",), ("5",))
    assert pieces(model, model.encode("long film").ids)[-1] == "Ġ"
    with pytest.raises(PromptError, match="a token of a space before '1'"):
        opened(Prompt("Review: {text} is", {"bad": "1", "good": "new"}))


def test_a_word_that_the_tokenizer_joins_with_the_template_is_refused(opened: Opened) -> None:
    with pytest.raises(PromptError, match="cannot be told from the end"):
        opened(Prompt("the {text} ol", {"no": "d", "yes": "new"}, chat=True), chat="{{ messages[0]['content'] }}")


def test_the_beginning_of_a_text_is_written_once(opened: Opened) -> None:
    model = opened(
        Prompt("film {text} plot", CLASSES, chat=True), chat="{{ bos_token }}the {{ messages[0]['content'] }} :"
    )
    assert pieces(model, model.encode("was long").ids).count("<s>") == 1


def test_prompts_of_one_model_share_its_network_and_lock(opened: Opened) -> None:
    first, second = opened(REVIEW), opened(Prompt("{text} was", CLASSES))
    assert first.opened is second.opened
    assert first.lock is second.lock
    assert first.words.decoder.network is second.words.decoder.network
    encoding = first.encode("a long film was new")
    keeps = np.random.default_rng(0).random((12, len(encoding.units))) > 0.4
    alone = {model.name: model.probabilities(encoding, keeps, "zero") for model in (first, second)}

    def ask(model: PromptedModel) -> bool:
        return bool(np.allclose(model.probabilities(encoding, keeps, "zero"), alone[model.name], atol=1e-5))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(ask, [first, second] * 8))
    name = first.name
    del first, second, ask
    assert opened(REVIEW).name == name


def test_a_network_goes_with_the_last_of_its_prompts(opened: Opened) -> None:
    import gc

    model = opened(REVIEW)
    keys = [key for key, value in loading._networks.items() if value is model.opened]
    assert len(keys) == 1
    del model
    gc.collect()
    assert keys[0] not in loading._networks


def test_kept_keys_and_values_are_computed_where_the_input_is(opened: Opened) -> None:
    model = opened(REVIEW)
    encoding = model.encode("a long film")
    expected = model.probabilities(encoding, np.ones((1, 3)))
    assert model.cache.layers
    elsewhere = [tuple(part.to("meta") for part in layer) for layer in model.cache.layers]
    model.cache.layers = elsewhere  # type: ignore[assignment]
    assert model.probabilities(encoding, np.ones((1, 3))) == pytest.approx(expected)
    assert model.cache.layers[0][0].device.type == "cpu"


def test_a_prefix_that_was_kept_in_bfloat16_is_not_used_in_float32(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", lambda *_: UsedPrecision("bfloat16"))
    model = opened(REVIEW)
    encoding = model.encode("a long film")
    exact = model.probabilities(encoding, np.ones((1, 3)))
    rounded = model.in_precision("bfloat16").probabilities(encoding, np.ones((1, 3)))
    assert model.cache.rounded
    assert 0 < np.abs(rounded - exact).max() < 0.1
    assert (model.probabilities(encoding, np.ones((1, 3))) == exact).all()


def test_batches_are_no_larger_than_memory_allows(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    model = opened(REVIEW)
    encoding = model.encode("a long film")
    kept = model.cache.bytes_per_row
    assert kept == sum(part.nbytes for layer in model.cache.layers or () for part in layer) > 0
    assert (
        model.rows_of_masks(encoding, "delete") > model.rows_of_masks(encoding, "zero") == model.rows_at_once(encoding)
    )
    monkeypatch.setattr("explainers.models.prompted.model.MOST_BYTES", 3 * kept)
    assert model.rows_of_masks(encoding, "delete") == 3
    monkeypatch.setattr("explainers.models.prompted.model.MOST_BYTES", 1)
    assert model.rows_of_masks(encoding, "delete") == 1


def test_what_was_erased_for_good_counts_for_the_share_of_words(opened: Opened) -> None:
    model = opened(REVIEW)
    encoding = model.encode("a long film")
    shares = {
        erasure: model.share_of_words(model.without(encoding, [1], erasure)) for erasure in ("mask", "delete", "zero")
    }
    assert len({round(share, 9) for share in (*shares.values(), model.share_of_words(encoding))}) == 4


def test_a_decoder_deletes_words_even_if_its_tokenizer_has_a_mask_token(opened: Opened) -> None:
    assert opened(REVIEW).default_erasure == "delete"


def test_only_words_of_the_text_are_explained(opened: Opened) -> None:
    comparison = explain(opened(REVIEW), "a long film.", methods=("occlusion", "integrated_gradients"), steps=5)
    assert [unit.text for unit in comparison.decision.encoding.units] == ["a", "long", "film"]
    with pytest.raises(ExplanationError, match="The text is empty"):
        explain(opened(REVIEW), ".", methods="occlusion")


def test_a_language_model_in_memory_is_explained_as_a_loaded_one_and_stays_as_it_was(
    opened: Opened, tmp_path: Path
) -> None:
    from explainers import wrap

    loaded = opened(REVIEW)
    tokenizer = byte_level()
    tokenizer.chat_template = "the {{ messages[0]['content'] }} :"
    network = language_model("llama", len(tokenizer)).train()
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    model = wrap(network, tokenizer, prompt=REVIEW)
    encoding = model.encode("a long film")
    keeps = np.eye(3, dtype=bool)
    expected = loaded.probabilities(loaded.encode("a long film"), keeps, "delete")
    assert model.probabilities(encoding, keeps, "delete") == pytest.approx(expected, abs=1e-5)
    assert network.training
    assert all(torch.equal(before[name], weight) for name, weight in network.state_dict().items())
    assert model.version.startswith("memory-")
    assert model.version != wrap(network, tokenizer, prompt=Prompt("{text} was", CLASSES)).version
    chat = wrap(network, tokenizer, prompt=Prompt("film {text} plot", CLASSES, chat=True))
    assert list(chat.encode("was").ids) == tokenizer("the film was plot :").input_ids
    assert explain(model, "a long film", methods=("occlusion", "integrated_gradients"), steps=5).failures == ()


def test_a_model_in_memory_that_is_no_language_model_is_a_sentence(bert: FrozenModel) -> None:
    from explainers import wrap

    tokenizer = byte_level()
    with pytest.raises(ExplanationError, match="is no decoder with one linear layer that chooses the next word"):
        wrap(bert.module, tokenizer, prompt=REVIEW)  # type: ignore[arg-type]
    with pytest.raises(PromptError, match="has no chat format"):
        wrap(language_model("llama", len(tokenizer)), tokenizer, prompt=Prompt("{text} was", CLASSES, chat=True))


def test_inference_leaves_no_gradient_behind(opened: Opened) -> None:
    model = opened(REVIEW)
    encoding = model.encode("a long film")
    model.probabilities(encoding, np.ones((1, 3)))
    keeps = torch.ones(1, 3, requires_grad=True)
    (gradient,) = torch.autograd.grad(model.soft(encoding, keeps, "mask").sum(), keeps)
    assert torch.isfinite(gradient).all()
    assert all(parameter.grad is None for parameter in model.words.parameters())
