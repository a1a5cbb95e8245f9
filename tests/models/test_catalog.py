from pathlib import Path

import pytest
import torch

from explainers.errors import ModelUnavailable
from explainers.models import catalog, model_names
from explainers.models.bundle_cards import BUNDLES
from explainers.models.catalog import fingerprint, load, resolve_device
from explainers.models.frozen_model import FrozenModel


def test_a_folder_inside_a_root_is_read(hub_folder: Path, tmp_path: Path) -> None:
    assert load(str(hub_folder), device="cpu", roots=(tmp_path / "models",)).labels == (
        "negative",
        "neutral",
        "positive",
    )


@pytest.mark.parametrize("way", ["{folder}", "{root}/../models/small", "{root}/link"])
def test_no_way_leads_outside_the_roots(hub_folder: Path, tmp_path: Path, way: str) -> None:
    root = tmp_path / "allowed"
    root.mkdir()
    (root / "link").symlink_to(hub_folder)
    with pytest.raises(ModelUnavailable, match=r"is not available.* or a folder that this app may read"):
        load(way.format(folder=hub_folder, root=root), roots=(root,))


@pytest.mark.parametrize("way", ["{here}/secret", "../secret", "~", "~root", "{here}/secret/", "{here}/./secret"])
def test_nobody_learns_which_folders_exist_outside_the_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "allowed").mkdir()
    monkeypatch.chdir(tmp_path / "allowed")
    there, nowhere = (pattern.format(here=tmp_path) for pattern in (way, f"{way.rstrip('/')}-not-there"))
    sentences = []
    for name in (there, nowhere):
        with pytest.raises(ModelUnavailable) as refused:
            load(name, roots=(tmp_path / "allowed",))
        sentences.append(str(refused.value).replace(repr(name), "…"))
    assert sentences[0] == sentences[1]


@pytest.mark.parametrize("way", ["models/small", "models/../models/small", "./models/small", "models/small@main"])
def test_no_way_from_the_working_folder_leads_outside_the_roots(
    hub_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelUnavailable, match="is not available"):
        load(way, roots=(tmp_path / "allowed",))


def test_without_roots_a_relative_folder_is_read(
    hub_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load("models/small", device="cpu").labels == ("negative", "neutral", "positive")


NOTHING = (
    "",
    "nothing",
    "../nothing",
    "/nothing/here",
    "~/nothing",
    "~nobody-of-this-name/x",
    "a/b/c",
    "a/..",
    "a\x00/b",
)


@pytest.mark.parametrize("name", [*NOTHING, "sst2/../../etc", "x" * 300, "owner/" + "x" * 300])
def test_a_name_that_is_nothing_is_answered_with_what_there_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_names.bundle_cards, "bundle_names", lambda: ("one", "two"))
    monkeypatch.setattr(catalog, "load_pretrained", lambda *_: pytest.fail("the hub was queried"))
    with pytest.raises(
        ModelUnavailable,
        match=r"The model '.*' is not available\. Choose one of: one, two; smollm2:PROMPT; or give a hub id",
    ):
        load(name)


def test_a_hub_id_goes_to_the_hub_with_its_revision(monkeypatch: pytest.MonkeyPatch, bert: FrozenModel) -> None:
    names: list[str] = []
    monkeypatch.setattr(catalog, "load_pretrained", lambda name, _device: names.append(name) or bert)
    load("owner/model@v1.0", roots=())
    assert names == ["owner/model@v1.0"]


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "", "meta:x"])
def test_a_device_that_is_not_here_is_a_sentence(name: str) -> None:
    with pytest.raises(ModelUnavailable, match=r"The device .* is not available"):
        resolve_device(name)


def test_a_device_is_refused_with_those_that_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(ModelUnavailable, match=r"Choose one of: auto, cpu, cuda:0, cuda:1, mps\."):
        resolve_device("abacus")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ModelUnavailable, match=r"'cuda:0' is not available\. Choose one of: auto, cpu\."):
        resolve_device("cuda:0")


def test_auto_is_the_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for present, expected in ((True, "cuda:0"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda present=present: present)
        assert str(resolve_device("auto")) == expected


def test_the_fingerprint_sees_the_smallest_change(bert: FrozenModel) -> None:
    before = fingerprint(bert)
    assert fingerprint(bert) == before
    bert.module.classifier.bias[0] += 1e-6
    assert fingerprint(bert) != before


def test_the_embedded_model_knows_good_from_bad() -> None:
    if not (BUNDLES / "sst2").is_dir():
        pytest.skip("the bundle sst2 is not in assets/bundles")
    model = load("sst2", device="cpu")
    assert model.labels == ("negative", "positive")
    for text, label in (("A charming and often affecting journey.", 1), ("A dull, lifeless mess.", 0)):
        encoding = model.encode(text)
        assert model.probabilities(encoding, [[True] * len(encoding.units)]).argmax() == label
