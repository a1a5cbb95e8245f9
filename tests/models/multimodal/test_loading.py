"""What `load` says to folders and names that are not what they should be, and to those that are."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from explainers.datasets.example import Example, InputImage
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.models import model_files
from explainers.models.catalog import load
from explainers.models.multimodal.head_training import HeadRecipe, fit_head
from explainers.models.multimodal.loading import load_encoder
from explainers.models.text.base_weights import sha256

LABELS = ("no", "yes", "maybe")


@pytest.fixture
def copied(folders: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A head with its encoder, to be damaged."""

    def copy(name: str) -> Path:
        shutil.copytree(folders[name].parent, tmp_path / name)
        return tmp_path / name / folders[name].name

    return copy


def changed(folder: Path, **entries: Any) -> str:
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | entries))
    return str(folder)


def test_a_head_without_its_card_s_fields_is_damaged(copied: Callable[[str], Path]) -> None:
    folder = copied("flava")
    whole = (folder / "card.json").read_text()
    for entries in (
        {"labels": ["one"]},
        {"labels": ["a", "a"]},
        {"labels": "ab"},
        {"labels": [1, 2]},
        {"encoder": ""},
        {"architecture": None},
        {"asks": []},
        {"asks": ["premise", "hypothesis"]},
        {"sha256": 5},
    ):
        (folder / "card.json").write_text(whole)
        with pytest.raises(ModelUnavailable, match=r"The head in 'head' is damaged: card\.json cannot be read"):
            load(changed(folder, **entries))
    (folder / "card.json").write_text(whole[:50])
    with pytest.raises(ModelUnavailable, match=r"card\.json cannot be read"):
        load(str(folder))


def test_weights_that_do_not_fit_are_refused(copied: Callable[[str], Path]) -> None:
    folder = copied("clip-mfb")
    path = folder / "head.safetensors"
    with pytest.raises(ModelUnavailable, match="do not fit its card"):
        load(changed(folder, labels=["a", "b"]))
    wrong = ({"factors": 4}, {"factors": -1}, {"factors": 10**9}, {"reads": "first"}, {"colour": 1}, {"outputs": "x"})
    for shape in wrong:
        with pytest.raises(ModelUnavailable, match="do not fit its card"):
            load(changed(folder, labels=list(LABELS), shape={"factors": 3, "outputs": 10} | shape))
    changed(folder, shape={"factors": 3, "outputs": 10})
    assert load(str(folder), device="cpu").labels == LABELS
    save_file(load_file(path) | {"other": torch.zeros(1)}, path)
    with pytest.raises(ModelUnavailable, match=r"the checksum of head\.safetensors is not the one on its card"):
        load(str(folder))
    with pytest.raises(ModelUnavailable, match="do not fit its card"):
        load(changed(folder, sha256=sha256(path)))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelUnavailable, match="do not fit its card"):
        load(changed(folder, sha256=sha256(path)))


def test_a_head_knows_the_encoder_that_it_was_trained_on(copied: Callable[[str], Path]) -> None:
    folder = copied("flava")
    with pytest.raises(ModelUnavailable, match="its encoder is of the architecture flava, not as on its card"):
        load(changed(folder, architecture="clip-mfb"))
    changed(folder, architecture="flava")
    path = folder.parent / "encoder" / "model.safetensors"
    weights = load_file(path)
    weights["logit_scale"] += 1
    save_file(weights, path, {"format": "pt"})
    with pytest.raises(ModelUnavailable, match="was trained on another version of its encoder"):
        load(str(folder))


@pytest.mark.parametrize("encoder", ["nowhere", "../nowhere", "a/b/c", "x y/z", "/etc/passwd", "x" * 5000])
def test_an_encoder_that_is_nothing_is_named(copied: Callable[[str], Path], encoder: str) -> None:
    with pytest.raises(ModelUnavailable, match="is neither a folder nor a hub id"):
        load(changed(copied("flava"), encoder=encoder))


def test_a_card_does_not_lead_outside_the_roots(copied: Callable[[str], Path]) -> None:
    folder = copied("visualbert")
    assert load(str(folder), device="cpu", roots=(folder.parent,)).labels == LABELS
    with pytest.raises(ModelUnavailable, match="is not available"):
        load(str(folder), roots=(folder,))  # its encoder lies beside it
    (folder / "link").symlink_to(folder.parent / "encoder")
    with pytest.raises(ModelUnavailable, match="is not available"):
        load(changed(folder, encoder="link"), roots=(folder,))


