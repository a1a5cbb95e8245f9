"""Which models there are, and how a name becomes one."""

import hashlib
import re
from pathlib import Path

import torch

from explainers.errors import ModelUnavailable
from explainers.models.bundle import load_bundle
from explainers.models.cards import BUNDLES, bundled
from explainers.models.classifier import TextClassifier

HUB_NAME = re.compile(r"\w[\w.-]{0,95}/\w[\w.-]{0,95}(@[\w.-]{1,95})?")


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


def load(name: str, *, device: str = "auto", roots: tuple[Path, ...] | None = None) -> TextClassifier:
    """A frozen model by the name of a bundle, a hub id (`owner/model[@revision]`) or a folder.

    With `roots`, a folder must lie inside one of them, links resolved. Raises `ModelUnavailable` with a sentence.
    """
    place = device_of(device)
    if name in bundled():
        return load_bundle(BUNDLES / name, place)
    folder = _folder(name)
    if folder is not None:
        real = folder.resolve()
        if roots is not None and not any(real.is_relative_to(root.resolve()) for root in roots):
            raise ModelUnavailable(f"The folder {name!r} lies outside the folders that this app may read.")
        return _pretrained(str(real), place)
    if HUB_NAME.fullmatch(name) and _folder(name.partition("@")[0]) is None:  # a folder must not slip past the roots
        return _pretrained(name, place)
    raise ModelUnavailable(
        f"There is no model {name!r}. Choose one of: {', '.join(bundled())}; "
        "or give a hub id such as owner/model, or a folder."
    )


def _folder(name: str) -> Path | None:
    try:
        found = Path(name).expanduser()
        return found if name and found.is_dir() else None
    except (OSError, RuntimeError):  # longer than any file's name, or the home of nobody
        return None


def _pretrained(name: str, device: torch.device) -> TextClassifier:
    from explainers.models.hub import load_pretrained  # imports the Auto classes, a second that bundles need not pay

    return load_pretrained(name, device)


def fingerprint(model: TextClassifier) -> str:
    """SHA-256 over every tensor of the model, by which anyone can see that it was not changed."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.module.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
