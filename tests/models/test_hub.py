import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2ForSequenceClassification

from explainers.errors import ModelUnavailable
from explainers.models.catalog import fingerprint, load
from explainers.models.classifier import FrozenModel
from explainers.models.hub import LONGEST, _positions, load_pretrained

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
    found = load(str(hub_folder), device="cpu")
    ours, theirs = bert.encode("the film was unwatchable"), found.encode("the film was unwatchable")
    assert theirs == ours
    masks = [[1, 1, 1, 1], [0, 1, 1, 0]]
    for erasure in ("mask", "delete", "zero"):
        assert found.probabilities(theirs, masks, erasure) == pytest.approx(bert.probabilities(ours, masks, erasure))
    assert found.labels == ("negative", "neutral", "positive")
    assert (found.filler, found.padding) == (bert.filler, bert.padding)


def test_a_loaded_model_is_frozen(hub_folder: Path) -> None:
    module = load(str(hub_folder), device="cpu").module
    assert not module.training
    assert not any(weight.requires_grad for weight in module.parameters())


def test_a_long_text_is_cut_where_the_positions_end(hub_folder: Path) -> None:
    encoding = load(str(hub_folder), device="cpu").encode("good " * 100)
    assert len(encoding.ids) == 61  # 64 positions, less two that RoBERTa's numbering loses and one for AML
    assert "too long for this model" in encoding.notice


@pytest.mark.parametrize(("said", "read"), [(514, 511), (-1, LONGEST), (None, LONGEST)])
def test_a_model_without_a_limit_reads_the_most_that_any_may(said: int | None, read: int) -> None:
    assert _positions(SimpleNamespace(max_position_embeddings=said)) == read


def test_half_precision_is_widened(hub_folder: Path, bert: FrozenModel) -> None:
    path = hub_folder / "model.safetensors"
    save_file({name: weight.half() for name, weight in load_file(path).items()}, path, {"format": "pt"})
    config = hub_folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"dtype": "float16"}))
    found = load(str(hub_folder), device="cpu")
    assert {weight.dtype for weight in found.module.parameters()} == {torch.float32}
    assert found.probabilities(found.encode("good"), [[1]]) == pytest.approx(
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


def test_code_that_comes_with_a_model_is_not_run(hub_folder: Path, altered: Callable[..., Path]) -> None:
    (hub_folder / "trap.py").write_text(f"from pathlib import Path\nPath({str(hub_folder)!r}, 'sprung').touch()\n")
    altered(model_type="trap", auto_map={"AutoConfig": "trap.Config", "AutoModelForSequenceClassification": "trap.M"})
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        load(str(hub_folder), device="cpu")
    assert not (hub_folder / "sprung").exists()


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
    known = {
        name: value for name, value in json.loads(path.read_text()).items() if name not in ("mask_token", "unk_token")
    }
    path.write_text(json.dumps(known))
    with pytest.raises(ModelUnavailable, match="neither a mask nor an unknown token"):
        load(str(hub_folder), device="cpu")


def test_a_model_that_is_not_an_encoder_is_refused_with_a_sentence(hub_folder: Path) -> None:
    config = GPT2Config(n_layer=1, n_head=2, n_embd=8, n_positions=32, vocab_size=20, num_labels=2, pad_token_id=0)
    (hub_folder / "model.safetensors").unlink()
    GPT2ForSequenceClassification(config).save_pretrained(hub_folder)
    with pytest.raises(ModelUnavailable, match="is not an encoder such as BERT"):
        load_pretrained(str(hub_folder), CPU)
