import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    CTRLConfig,
    CTRLForSequenceClassification,
    LongformerConfig,
    LongformerForSequenceClassification,
)

from explainers.api import explain
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.methods.registry import METHODS
from explainers.models import model_files
from explainers.models.catalog import fingerprint, load, load_pretrained
from explainers.models.checks import readable_tokens
from explainers.models.foreign.opened_tokenizer import MAX_TOKENS
from explainers.models.frozen_model import FrozenModel
from explainers.models.model_files import ModelFiles

CPU = torch.device("cpu")


@pytest.fixture
def altered(hub_folder: Path) -> Callable[..., Path]:
    """The folder with some entries of its config changed."""

    def change(**entries: object) -> Path:
        config = json.loads((hub_folder / "config.json").read_text())
        (hub_folder / "config.json").write_text(json.dumps(config | entries))
        return hub_folder

    return change


def test_a_saved_model_gives_the_same_answers(hub_folder: Path, bert: FrozenModel) -> None:
    model = load(str(hub_folder), device="cpu")
    ours, theirs = bert.encode("the film was unwatchable"), model.encode("the film was unwatchable")
    assert theirs == ours
    masks = [[1, 1, 1, 1], [0, 1, 1, 0]]
    for erasure in ("mask", "delete", "zero"):
        expected = bert.probabilities(ours, masks, erasure)
        assert model.probabilities(theirs, masks, erasure) == pytest.approx(expected, abs=1e-5)
    assert model.labels == ("negative", "neutral", "positive")
    assert (model.mask_token, model.pad_token) == (bert.mask_token, bert.pad_token)


def test_a_loaded_model_is_frozen(hub_folder: Path) -> None:
    module = load(str(hub_folder), device="cpu").module
    assert not module.training
    assert not any(weight.requires_grad for weight in module.parameters())


def test_a_long_text_is_cut_where_the_positions_end(hub_folder: Path) -> None:
    encoding = load(str(hub_folder), device="cpu").encode("good " * 100)
    assert len(encoding.ids) == 61  # 64 positions, less two that RoBERTa's numbering loses and one for AML
    assert "too long for this model" in encoding.warning


@pytest.mark.parametrize(("limit", "expected"), [(514, 511), (-1, MAX_TOKENS), (None, MAX_TOKENS)])
def test_a_model_without_a_limit_reads_the_most_that_any_may(limit: int | None, expected: int) -> None:
    assert readable_tokens(SimpleNamespace(max_position_embeddings=limit)) == expected


def test_half_precision_is_widened(hub_folder: Path, bert: FrozenModel) -> None:
    path = hub_folder / "model.safetensors"
    save_file({name: weight.half() for name, weight in load_file(path).items()}, path, {"format": "pt"})
    config = hub_folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"dtype": "float16"}))
    model = load(str(hub_folder), device="cpu")
    assert {weight.dtype for weight in model.module.parameters()} == {torch.float32}
    assert model.probabilities(model.encode("good"), [[1]]) == pytest.approx(
        bert.probabilities(bert.encode("good"), [[1]]), abs=0.01
    )


def test_other_weights_in_the_same_place_are_another_version(hub_folder: Path) -> None:
    first = load(str(hub_folder), device="cpu")
    path = hub_folder / "model.safetensors"
    weights = load_file(path)
    weights["classifier.bias"] += 1
    save_file(weights, path, {"format": "pt"})
    second = load(str(hub_folder), device="cpu")
    assert (first.name, first.labels) == (second.name, second.labels)
    assert first.version != second.version
    assert fingerprint(first) != fingerprint(second)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_the_version_is_that_of_every_file_that_is_read(hub_folder: Path, name: str) -> None:
    before = ModelFiles(str(hub_folder)).version()
    (hub_folder / "README.md").write_text("not read")
    assert ModelFiles(str(hub_folder)).version() == before
    (hub_folder / name).write_text((hub_folder / name).read_text() + " ")
    assert ModelFiles(str(hub_folder)).version() != before


def test_a_multi_label_model_is_known_as_one(altered: Callable[..., Path]) -> None:
    assert load_pretrained(str(altered(problem_type="multi_label_classification")), CPU).multi_label


def test_a_folder_without_safetensors_is_refused(hub_folder: Path) -> None:
    torch.save(load_file(hub_folder / "model.safetensors"), hub_folder / "pytorch_model.bin")
    (hub_folder / "model.safetensors").unlink()
    with pytest.raises(ModelUnavailable, match=r"holds no \.safetensors file; other weight formats can run code"):
        load(str(hub_folder), device="cpu")


def test_a_pickle_beside_other_safetensors_is_not_read(hub_folder: Path) -> None:
    torch.save(load_file(hub_folder / "model.safetensors"), hub_folder / "pytorch_model.bin")
    (hub_folder / "model.safetensors").rename(hub_folder / "other.safetensors")
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        load(str(hub_folder), device="cpu")