def test_an_encoder_alone_is_no_classifier(copied: Callable[[str], Path]) -> None:
    folder = copied("qwen2-vl").parent / "encoder"
    with pytest.raises(ModelUnavailable, match="has no classifier that can be explained here"):
        load(str(folder))


def test_a_vilt_that_answers_something_else_is_refused(copied: Callable[[str], Path]) -> None:
    folder = copied("vilt")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["ViltForImagesAndTextClassification"]}))
    with pytest.raises(ModelUnavailable, match="choose a ViLT that answers questions"):
        load(str(folder))


def test_a_vilt_without_its_classifier_is_not_complete(copied: Callable[[str], Path]) -> None:
    path = copied("vilt") / "model.safetensors"
    weights = {name: weight for name, weight in load_file(path).items() if not name.startswith("classifier.3")}
    save_file(weights, path, {"format": "pt"})
    with pytest.raises(ModelUnavailable, match=r"is not complete: it has no weights for classifier\.3\.bias"):
        load(str(path.parent))


def test_a_vilt_with_several_true_answers_is_multi_label(
    copied: Callable[[str], Path], image: Callable[..., InputImage]
) -> None:
    folder = copied("vilt")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"problem_type": "multi_label_classification"}))
    model = load(str(folder), device="cpu")
    assert model.multi_label
    encoding = model.encode(Example("the cat", image=image(0)))
    assert model.probabilities(encoding, np.ones((1, len(encoding.units)))).sum() != pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "removed", "sentence"),
    [
        ("flava", "encoder/preprocessor_config.json", "could not be loaded"),
        ("flava", "encoder/config.json", "could not be loaded"),
        ("flava", "encoder/tokenizer.json", r"has no tokenizer: it needs one of tokenizer\.json, vocab\.txt"),
        ("flava", "encoder/model.safetensors", r"holds no \.safetensors file; other weight formats can run code"),
        ("visualbert", "vision/model.safetensors", r"holds no \.safetensors file"),
        ("visualbert", "vision/config.json", "could not be loaded"),
    ],
)
def test_a_file_that_is_missing_is_a_sentence(
    copied: Callable[[str], Path], name: str, removed: str, sentence: str
) -> None:
    folder = copied(name)
    (folder.parent / removed).unlink()
    with pytest.raises(ModelUnavailable, match=sentence) as raised:
        load(str(folder))
    assert "\n" not in str(raised.value)


def test_a_pickle_beside_the_encoder_is_not_read(copied: Callable[[str], Path]) -> None:
    folder = copied("flava").parent / "encoder"
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").rename(folder / "other.safetensors")
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        load_encoder(str(folder))


def test_code_that_comes_with_an_encoder_is_not_run(copied: Callable[[str], Path]) -> None:
    folder = copied("flava").parent / "encoder"
    (folder / "trap.py").write_text(f"from pathlib import Path\nPath({str(folder)!r}, 'sprung').touch()\n")
    config = json.loads((folder / "config.json").read_text())
    trap = {"model_type": "trap", "auto_map": {"AutoConfig": "trap.Config", "AutoModel": "trap.M"}}
    (folder / "config.json").write_text(json.dumps(config | trap))
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        load_encoder(str(folder))
    assert not (folder / "sprung").exists()


def test_visual_bert_needs_an_image_encoder(folders: dict[str, Path]) -> None:
    root = folders["visualbert"].parent
    with pytest.raises(ModelUnavailable, match="Name the vision encoder that computes them"):
        load_encoder(str(root / "encoder"))
    with pytest.raises(ModelUnavailable, match="is not an encoder of images"):
        load_encoder(str(root / "encoder"), str(root / "encoder"))
    clip = load_encoder(str(root / "encoder"), str(folders["clip-mfb"].parent / "encoder"))
    assert type(clip.vision).__name__ == "CLIPVisionModel"  # that half of it which sees


def test_an_encoder_of_texts_alone_is_of_another_type(hub_folder: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"is of type bert\. Choose one of: vilt, clip, visual_bert"):
        load_encoder(str(hub_folder))


