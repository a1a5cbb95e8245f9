import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from explainers.errors import ModelUnavailable
from explainers.learned.ivra_full import adapters
from explainers.models import catalog
from explainers.models.catalog import fingerprint
from explainers.models.optimisation import adapted
from explainers.models.text import bundle
from explainers.models.text.base_weights import sha256
from explainers.models.text.bundle import (
    PooledClassifier,
    base_encoder,
    load_bundle,
    undrawn_encoder,
    with_trained_weights,
)
from explainers.models.text.training import set_trainable, trained_tensors

CPU = torch.device("cpu")


@pytest.fixture
def trained(base_files: Path, monkeypatch: pytest.MonkeyPatch) -> PooledClassifier:
    """A small network on small base weights, whose trained tensors are exactly representable in half precision."""
    monkeypatch.setattr(bundle, "base_folder", lambda: base_files)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        network = PooledClassifier(base_encoder(base_files), 2)
    set_trainable(network, rank=0)
    with torch.no_grad():
        for weight in network.parameters():
            if weight.requires_grad:
                weight.copy_(weight.half())
    return network.eval()


def write(folder: Path, tensors: dict[str, torch.Tensor], rank: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    save_file(tensors, folder / "weights.safetensors")
    card = {
        "labels": ["negative", "positive"],
        "sha256": sha256(folder / "weights.safetensors"),
        "recipe": {"rank": rank},
    }
    (folder / "card.json").write_text(json.dumps(card))
    return folder


@pytest.fixture
def folder(tmp_path: Path, trained: PooledClassifier) -> Path:
    return write(tmp_path / "tiny", trained_tensors(trained))


def test_without_initial_weights_it_is_the_same_encoder_and_draws_nothing(base_files: Path) -> None:
    before = torch.random.get_rng_state()
    undrawn = undrawn_encoder(base_files)
    assert torch.equal(torch.random.get_rng_state(), before)
    tensors = [
        {**encoder.state_dict(), **dict(encoder.named_buffers())} for encoder in (base_encoder(base_files), undrawn)
    ]
    assert list(tensors[0]) == list(tensors[1])
    assert all(torch.equal(tensors[0][name], tensors[1][name]) for name in tensors[0])
    assert tensors[1]["embeddings.position_ids"].device == CPU


def test_a_bundle_gives_the_answers_of_the_network_that_was_trained(folder: Path, trained: PooledClassifier) -> None:
    model = load_bundle(folder, CPU)
    encoding = model.encode("the film was unwatchable")
    expected = trained(input_ids=torch.tensor([encoding.ids])).softmax(dim=-1)
    result = model.probabilities(encoding, [[1, 1, 1, 1]])
    assert result == pytest.approx(expected.detach().numpy(), abs=1e-5)
    assert (model.name, model.labels, model.mean_pooled) == ("tiny", ("negative", "positive"), True)


def test_what_is_kept_leaves_the_base_embeddings_out(folder: Path) -> None:
    names = set(load_file(folder / "weights.safetensors"))
    assert not any("embeddings" in name for name in names)
    assert {"head.0.weight", "head.4.bias"} <= names


def test_padding_does_not_count_in_the_mean(trained: PooledClassifier) -> None:
    ids = torch.tensor([[2, 5, 3]])
    padded, present = torch.tensor([[2, 5, 3, 0, 0]]), torch.tensor([[1, 1, 1, 0, 0]])
    alone = trained(input_ids=ids).detach()
    assert trained(input_ids=padded, attention_mask=present).detach().numpy() == pytest.approx(alone.numpy(), abs=1e-5)


def test_our_merge_of_a_lora_adapter_is_pefts_own(base_files: Path, trained: PooledClassifier) -> None:
    network = deepcopy(trained)
    set_trainable(network, rank=3)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(3)
        for name, weight in network.named_parameters():
            if "lora_" in name:  # as training would leave them: B starts at zero
                weight.normal_(std=0.3)
    tensors = {name: weight.detach() for name, weight in network.named_parameters() if weight.requires_grad}
    ours = with_trained_weights(deepcopy(trained), tensors, rank=3)
    merged_by_peft = 0
    for name, layer in network.named_modules():
        if hasattr(layer, "merge"):
            layer.merge()
            expected = layer.base_layer.weight.detach().numpy()
            assert ours.get_submodule(name).weight.detach().numpy() == pytest.approx(expected, abs=1e-5)
            merged_by_peft += 1
    assert merged_by_peft == 2 * 6  # layers times query, key, value, attention output, intermediate, output
    ids = torch.tensor([[2, 5, 7, 3]])
    assert ours(input_ids=ids).detach().numpy() == pytest.approx(network(input_ids=ids).detach().numpy(), abs=1e-5)
    assert not torch.allclose(ours(input_ids=ids), trained(input_ids=ids), atol=1e-3)


def test_loading_twice_gives_the_same_model(folder: Path) -> None:
    assert fingerprint(load_bundle(folder, CPU)) == fingerprint(load_bundle(folder, CPU))


def card_with(folder: Path, **entries: object) -> None:
    path = folder / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def shortened(path: Path, share: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])


