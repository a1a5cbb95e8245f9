"""Configurations that ask for too much, and weights that do not belong to them: refused at once, without memory."""

import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from explainers.errors import ModelUnavailable
from explainers.models.catalog import load
from explainers.models.foreign.file_checks import check_preprocessor, read_config
from explainers.models.model_files import ModelFiles


@pytest.fixture
def altered(hub_folder: Path) -> Callable[..., Path]:
    """The folder with some entries of its config changed."""

    def change(**entries: object) -> Path:
        config = json.loads((hub_folder / "config.json").read_text())
        (hub_folder / "config.json").write_text(json.dumps(config | entries))
        return hub_folder

    return change


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"num_hidden_layers": 10**6}, "asks for 1,000,000 num_hidden_layers; at most 512 are supported"),
        ({"depths": [1] * 600}, "asks for 600 depths"),
        ({"vocab_size": 10**9}, "asks for 1,000,000,000 vocab_size; at most 2,097,152"),
        ({"hidden_size": 10**6}, "asks for 1,000,000 hidden_size; at most 65,536"),
        ({"max_position_embeddings": 10**8}, "asks for 100,000,000 max_position_embeddings"),
        ({"num_labels": 10**9, "id2label": None}, "asks for 1,000,000,000 num_labels"),
        ({"id2label": {str(n): "x" for n in range(40_000)}}, "asks for 40,000 num_labels"),
        ({"num_attention_heads": 10**7}, "asks for 10,000,000 num_attention_heads"),
        ({"vision_config": {"num_hidden_layers": 10**5}}, "asks for 100,000 num_hidden_layers"),
        ({"intermediate_size": 10**400}, "asks for a number of more than 18 digits intermediate_size"),
        ({"layer_types": ["x"] * 5000}, "asks for 5,000 entries in layer_types"),
        ({"vocab_size": 2**20, "hidden_size": 2**14}, "describes a network of 19,[0-9,]* weights, but its files hold"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_a_configuration_that_asks_for_too_much_is_refused_at_once(
    altered: Callable[..., Path], entries: dict[str, object], sentence: str
) -> None:
    folder = altered(**entries)
    load_nothing(folder)
    started = time.process_time()
    tracemalloc.start()
    with pytest.raises(ModelUnavailable, match=sentence):
        load(str(folder))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.process_time() - started < 10
    assert peak < 2**26


def load_nothing(folder: Path) -> None:
    """Imports what a load imports."""
    with pytest.raises(ModelUnavailable):
        load(f"{folder}/none")


def test_layers_that_the_files_do_not_hold_are_refused(altered: Callable[..., Path]) -> None:
    with pytest.raises(ModelUnavailable, match="is not a trained classifier: it has no weights for"):
        load(str(altered(num_hidden_layers=4)))


def test_heads_that_do_not_divide_the_states_are_a_sentence(altered: Callable[..., Path]) -> None:
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        load(str(altered(num_attention_heads=3)))


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a":' * 100_000, '"x"', "\x00"])
def test_a_damaged_configuration_is_a_sentence(hub_folder: Path, content: str) -> None:
    (hub_folder / "config.json").write_text(content)
    with pytest.raises(ModelUnavailable, match=r"config\.json (cannot be read|is not an object of JSON)"):
        load(str(hub_folder))


def test_another_configuration_for_another_version_of_the_library_is_not_read(altered: Callable[..., Path]) -> None:
    folder = altered(configuration_files=["config.1.0.0.json"])
    (folder / "config.1.0.0.json").write_text('{"model_type": "bert", "num_hidden_layers": 1000000}')
    assert load(str(folder), device="cpu").labels == ("negative", "neutral", "positive")


def test_weights_larger_than_the_limit_are_refused(hub_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSLIGHT_MAX_MODEL_BYTES", "10000")
    with pytest.raises(ModelUnavailable, match=r"take 0\.0 GB; at most 0\.0 GB are loaded. Choose a smaller model"):
        load(str(hub_folder))
    monkeypatch.setenv("CROSSLIGHT_MAX_MODEL_BYTES", "10 GB")
    with pytest.raises(ModelUnavailable, match="must be a number of bytes such as 10000000000, not '10 GB'"):
        load(str(hub_folder))


def test_a_header_that_promises_more_than_the_file_holds_is_a_sentence(hub_folder: Path) -> None:
    header = json.dumps({"x": {"dtype": "F32", "shape": [10**6, 10**6], "data_offsets": [0, 4 * 10**12]}}).encode()
    (hub_folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ModelUnavailable, match=r"model\.safetensors cannot be read"):
        load(str(hub_folder))


def test_a_shard_that_is_missing_is_named(hub_folder: Path) -> None:
    (hub_folder / "model.safetensors").rename(hub_folder / "a.safetensors")
    (hub_folder / "model.safetensors.index.json").write_text('{"weight_map": {"x": "b.safetensors"}}')
    with pytest.raises(ModelUnavailable, match=r"b\.safetensors is missing"):
        load(str(hub_folder))


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "vocab.txt"])
def test_no_file_may_link_out_of_the_folder(hub_folder: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("{}")
    (hub_folder / name).unlink(missing_ok=True)
    (hub_folder / name).symlink_to(tmp_path / "secret")
    with pytest.raises(ModelUnavailable, match=f"{name} in .* links to a file outside the folder"):
        load(str(hub_folder))


@pytest.mark.parametrize(
    ("settings", "fits"),
    [
        ({"size": {"shortest_edge": 384}, "size_divisor": 32}, True),
        ({"image_processor_type": "Qwen2VLImageProcessor", "max_pixels": 12845056}, True),
        ({"image_processor_type": "Qwen2VLImageProcessor", "size": {"longest_edge": 12845056}}, True),
        ({"size": {"height": 10**5, "width": 10**5}}, False),
        ({"size": 100_000}, False),
        ({"max_pixels": 10**9}, False),
    ],
)
def test_images_are_not_resized_to_more_than_a_model_reads(
    tmp_path: Path, settings: dict[str, object], fits: bool
) -> None:
    path = tmp_path / "preprocessor_config.json"
    path.write_text(json.dumps(settings))
    if fits:
        check_preprocessor("x", path)
    else:
        with pytest.raises(ModelUnavailable, match="asks for"):
            check_preprocessor("x", path)


PUBLISHED = (
    {"model_type": "xlm-roberta", "vocab_size": 250002, "max_position_embeddings": 514, "num_hidden_layers": 24},
    {"model_type": "modernbert", "max_position_embeddings": 8192, "global_rope_theta": 160000, "hidden_size": 1024},
    {"model_type": "qwen2_vl", "image_token_id": 151655, "max_window_layers": 28, "sliding_window": 32768,
     "rope_theta": 1000000, "intermediate_size": 8960, "vision_config": {"depth": 32, "embed_dim": 1280}},
    {"model_type": "vilt", "id2label": {str(number): "x" for number in range(3129)}},
)  # fmt: skip


@pytest.mark.parametrize("content", PUBLISHED, ids=lambda content: content["model_type"])
def test_published_configurations_are_within_the_limits(tmp_path: Path, content: dict[str, object]) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(content))
    assert read_config("x", path) == content


def test_a_tokenizer_alone_needs_no_weights(hub_folder: Path) -> None:
    (hub_folder / "model.safetensors").unlink()
    assert len(ModelFiles(str(hub_folder), has_weights=False).version()) == 12


def test_a_weights_file_without_weights_is_a_sentence(hub_folder: Path) -> None:
    header = b"{}"
    (hub_folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ModelUnavailable, match=r"model\.safetensors holds no weights\.$"):
        load(str(hub_folder))
