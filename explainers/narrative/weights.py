"""Fitted narrators as files: where they lie, and how one is made ready.

assets/bundles/<model>/narrative/<method>.safetensors    shipped with the embedded models, half precision
<store>/narrative/<model>-<version>/<method>.safetensors what a person has fitted
…/<method>.json                                          beside each: recipe, data, seed, command, figures
…/<method>.words.json                                    the vocabulary of the small language model
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.learned.weights import own_folder as own_learned
from explainers.models.cards import BUNDLES, bundled
from explainers.narrative.entries import NARRATORS, narrator

if TYPE_CHECKING:
    from explainers.models.classifier import FrozenModel
    from explainers.narrative.cause import Narrator, Recipe


def own_folder(model: str, version: str) -> Path:
    """Where a person's own narrators for this model lie."""
    learned = own_learned(model, version)
    return learned.parents[1] / "narrative" / learned.name


def folders(model: str, version: str) -> Iterator[Path]:
    """Where narrators of a model are looked for: a person's own before the shipped ones."""
    yield own_folder(model, version)
    if model in bundled():
        yield BUNDLES / model / "narrative"


def available(model: str, version: str) -> dict[str, Path]:
    """The weights of every narrator that was fitted to this model, in the order of display."""
    found: dict[str, Path] = {}
    for folder in folders(model, version):
        for entry in NARRATORS:
            path = folder / f"{entry.id}.safetensors"
            if path.is_file():
                found.setdefault(entry.id, path)
    return {entry.id: found[entry.id] for entry in NARRATORS if entry.id in found}


def card(path: Path) -> dict[str, Any]:
    """What is known about a narrator's weights. Raises `ModelUnavailable` if its card is missing or damaged."""
    try:
        found: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        dict(found["recipe"]), found["model"]["version"], str(found["sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelUnavailable(f"The card of {path.name} is missing or damaged. Fit it again.") from error
    return found


def fitted(model: "FrozenModel", method: str) -> "tuple[Recipe, Narrator]":
    """Recipe and trained module, loaded once per model and file."""
    narrator(method)  # is there such a one at all?
    known = available(model.name, model.version)
    if method not in known:
        raise ExplanationError(
            f"{method} puts one model's decisions into words, and it has not been fitted to {model.name}. "
            f"Fit it with `python -m explainers fit {method} --model {model.name} --data DIR`."
        )
    path = known[method]
    key = (path, path.stat().st_mtime_ns)
    if key not in model.fitted:
        model.fitted[key] = loaded(path, model)
    return cast("tuple[Recipe, Narrator]", model.fitted[key])


def loaded(path: Path, model: "FrozenModel") -> "tuple[Recipe, Narrator]":
    """From the disk. Raises `ModelUnavailable` if the files are damaged or belong to another model."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from explainers.models.base import sha256
    from explainers.models.inside import head
    from explainers.narrative.cause import Narrator, Recipe

    known = card(path)
    if known["model"]["version"] != model.version:
        raise ModelUnavailable(f"{path.name} was fitted to another version of {model.name}. Fit it again.")
    try:
        if sha256(path) != known["sha256"]:
            raise KeyError("the checksum is not the one on the card")
        recipe = Recipe(**known["recipe"])
        with model.lock, torch.random.fork_rng():  # nobody hangs hooks on the head while it is copied
            phi, spoken = speaker(recipe.language, path)
            module = Narrator(head(model), phi, spoken, recipe.losses, recipe.leak)
        weights = {name: tensor.float() for name, tensor in load_file(path).items()}
        report = module.load_state_dict(weights, strict=False)
        if report.unexpected_keys or set(report.missing_keys) - module.repeated:
            raise KeyError("tensors of another architecture")
    except (OSError, SafetensorError, KeyError, TypeError, RuntimeError) as error:
        raise ModelUnavailable(f"{path.name} is damaged or of another architecture. Fit it again.") from error
    return recipe, module.to(model.device).requires_grad_(False).eval()


def speaker(name: str, path: Path) -> "tuple[Any, Any]":
    """An untrained small language model with the vocabulary beside `path`, or a pretrained one by name."""
    from tokenizers import Tokenizer

    from explainers.narrative.language import OWN, language, pretrained, small

    if name not in OWN:
        return pretrained(name)
    words = path.with_suffix(".words.json")
    try:
        spoken = language(Tokenizer.from_file(str(words)))
    except Exception as error:  # tokenizers raises nothing more precise
        raise ModelUnavailable(f"{words.name}, its vocabulary, is missing or damaged. Fit it again.") from error
    return small(spoken.size, name), spoken