def unreadable_weights(folder: Path) -> None:
    shortened(folder / "weights.safetensors", 0.5)
    card_with(folder, sha256=sha256(folder / "weights.safetensors"))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no card": (lambda folder: (folder / "card.json").unlink(), "card.json cannot be read"),
    "half a card": (lambda folder: shortened(folder / "card.json", 0.5), "card.json cannot be read"),
    "a card that is a list": (lambda folder: (folder / "card.json").write_text("[]"), "card.json cannot be read"),
    "a card of bytes": (lambda folder: (folder / "card.json").write_bytes(b"\xff\xfe"), "card.json cannot be read"),
    "labels that are no list": (lambda folder: card_with(folder, labels="ab"), "card.json cannot be read"),
    "no weights": (lambda folder: (folder / "weights.safetensors").unlink(), "weights.safetensors is missing"),
    "half the weights": (lambda folder: shortened(folder / "weights.safetensors", 0.5), "the checksum of"),
    "another checksum": (lambda folder: card_with(folder, sha256="0" * 64), "the checksum of"),
    "unreadable weights": (unreadable_weights, "weights.safetensors cannot be read"),
    "a class too many": (lambda folder: card_with(folder, labels=["a", "b", "c"]), "does not fit the architecture"),
    "no recipe": (lambda folder: card_with(folder, recipe={}), "does not fit the architecture"),
    "an adapter that is none": (
        lambda folder: write(folder, {"x.lora_A.default.weight": torch.ones(1)}, rank=1),
        "does not fit",
    ),
    "no head": (lambda folder: write(folder, {}), "does not fit the architecture"),
    "tensors of another model": (
        lambda folder: write(folder, load_file(folder / "weights.safetensors") | {"else": torch.ones(1)}),
        "does not fit the architecture",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_bundle_says_what_is_wrong_and_how_to_restore_it(folder: Path, damage: str) -> None:
    spoil, why = DAMAGES[damage]
    spoil(folder)
    with pytest.raises(ModelUnavailable) as raised:
        load_bundle(folder, CPU)
    assert "The model 'tiny' is damaged: " in str(raised.value)
    assert why in str(raised.value)
    assert "git checkout -- assets/bundles/tiny" in str(raised.value)


@pytest.fixture
def above(folder: Path) -> Path:
    """A bundle that stands on `folder`: an adapter of rank 1 on every linear layer of its network."""
    network = adapted(bundle.trained_network(folder), 1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        tensors = {name: torch.randn_like(adapter).half() / 4 for name, adapter in adapters(network).items()}
    folder_above = write(folder.parent / "above", tensors)
    card = json.loads((folder_above / "card.json").read_text())
    card["on"] = {"name": folder.name, "sha256": json.loads((folder / "card.json").read_text())["sha256"]}
    (folder_above / "card.json").write_text(json.dumps(card))
    return folder_above


def test_a_bundle_on_another_one_answers_as_its_adapters_do(folder: Path, above: Path) -> None:
    network = adapted(bundle.trained_network(folder), 1).eval()
    network.load_state_dict({n: value.float() for n, value in load_file(above / "weights.safetensors").items()}, False)
    model = load_bundle(above, CPU)
    encoding = model.encode("the film was unwatchable")
    expected = network(input_ids=torch.tensor([encoding.ids])).softmax(dim=-1).detach().numpy()
    assert model.probabilities(encoding, [[1, 1, 1, 1]]) == pytest.approx(expected, abs=1e-5)
    below = load_bundle(folder, CPU).probabilities(encoding, [[1, 1, 1, 1]])
    assert expected != pytest.approx(below, abs=1e-3)


def test_a_bundle_does_not_stand_on_another_version(folder: Path, above: Path) -> None:
    card = json.loads((above / "card.json").read_text())
    card["on"]["sha256"] = "0" * 64
    (above / "card.json").write_text(json.dumps(card))
    with pytest.raises(ModelUnavailable, match="another version of tiny"):
        load_bundle(above, CPU)


def test_an_unknown_architecture_is_a_sentence(folder: Path) -> None:
    for name in ("inputs", "../text", "", 3):  # `inputs` is a package, but loads no bundles
        card_with(folder, architecture=name)
        with pytest.raises(
            ModelUnavailable, match=f"'tiny' is damaged: the architecture '{name}' is not available; the"
        ):
            catalog.load_bundle(folder, CPU)
    card_with(folder, architecture="text")
    assert catalog.load_bundle(folder, CPU).name == "tiny"
