import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.base_weights import sha256
from explainers.narrative.generation import generate
from explainers.narrative.narrate import load_narrator, read_narrator
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.training import artifacts
from explainers.training.artifacts import Artifact, available_artifacts, own_folder

Written = Callable[..., Path]


def narrator_at(path: Path) -> Artifact:
    return Artifact(path.stem, "", path)


def available(model: str, version: str) -> dict[str, Path]:
    return {artifact.method: artifact.path for artifact in available_artifacts(model, version, "narrative")}


def with_checksum(path: Path, **entries: object) -> None:
    """The card says what the file is now, and whatever else is given."""
    place = path.with_suffix(".json")
    place.write_text(json.dumps({**json.loads(place.read_text()), "sha256": sha256(path), **entries}))


def test_a_narrator_that_was_written_says_the_same_when_it_is_read(
    model: FrozenModel, written: Written, narrator: Callable[..., Narrator]
) -> None:
    path = written("cause")
    recipe, result = read_narrator(narrator_at(path), model)
    original = narrator("cause", model.module.head)
    inputs = NarratorInput(torch.randn(5, 16, generator=torch.Generator().manual_seed(0)))
    original.load_state_dict({name: weight.half().float() for name, weight in original.state_dict().items()})
    assert generate(result, inputs) == generate(original, inputs)
    assert recipe.losses == "cause"
    assert not result.training
    assert not any(weight.requires_grad for weight in result.parameters())


def test_reading_draws_nothing_from_the_global_generator(model: FrozenModel, written: Written) -> None:
    path, before = written("cause"), torch.get_rng_state()
    read_narrator(narrator_at(path), model)
    assert torch.equal(torch.get_rng_state(), before)


def test_reading_a_narrator_copies_no_hook_of_another_thread(model: FrozenModel, written: Written) -> None:
    """While somebody has a hook on the head, reading waits: the lock is held by who hangs it."""
    path = written("cause")
    import threading

    done = threading.Event()
    thread = threading.Thread(target=lambda: (read_narrator(narrator_at(path), model), done.set()))
    with model.lock:
        handle = model.module.head.register_forward_pre_hook(lambda *_: None)
        thread.start()
        assert not done.wait(0.3)
        handle.remove()
    thread.join(10)
    assert done.is_set()


def test_narrators_are_found_in_the_order_of_display(model: FrozenModel, written: Written) -> None:
    assert available("small", "1") == {}
    paths = {method: written(method) for method in ("cause", "cause_phi")}
    assert list(available("small", "1").items()) == [(id, paths[id]) for id in ("cause_phi", "cause")]
    assert available("small", "2") == available("other", "1") == {}


def test_a_persons_own_narrator_comes_before_the_shipped_one(
    model: FrozenModel, written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts.bundle_cards, "BUNDLES", tmp_path / "bundles")
    monkeypatch.setattr(artifacts.bundle_cards, "bundle_names", lambda: ("small",))
    shipped = written("cause", folder=tmp_path / "bundles" / "small" / "narrative")
    assert available("small", "1") == {"cause": shipped}
    own = written("cause")
    assert available("small", "1") == {"cause": own}


def test_a_narrator_is_read_once_and_again_when_its_file_is_new(model: FrozenModel, written: Written) -> None:
    import os

    path = written("cause")
    first = load_narrator(model, "cause")
    assert load_narrator(model, "cause") is first
    os.utime(path, ns=(1, 1))
    assert load_narrator(model, "cause") is not first


def test_what_has_not_been_fitted_gets_the_command(model: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match=r"not been fitted to small\. Fit it with `python -m explainers"):
        load_narrator(model, "cause")


def test_what_is_no_narrator_is_not_asked_to_be_fitted(model: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match=r"Unknown narrator 'lime'"):
        load_narrator(model, "lime")


def test_a_narrator_of_another_version_gets_a_sentence(model: FrozenModel, written: Written) -> None:
    path = written("cause")
    with pytest.raises(ModelUnavailable, match=r"fitted to another version of small\. Fit it again"):
        read_narrator(narrator_at(path), replace(model, version="2"))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"recipe": {}, "model": {}}', '{"recipe": 1, "model": {"version": "1"}, "sha256": ""}'],
)
def test_a_damaged_card_gets_a_sentence(written: Written, text: str) -> None:
    path = written("cause")
    path.with_suffix(".json").write_text(text)
    with pytest.raises(ModelUnavailable, match=r"The card of cause\.safetensors is missing or damaged"):
        _ = narrator_at(path).card


def test_a_missing_card_gets_a_sentence(model: FrozenModel, written: Written) -> None:
    path = written("cause")
    path.with_suffix(".json").unlink()
    with pytest.raises(ModelUnavailable, match="missing or damaged"):
        load_narrator(model, "cause")


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def no_safetensors(path: Path) -> None:
    path.write_bytes(b"not a file of tensors")
    with_checksum(path)


def foreign_tensors(path: Path) -> None:
    save_file({"other": torch.zeros(2)}, path)
    with_checksum(path)


def a_tensor_less(path: Path) -> None:
    kept = load_file(path)
    kept.pop("psi.weight")
    save_file(kept, path)
    with_checksum(path)


def another_shape(path: Path) -> None:
    save_file({**load_file(path), "psi.weight": torch.zeros(3, 3)}, path)
    with_checksum(path)


def another_training(path: Path) -> None:
    recipe = json.loads(path.with_suffix(".json").read_text())["recipe"]
    with_checksum(path, recipe={**recipe, "losses": "phi"})


def unknown_setting(path: Path) -> None:
    with_checksum(path, recipe={"depth": 3})


SPOILS = (truncated, no_safetensors, foreign_tensors, a_tensor_less, another_shape, another_training, unknown_setting)


@pytest.mark.parametrize("spoil", SPOILS, ids=[spoil.__name__ for spoil in SPOILS])
def test_damaged_and_foreign_weights_get_a_sentence(
    model: FrozenModel, written: Written, spoil: Callable[[Path], None]
) -> None:
    path = written("cause")
    spoil(path)
    with pytest.raises(ModelUnavailable, match=r"cause\.safetensors is damaged or of another architecture"):
        read_narrator(narrator_at(path), model)


@pytest.mark.parametrize("words", [None, "", "{}", "not json"])
def test_a_missing_or_damaged_vocabulary_gets_a_sentence(
    model: FrozenModel, written: Written, words: str | None
) -> None:
    path = written("cause")
    place = path.with_suffix(".words.json")
    place.unlink() if words is None else place.write_text(words)
    with pytest.raises(ModelUnavailable, match=r"cause\.words\.json, its vocabulary, is missing or damaged"):
        read_narrator(narrator_at(path), model)


def test_names_from_the_hub_are_folders_inside_the_store(store: Path) -> None:
    assert own_folder("../../owner/model@1", "abcdefabcdefabcdef", "narrative").parent == store / "narrative"