@pytest.mark.parametrize(
    "shard", ["../outside/pytorch_model.bin", "../outside/model.safetensors", "pytorch_model.bin", "/etc/passwd", 7]
)
def test_an_index_may_only_name_safetensors_files_beside_it(hub_folder: Path, shard: object) -> None:
    (hub_folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": shard}}), encoding="utf-8")
    with pytest.raises(ModelUnavailable, match=r"only \.safetensors files beside it are read"):
        load(str(hub_folder))


@pytest.mark.parametrize("content", ["{", "[]", '{"weight_map": []}', "{}"])
def test_a_damaged_index_is_a_sentence(hub_folder: Path, content: str) -> None:
    (hub_folder / "model.safetensors.index.json").write_text(content, encoding="utf-8")
    with pytest.raises(ModelUnavailable, match=r"index\.json of .* cannot be read"):
        load(str(hub_folder))


def test_the_index_of_a_hub_model_is_checked_too(hub_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = {"weight_map": {"a": "../pytorch_model.bin"}}
    (hub_folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    monkeypatch.setattr(model_files.hub_snapshot, "fetched_folder", lambda *_names, **_rest: hub_folder)
    with pytest.raises(ModelUnavailable, match=r"names '\.\./pytorch_model\.bin'"):
        load("owner/model")


def test_a_hub_model_has_its_commit_as_version(hub_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files.hub_snapshot, "fetched_folder", lambda *_names, **_rest: hub_folder)
    model = load("owner/model", device="cpu")
    assert (model.name, model.version) == ("owner/model", hub_folder.name)


def test_a_configuration_that_names_its_own_weights_is_refused(altered: Callable[..., Path]) -> None:
    folder = altered(transformers_weights="pytorch_model.bin")
    with pytest.raises(ModelUnavailable, match="names a file of weights, which is not supported"):
        load(str(folder))


def test_a_sharded_model_is_loaded(hub_folder: Path, bert: FrozenModel) -> None:
    weights = load_file(hub_folder / "model.safetensors")
    names = sorted(weights)
    parts = {"model-1-of-2.safetensors": names[::2], "model-2-of-2.safetensors": names[1::2]}
    for name, tensors in parts.items():
        save_file({tensor: weights[tensor] for tensor in tensors}, hub_folder / name, metadata={"format": "pt"})
    (hub_folder / "model.safetensors").unlink()
    weight_map = {tensor: name for name, tensors in parts.items() for tensor in tensors}
    index = {"metadata": {}, "weight_map": weight_map}
    (hub_folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    assert load(str(hub_folder)).labels == bert.labels


def test_weights_that_link_out_of_the_folder_are_refused(hub_folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.safetensors"
    (hub_folder / "model.safetensors").rename(elsewhere)
    (hub_folder / "model.safetensors").symlink_to(elsewhere)
    with pytest.raises(ModelUnavailable, match="links to a file outside the folder"):
        load(str(hub_folder))


def test_code_that_comes_with_a_model_is_not_run(hub_folder: Path, altered: Callable[..., Path]) -> None:
    (hub_folder / "trap.py").write_text(f"from pathlib import Path\nPath({str(hub_folder)!r}, 'sprung').touch()\n")
    altered(model_type="trap", auto_map={"AutoConfig": "trap.Config", "AutoModelForSequenceClassification": "trap.M"})
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        load(str(hub_folder), device="cpu")
    assert not (hub_folder / "sprung").exists()


@pytest.fixture
def single(bert: FrozenModel, hub_folder: Path) -> Callable[..., Path]:
    """The folder with a head of one output, and with entries of its config changed."""

    def write(**entries: object) -> Path:
        config = BertConfig(**{**bert.module.config.to_dict(), "id2label": {0: "spam"}})  # type: ignore[union-attr]
        BertForSequenceClassification(config).save_pretrained(hub_folder)
        path = hub_folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | entries))
        return hub_folder

    return write


@pytest.mark.parametrize(
    ("entries", "labels"),
    [
        ({"problem_type": "single_label_classification"}, ("not spam", "spam")),
        ({"problem_type": "multi_label_classification"}, ("not spam", "spam")),
        ({"id2label": {"0": "ham", "1": "spam"}, "label2id": {"ham": 0, "spam": 1}}, ("ham", "spam")),
    ],
)
def test_one_output_that_classifies_has_two_classes(
    single: Callable[..., Path], entries: dict[str, object], labels: tuple[str, str]
) -> None:
    folder = single(**entries)
    model = load(str(folder), device="cpu")
    encoding = model.encode("good film")
    config = {**json.loads((folder / "config.json").read_text()), "id2label": {0: "spam"}, "problem_type": None}
    module = BertForSequenceClassification(BertConfig(**config)).eval()
    module.load_state_dict(load_file(folder / "model.safetensors"))
    z = module(torch.tensor([encoding.ids])).logits.item()
    assert (model.labels, model.multi_label) == (labels, False)
    assert model.probabilities(encoding, [[1, 1]])[0] == pytest.approx(
        [1 / (1 + math.exp(z)), 1 / (1 + math.exp(-z))], abs=1e-5
    )


@pytest.mark.slow
def test_every_method_explains_one_output_that_classifies(single: Callable[..., Path]) -> None:
    model = load(str(single(problem_type="single_label_classification")), device="cpu")
    comparison = explain(model, "a good film", samples=20, steps=5)
    assert {failure.method for failure in comparison.failures} == {
        spec.id for spec in METHODS if spec.learns and spec.default
    }  # not fitted
    for result in comparison.results:
        assert any(result.attribution.scores)


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"problem_type": "regression"}, "is a regression: it gives a value and chooses no class"),
        ({}, "has one output, and its config.json does not say that it is a class"),
        (
            {"problem_type": "regression", "id2label": {"0": "a", "1": "b"}, "label2id": {"a": 0, "b": 1}},
            "is a regression",
        ),
    ],
)
def test_a_score_or_a_value_is_no_class(single: Callable[..., Path], entries: dict[str, object], sentence: str) -> None:
    with pytest.raises(ModelUnavailable, match=sentence):
        load(str(single(**entries)))