def test_convolutional_features_are_explained_by_all_but_zero(
    folders: dict[str, Path], tmp_path: Path, small: Any, image: Callable[..., InputImage]
) -> None:
    """ResNet's last feature map, whose width VisualBERT has: no projection is needed."""
    vision = small.resnet(tmp_path / "resnet")
    recipe = HeadRecipe(vision=str(vision), epochs=1)
    fit_head(str(folders["visualbert"].parent / "encoder"), small.examples(), LABELS, recipe, tmp_path / "head")
    assert not any(name.startswith("projection") for name in load_file(tmp_path / "head" / "head.safetensors"))
    model = load(str(tmp_path / "head"), device="cpu")
    encoding = model.encode(Example("is the cat red ?", image=image(0, 48, 48)))
    keeps = np.ones((2, len(encoding.units)))
    keeps[1, 20:35] = 0
    for erasure in ("mask", "blur", "delete"):
        whole, holed = model.probabilities(encoding, keeps, erasure)  # type: ignore[arg-type]
        assert not np.allclose(whole, holed)
    with pytest.raises(ExplanationError, match="Choose mask, blur or delete"):
        model.probabilities(encoding, keeps, "zero")
    assert len(model.attention_received(encoding, last_layer=True)) == len(encoding.units)


def test_an_encoder_that_merges_its_patches_is_refused(folders: dict[str, Path], tmp_path: Path, small: Any) -> None:
    encoder, recipe = (
        str(folders["visualbert"].parent / "encoder"),
        HeadRecipe(vision=str(small.swin(tmp_path / "swin"))),
    )
    with pytest.raises(ModelUnavailable, match="one token for each of its patches"):
        fit_head(encoder, small.examples(), LABELS, recipe, tmp_path / "head")


def test_vilt_may_have_a_head_of_ours(
    folders: dict[str, Path], tmp_path: Path, small: Any, image: Callable[..., InputImage]
) -> None:
    fit_head(str(folders["vilt"]), small.examples(), LABELS, small.RECIPE, tmp_path / "head")
    ours, theirs = (load(str(folder), device="cpu") for folder in (tmp_path / "head", folders["vilt"]))
    encoding = ours.encode(Example("is the cat red ?", image=image(0)))
    assert (ours.input_names, theirs.input_names) == (("text",), ("question",))
    assert ours.attention_received(encoding, last_layer=True) == pytest.approx(
        theirs.attention_received(encoding, last_layer=True), abs=1e-5
    )


def test_qwen_may_read_the_class_from_the_mean(
    folders: dict[str, Path], tmp_path: Path, small: Any, image: Callable[..., InputImage]
) -> None:
    encoder = str(folders["qwen2-vl"].parent / "encoder")
    recipe = replace(small.RECIPE, shape=replace(small.RECIPE.shape, reads="mean"))
    fit_head(encoder, small.examples(), LABELS, recipe, tmp_path / "head")
    model = load(str(tmp_path / "head"), device="cpu")
    encoding = model.encode(Example("is the cat red ?", image=image(0)))
    assert model.states(encoding).mean_pooled
    keeps = np.ones((3, len(encoding.units)))
    keeps[1, :3] = keeps[2, 20:35] = 0
    together = model.probabilities(encoding, keeps, "delete")
    assert together == pytest.approx(
        np.concatenate([model.probabilities(encoding, row, "delete") for row in keeps]), abs=1e-5
    )


def test_a_head_of_the_hub_may_not_name_folders(copied: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copied("flava")
    monkeypatch.setattr(model_files.hub_snapshot, "fetched_folder", lambda *_names, **_rest: folder)
    with pytest.raises(ModelUnavailable, match="it needs folders of another machine"):
        load("owner/head@v1", device="cpu")


def test_a_head_of_the_hub_is_put_onto_an_encoder_of_the_hub(
    copied: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, requests = copied("flava"), []
    encoder = folder.parent / "encoder"

    def fetched(identifier: str, revision: str | None, **_rest: object) -> Path:
        requests.append((identifier, revision))
        return folder if identifier == "owner/head" else encoder

    monkeypatch.setattr(model_files.hub_snapshot, "fetched_folder", fetched)
    changed(folder, encoder="owner/encoder@v2", encoder_version="encoder")  # a snapshot's folder is named by its commit
    assert load("owner/head", device="cpu").labels == LABELS
    assert dict(requests) == {"owner/head": None, "owner/encoder": "v2"}
