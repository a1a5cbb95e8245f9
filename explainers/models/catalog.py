"""Loads a model by its name."""

import hashlib
from pathlib import Path
from typing import cast

import torch

from explainers.errors import ModelUnavailable
from explainers.models.architectures import architecture_module, architectures_with
from explainers.models.bundle_cards import BUNDLES, architecture_of, bundle_names, damaged_bundle, read_card
from explainers.models.frozen_model import FrozenModel
from explainers.models.model_names import resolve_model_name
from explainers.models.multimodal.head_cards import encoder_parts, is_head


def resolve_device(name: str) -> torch.device:
    """ "auto" is the GPU where there is one. Raises `ModelUnavailable` for a device that this machine does not have."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device).tolist()  # "meta" holds no numbers
    except (RuntimeError, AssertionError) as error:  # also what is not implemented
        raise ModelUnavailable(
            f"The device {name!r} is not available. Choose one of: auto, cpu, cuda, cuda:0, mps."
        ) from error
    return device


def load(name: str, *, device: str = "auto", roots: tuple[Path, ...] | None = None) -> FrozenModel:
    """A frozen model by the name of a bundle, a hub id (`owner/model[@revision]`) or a folder.

    With `roots`, a folder and the encoders of its head must lie inside one of them, links resolved. Raises
    `ModelUnavailable` with a sentence.
    """
    torch_device, resolved = resolve_device(device), resolve_model_name(name, roots)
    if resolved in bundle_names():
        return load_bundle(BUNDLES / resolved, torch_device)
    if is_head(Path(resolved)):
        for part in encoder_parts(Path(resolved)).values():
            resolve_model_name(part, roots)
    return _pretrained(resolved, torch_device)


def load_bundle(folder: Path, device: torch.device) -> FrozenModel:
    """The embedded model of this folder, loaded by the package that its card names.

    Raises `ModelUnavailable` if the files are damaged or the architecture is not available.
    """
    architecture, available = architecture_of(read_card(folder)), architectures_with("bundle")
    if architecture not in available:
        reason = f"the architecture {architecture!r} is not available; there are {', '.join(available)}"
        raise damaged_bundle(folder, reason)
    return cast(FrozenModel, architecture_module(architecture, "bundle").load_bundle(folder, device))


def _pretrained(name: str, device: torch.device) -> FrozenModel:
    from explainers.models.hub import load_pretrained  # imports the Auto classes, which takes a second

    return load_pretrained(name, device)


def fingerprint(model: FrozenModel) -> str:
    """SHA-256 over every tensor of the model, which shows whether it was changed."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.module.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