def test_a_model_without_a_trained_head_is_no_classifier(hub_folder: Path) -> None:
    path = hub_folder / "model.safetensors"
    weights = {name: weight for name, weight in load_file(path).items() if not name.startswith("classifier")}
    save_file(weights, path, {"format": "pt"})
    with pytest.raises(ModelUnavailable, match=r"is not a trained classifier: it has no weights for classifier\.bias"):
        load(str(hub_folder), device="cpu")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_truncated_file_is_a_sentence(hub_folder: Path, name: str) -> None:
    whole = (hub_folder / name).read_bytes()
    (hub_folder / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelUnavailable, match="could not be loaded") as raised:
        load(str(hub_folder), device="cpu")
    assert "\n" not in str(raised.value)


def test_a_tokenizer_with_neither_mask_nor_unknown_token_is_refused(hub_folder: Path) -> None:
    path = hub_folder / "tokenizer_config.json"
    config = {
        name: value for name, value in json.loads(path.read_text()).items() if name not in ("mask_token", "unk_token")
    }
    path.write_text(json.dumps(config))
    with pytest.raises(ModelUnavailable, match="neither a mask token nor an unknown token"):
        load(str(hub_folder), device="cpu")


def test_a_model_that_is_neither_encoder_nor_decoder_is_refused_with_a_sentence(hub_folder: Path) -> None:
    config = CTRLConfig(n_embd=8, n_layer=1, n_head=2, dff=8, n_positions=32, vocab_size=20, num_labels=3)
    (hub_folder / "model.safetensors").unlink()
    CTRLForSequenceClassification(config).save_pretrained(hub_folder)
    with pytest.raises(ModelUnavailable, match="neither an encoder such as BERT"):
        load_pretrained(str(hub_folder), CPU)


def test_an_architecture_with_windows_of_its_own_is_refused(hub_folder: Path) -> None:
    config = LongformerConfig(
        vocab_size=20, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, attention_window=[8], num_labels=2,
    )  # fmt: skip
    LongformerForSequenceClassification(config).save_pretrained(hub_folder)
    with pytest.raises(ModelUnavailable, match="it attends within windows and fills every text up"):
        load(str(hub_folder))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(hub_folder: Path, value: float) -> None:
    path = hub_folder / "model.safetensors"
    weights = load_file(path)
    weights["classifier.bias"][1] = value
    save_file(weights, path, {"format": "pt"})
    with pytest.raises(ModelUnavailable, match=r"classifier\.bias holds numbers that are NaN or infinite"):
        load(str(hub_folder))


def test_weights_so_large_that_no_answer_is_finite_are_refused(hub_folder: Path) -> None:
    path = hub_folder / "model.safetensors"
    save_file({name: weight * 1e30 for name, weight in load_file(path).items()}, path, {"format": "pt"})
    with pytest.raises(ExplanationError, match="answers with numbers that are not finite"):
        load(str(hub_folder))


def test_a_folder_without_a_tokenizer_is_refused(hub_folder: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (hub_folder / name).unlink()
    with pytest.raises(ModelUnavailable, match="has no tokenizer: it needs one of"):
        load(str(hub_folder))


def test_a_tokenizer_larger_than_the_embedding_table_is_refused(hub_folder: Path) -> None:
    path = hub_folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["vocab"]["more"] = 20
    path.write_text(json.dumps(content))
    with pytest.raises(ModelUnavailable, match=r"has tokens up to number 20, but the model only 20 embeddings"):
        load(str(hub_folder))


class Panic(BaseException):
    """As Rust's, which is no `Exception`."""


def test_no_error_leaves_a_load_but_as_a_sentence(hub_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (Panic("in /home/me/x.rs"), MemoryError(), RecursionError("too deep")):
        monkeypatch.setattr(ModelFiles, "config", lambda _source, error=error: (_ for _ in ()).throw(error))
        with pytest.raises(ModelUnavailable, match="could not be loaded") as raised:
            load(str(hub_folder))
        assert "/home" not in str(raised.value)
    monkeypatch.setattr(ModelFiles, "config", lambda _source: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        load(str(hub_folder))
