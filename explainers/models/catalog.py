"""Which models there are, and how a name becomes one."""

import hashlib
from pathlib import Path

import torch

from explainers.errors import ModelUnavailable
from explainers.models.bundle import load_bundle
from explainers.models.cards import BUNDLES, bundled
from explainers.models.classifier import FrozenModel
from explainers.models.multimodal.cards import is_head, parts
from explainers.models.names import permitted


def device_of(wanted: str) -> torch.device:
    """ "auto" is the GPU where there is one. Raises `ModelUnavailable` for a device that this machine does not have."""
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ModelUnavailable(
            f"There is no device {wanted!r} here. Choose one of: auto, cpu, cuda, cuda:0, mps."
        ) from error
    return device


def load(name: str, *, device: str = "auto", roots: tuple[Path, ...] | None = None) -> FrozenModel:
    """A frozen model by the name of a bundle, a hub id (`owner/model[@revision]`) or a folder.

    With `roots`, a folder and those on which its head stands must lie inside one of them, links resolved. Raises
    `ModelUnavailable` with a sentence.
    """
    place, known = device_of(device), permitted(name, roots)
    if known in bundled():
        return load_bundle(BUNDLES / known, place)
    if is_head(Path(known)):
        for part in parts(Path(known)).values():
            permitted(part, roots)
    return _pretrained(known, place)


def _pretrained(name: str, device: torch.device) -> FrozenModel:
    from explainers.models.hub import load_pretrained  # imports the Auto classes, a second that bundles need not pay

    return load_pretrained(name, device)


def fingerprint(model: FrozenModel) -> str:
    """SHA-256 over every tensor of the model, by which anyone can see that it was not changed."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.module.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
