"""Language models that classify by class words: against the library, and against themselves."""

import gc
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from explainers import ExplanationError, explain, load
from explainers.datasets.example import Example
from explainers.errors import ModelUnavailable
from explainers.models import smollm2 as smollm2_module
from explainers.models.model_names import resolve_model_name
from explainers.models.prompt import Prompt, PromptCard, PromptError, save_prompt
from explainers.models.prompted import loading as adapters
from explainers.models.prompted.model import PromptedModel
from explainers.models.smollm2 import _write_card, version_on_card
from explainers.models.text.base_weights import sha256
from explainers.report.document import document
from explainers.report.terminal import comparison_lines
from explainers.report.wording import class_words_line, class_words_warning
from explainers.studies.architectures import FAMILIES
from tests.models.prompted.conftest import CHAT, KINDS

TEXT = "the plot seemed quite loud but the music felt bright"
Folder = Callable[..., str]


def opened(name: str, prompt: Prompt | None = None) -> PromptedModel:
    model = load(name, prompt=prompt, device="cpu")
    assert isinstance(model, PromptedModel)
    return model


def everything(model: PromptedModel, text: str = TEXT) -> np.ndarray:
    encoding = model.encode(text)
    return model.probabilities(encoding, np.ones((1, len(encoding.units))), "delete")[0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_family_answers_as_the_library(kind: str, folder: Folder, prompt: Prompt) -> None:
    path = folder(kind)
    model = opened(path, prompt)
    network: Any = AutoModelForCausalLM.from_pretrained(path).eval()
    tokenizer = AutoTokenizer.from_pretrained(path)
    ids = tokenizer(prompt.template.replace("{text}", TEXT), return_tensors="pt").input_ids
    words = [tokenizer(word).input_ids[0] for word in prompt.classes.values()]
    with torch.inference_mode():
        logits = network(ids).logits[0, -1]
    assert everything(model) == pytest.approx(logits[words].softmax(0).numpy(), abs=1e-5)
    share = model.share_of_words(model.encode(TEXT))
    assert share == pytest.approx(float(logits.softmax(0)[words].sum()), abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kept_prefix_and_a_batch_change_nothing(kind: str, folder: Folder, prompt: Prompt) -> None:
    model = opened(folder(kind), prompt)
    encoding = model.encode(TEXT)
    keeps = np.random.default_rng(0).random((6, len(encoding.units))) > 0.4
    for erasure in model.erasures:
        together = model.probabilities(encoding, keeps, erasure)
        assert np.ptp(together[:, 0]) > 0
        alone = np.vstack([model.probabilities(encoding, keep[None], erasure) for keep in keeps])
        assert together == pytest.approx(alone, abs=1e-5)
        prefix, model.cache.prefix = model.cache.prefix, ()
        assert together == pytest.approx(model.probabilities(encoding, keeps, erasure), abs=1e-5)
        model.cache.prefix = prefix


def test_the_prefix_is_kept_where_keys_and_values_are_plain(folder: Folder, prompt: Prompt) -> None:
    model = opened(folder("llama"), prompt)
    assert len(model.cache.prefix) == len(["the", "film", "was", "very", "long"])
    everything(model)
    assert model.cache.layers
    short = opened(folder("mistral", sliding_window=8), prompt)
    assert short.cache.prefix == ()


def test_limited_logits_stay_limited(folder: Folder, prompt: Prompt) -> None:
    path = folder("gemma2", final_logit_softcapping=0.5)
    model = opened(path, prompt)
    probabilities = everything(model)
    assert np.log(probabilities).max() - np.log(probabilities).min() <= 1.0
    assert 0 < probabilities.min() < 0.5


def test_the_template_is_never_a_unit(folder: Folder, prompt: Prompt) -> None:
    model = opened(folder(), prompt)
    encoding = model.encode("  the plot\nwas long")
    assert [(unit.text, unit.start) for unit in encoding.units] == [("the", 2), ("plot", 6), ("was", 11), ("long", 15)]
    assert encoding.texts == ("  the plot\nwas long",)
    assert model.labels == ("no", "yes")
    assert model.default_erasure == "delete"
    assert model.input_names == ("text",)


def test_two_slots_read_a_pair(folder: Folder) -> None:
    pair = Prompt("the film {text} but there {text_pair} is", {"no": "old", "yes": "new"})
    model = opened(folder(), pair)
    comparison = explain(model, "was long", "seemed short", methods="occlusion")
    assert [(unit.text, unit.segment) for unit in comparison.decision.encoding.units] == [
        ("was", 0), ("long", 0), ("seemed", 1), ("short", 1),
    ]  # fmt: skip
    assert comparison.ablated_inputs is not None
    with pytest.raises(ExplanationError, match="second text is missing"):
        explain(model, "was long", methods="occlusion")


def test_a_long_text_is_cut_and_the_template_stays(folder: Folder, prompt: Prompt) -> None:
    model = opened(folder("llama", max_position_embeddings=40), prompt)
    text = " ".join(["film", "plot"] * 40)
    encoding = model.encode(text)
    assert encoding.warning.startswith("The text is too long for this model: it reads ")
    assert encoding.ids[:5] == model.fixed[:5]
    assert encoding.ids[-3:] == model.fixed[-3:]
    assert 15 <= len(encoding.units) <= 40 - len(model.fixed)
    assert model.probabilities(encoding, np.ones((1, len(encoding.units)))).shape == (1, 2)


def test_of_a_pair_the_longer_text_is_cut(folder: Folder) -> None:
    pair = Prompt("the film {text} but there {text_pair} is", {"no": "old", "yes": "new"})
    model = opened(folder("llama", max_position_embeddings=40), pair)
    for texts in (("plot " * 60, "was short"), ("was short", "plot " * 60)):
        counts = [unit.segment for unit in model.encode(Example(*texts)).units]
        assert sorted((counts.count(0), counts.count(1)))[0] == 2
        assert len(counts) > 15


@pytest.mark.parametrize(
    ("template", "classes", "sentence"),
    [
        ("the " * 60 + "{text} is", {"no": "old", "yes": "new"}, "The prompt is longer than"),
        ("{text} is", {"no": "old film", "yes": "old plot"}, "begin with the same token"),
    ],
)
def test_a_prompt_that_does_not_fit_the_model_is_a_sentence(
    template: str, classes: dict[str, str], sentence: str, folder: Folder
) -> None:
    with pytest.raises(PromptError, match=sentence):
        opened(folder("llama", max_position_embeddings=40), Prompt(template, classes))


def test_a_word_of_several_tokens_is_shown_with_the_first(folder: Folder) -> None:
    model = opened(folder(), Prompt("the {text} is", {"no": "old film", "yes": "new"}))
    assert model.tokens == (("old", "film"), ("new",))
    lines = "\n".join(comparison_lines(explain(model, TEXT, methods="occlusion")))
    assert "Of “old film” only the first token, “old”, is read." in lines


def test_the_saved_prompt_loads_the_same_model(folder: Folder, prompt: Prompt) -> None:
    path = folder()
    model, other = opened(path, prompt), opened(path, Prompt("{text} is", prompt.classes))
    again = opened(model.name)
    assert model.name == f"{path}:{prompt.key}"
    assert again.version == model.version != other.version
    assert everything(again) == pytest.approx(everything(model))


def test_what_is_shown_beside_an_answer(folder: Folder, prompt: Prompt) -> None:
    model = opened(folder(), prompt)
    comparison = explain(model, TEXT, methods=("occlusion", "integrated_gradients", "attention_mean"), steps=5)
    assert not comparison.failures
    content = comparison.as_dict()
    assert 0 < content["share_of_class_words"] < 1
    assert content["manifest"]["prompt"]["template"] == prompt.template
    assert sum(content["manifest"]["prompt"]["prior"]) == pytest.approx(1)
    line = "The class words “old” (no) and “new” (yes) have "
    assert line in "\n".join(comparison_lines(comparison))
    assert line in document(comparison)
    assert prompt.template in document(comparison)


def test_other_models_have_no_such_fields(bert: Any) -> None:
    content = explain(bert, "A test of it.", methods="occlusion").as_dict()
    assert "share_of_class_words" not in content
    assert "prompt" not in content["manifest"]


def test_a_message_goes_through_the_chat_format(folder: Folder) -> None:
    model = opened(folder("llama", chat=CHAT), Prompt("film {text} plot", {"no": "old", "yes": "new"}, chat=True))
    tokenizer = AutoTokenizer.from_pretrained(model.name.partition(":")[0])
    expected = tokenizer("the film was long plot very").input_ids
    assert list(model.encode("was long").ids) == expected
    with pytest.raises(ModelUnavailable, match="no chat format"):
        opened(folder("qwen3"), Prompt("film {text} plot", {"no": "old", "yes": "new"}, chat=True))


def test_a_chat_format_that_drops_the_slot_is_a_sentence(folder: Folder) -> None:
    chat = "{% for message in messages %}the {{ message['content'] | upper }}{% endfor %}"
    with pytest.raises(PromptError, match="does not keep the slot"):
        opened(folder("llama", chat=chat), Prompt("{text} is", {"no": "old", "yes": "new"}, chat=True))


def test_names_that_cannot_be_loaded_are_sentences(folder: Folder, prompt: Prompt, tmp_path: Path) -> None:
    path, key = folder(), save_prompt(prompt)
    cases = {
        f"{path}:unknown": "There is no prompt 'unknown'",
        f"{path}:{key}:{key}": "has a prompt already",
        f"owner/model:{key}:sst2": "has a prompt already",
        "smollm2": "smollm2 is a language model. Give it a prompt",
        f"sst2:{key}": "'sst2' is a classifier and reads no prompt",
        f"{tmp_path / 'nothing'}:{key}": "is not available",
    }
    for name, sentence in cases.items():
        with pytest.raises(ModelUnavailable, match=sentence):
            load(name)
    before = sorted((tmp_path / "store" / "prompts").iterdir())
    with pytest.raises(ModelUnavailable, match="is a classifier"):
        load("sst2", prompt=Prompt("{text} is", prompt.classes))
    assert sorted((tmp_path / "store" / "prompts").iterdir()) == before
    with pytest.raises(ModelUnavailable, match="a folder that this app may read"):
        load(f"{path}:{key}", roots=(tmp_path / "elsewhere",))
    with pytest.raises(ModelUnavailable, match=r"no weights for .*\. If it is a language model, give it a prompt"):
        load(path)
    assert resolve_model_name(f"owner/model@main:{key}", None) == f"owner/model@main:{key}"


def test_a_model_of_another_kind_is_a_sentence(folder: Folder, prompt: Prompt, tmp_path: Path, bert: Any) -> None:
    headed = tmp_path / "headed"
    family = next(family for family in FAMILIES if family.kind == "llama")
    AutoModelForSequenceClassification.from_config(
        AutoModelForCausalLM.from_pretrained(folder()).config.__class__(**family.settings, vocab_size=40)
    ).save_pretrained(headed)
    AutoTokenizer.from_pretrained(folder()).save_pretrained(headed)
    with pytest.raises(ModelUnavailable, match="not a trained language model"):
        opened(str(headed), prompt)


def test_an_adapter_is_added_to_the_weights(
    folder: Folder, prompt: Prompt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, plain = folder(), opened(folder(), prompt)
    (tmp_path / "store" / "prompts" / f"{prompt.key}.yaml").write_text(replace(prompt, adapter=True).as_yaml())
    with pytest.raises(ModelUnavailable, match="has an adapter, but"):
        opened(f"{path}:{prompt.key}")
    monkeypatch.setattr(adapters, "SMOLLM2", path)
    layer = "layers.0.self_attn.q_proj"
    down, up = torch.randn(2, 32), torch.randn(32, 2)
    weights = tmp_path / f"{prompt.key}.safetensors"
    save_file({f"{layer}.down": down.half(), f"{layer}.up": up.half()}, weights)
    weights.with_suffix(".json").write_text(f'{{"sha256": "{sha256(weights)}"}}')
    monkeypatch.setattr(adapters, "PROMPTS", tmp_path)
    tuned = opened(f"{path}:{prompt.key}")
    before, after = (model.words.decoder.network.get_submodule(layer).weight for model in (plain, tuned))
    assert (after - before).numpy() == pytest.approx((2 * up @ down).numpy(), abs=0.02)
    assert tuned.version != plain.version
    del tuned, after  # while it is in use, its weights are not read again
    gc.collect()
    weights.with_suffix(".json").write_text('{"sha256": "0"}')
    with pytest.raises(ModelUnavailable, match="is damaged"):
        opened(f"{path}:{prompt.key}")
    monkeypatch.setattr(adapters, "SMOLLM2", "smollm2")
    with pytest.raises(ModelUnavailable, match="has weights for smollm2"):
        opened(f"{path}:{prompt.key}")


@pytest.fixture
def smollm2(folder: Folder, tmp_path: Path) -> Path:
    """A small model in the place of SmolLM2, as `get smollm2` would write it."""
    path = tmp_path / "store" / "language" / "smollm2"
    shutil.copytree(folder(), path)
    return carded(path)


def carded(folder: Path) -> Path:
    """The folder, with a card of the files as they are."""
    (folder / "card.json").unlink(missing_ok=True)
    _write_card(folder)
    return folder


def test_the_version_of_smollm2_is_known_before_it_is_loaded(smollm2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = Prompt("{text} is", {"no": "old", "yes": "new"})
    monkeypatch.setattr(smollm2_module, "prompt_named", lambda _: shipped)
    version = opened("smollm2", shipped).version
    assert version_on_card("smollm2:sst2") == version
    assert version_on_card("smollm2:unknown") == version_on_card("owner/model:sst2") == ""
    config = smollm2 / "config.json"
    config.write_text(config.read_text().replace('"transformers_version": "', '"transformers_version": "9'))
    carded(smollm2)
    assert opened("smollm2", shipped).version == version  # what another version of the library writes is no change
    weights = smollm2 / "model.safetensors"
    save_file({name: tensor + 1 for name, tensor in load_file(weights).items()}, weights, {"format": "pt"})
    carded(smollm2)
    assert version_on_card("smollm2:sst2") != version


@pytest.mark.parametrize(
    ("share", "p", "adapter", "sentences"),
    [
        (0.9, 0.6, False, []),
        (0.01, 0.6, False, ["would rather write something else"]),
        (0.01, 0.6, True, []),
        (0.9, 0.31, False, ["The template alone, without the text, gives the same answer."]),
        (0.0, 0.3, False, ["less than 0.1 %", "without the text"]),
    ],
)
def test_an_answer_that_says_little_is_said_to(
    share: float, p: float, sentences: list[str], bert: Any, *, adapter: bool
) -> None:
    decision = explain(bert, "a film", methods="occlusion").decision
    card = PromptCard("{text}?", ("bad", "good"), (("bad",), ("good",)), (0.7, 0.3), adapter=adapter)
    prompted = replace(decision, card=replace(decision.card, prompt=card, labels=("no", "yes")), share_of_words=share)
    warning = class_words_warning(prompted, (1 - p, p))
    assert bool(warning) == bool(sentences)
    assert all(sentence in warning for sentence in sentences)
    assert ("adapter" in class_words_line(prompted)) is adapter
    assert class_words_warning(decision, (1 - p, p)) == class_words_line(decision) == ""
