"""Fitted weights as files: where they lie, how they are written, and how they are loaded.

    assets/bundles/<model>/learned/<method>-<variant>.safetensors    shipped with the embedded models
    assets/prompts/<prompt>/learned/<method>-<variant>.safetensors   shipped for SmolLM2 with this prompt
    <store>/learned/<model>-<version>/<method>-<variant>.safetensors fitted by the user, for any model
    …/narrative/…/<method>.safetensors                               the same for narrators, which have no variants
    …/<method>….json                                                 beside each: recipe, data, seed, command, metrics

The store is the folder `store`, or the one that CROSSLIGHT_STORE names. Importing this module does not import torch.
`ModelCache` keeps values that were computed for a model, such as its artifacts, as long as the model lives.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast
from weakref import WeakKeyDictionary

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.installation import make_store, store
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS, MethodSpec
from explainers.models import bundle_cards, model_names, smollm2
from explainers.models import prompt as prompts
from explainers.models.smollm2 import NAME as SMOLLM2
from explainers.training.spec import FitSpec

if TYPE_CHECKING:
    from torch import Tensor, nn

    from explainers.models.frozen_model import FrozenModel


Value = TypeVar("Value")


class ModelCache:
    """At most `size` values per model; the least recently used one goes first. Safe for several threads."""

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, Lock()
        self._values: WeakKeyDictionary[nn.Module, OrderedDict[Hashable, object]] = WeakKeyDictionary()

    def get(self, model: "FrozenModel", key: Hashable, compute: Callable[[], Value]) -> Value:
        """The kept value, or a new one; two threads may compute it at once, and both get the first result."""
        key = (model.version, key)
        with self._lock:
            values = self._values.setdefault(model.module, OrderedDict())
            if key in values:
                values.move_to_end(key)
                return cast(Value, values[key])
        value = compute()  # without the lock: loading waits for the model's own
        with self._lock:
            values = self._values.setdefault(model.module, OrderedDict())
            value = cast(Value, values.setdefault(key, value))
            while len(values) > self._size:
                values.popitem(last=False)
        return value


LOADED_PER_MODEL = 64

SUFFIX = ".safetensors"
Family = Literal["learned", "narrative"]
Recipe = TypeVar("Recipe")
Module = TypeVar("Module", bound="nn.Module")

_loaded = ModelCache(LOADED_PER_MODEL)


@with_config(ConfigDict(extra="allow"))
class ModelOnCard(TypedDict):
    version: str


@with_config(ConfigDict(extra="allow"))
class ArtifactCard(TypedDict):
    """What every card of fitted weights says; data, seeds, command and metrics stand beside it."""

    recipe: dict[str, Any]
    model: ModelOnCard
    sha256: str


ARTIFACT_CARD = TypeAdapter(ArtifactCard)


@dataclass(frozen=True)
class Artifact:
    """One set of fitted weights on the disk; `variant` distinguishes those of one method."""

    method: str
    variant: str
    path: Path  # the .safetensors file

    @property
    def card(self) -> dict[str, Any]:
        """Raises `ModelUnavailable` if the card is missing or damaged."""
        try:
            return cast(dict[str, Any], ARTIFACT_CARD.validate_json(self.path.with_suffix(".json").read_bytes()))
        except (OSError, ValidationError) as error:
            raise ModelUnavailable(f"The card of {self.path.name} is missing or damaged. Fit it again.") from error


@dataclass(frozen=True)
class Untrained(Generic[Recipe, Module]):
    """What weights are loaded into, and the `names` of the tensors that their file holds."""

    recipe: Recipe
    module: Module
    names: Collection[str]


def own_folder(model: str, version: str, family: Family = "learned") -> Path:
    """Where the user's own weights for this model lie."""
    safe = re.sub(r"[^\w.-]+", "_", model).strip("._")[-60:] or "model"
    return store() / family / f"{safe}-{version[:12]}"


def artifact_folders(model: str, version: str, family: Family = "learned") -> Iterator[Path]:
    """Where weights for a model are looked up: the user's own before the shipped ones."""
    own = own_folder(model, version, family)
    if version:
        yield own
    else:  # before the model is loaded its version is not known
        yield from sorted(own.parent.glob(f"{own.name}*"))
    if model in bundle_cards.bundle_names():
        yield bundle_cards.BUNDLES / model / family
    language, _, prompt = model.partition(":")
    if language == SMOLLM2 and prompt in prompts.shipped_prompts():
        yield prompts.PROMPTS / prompt / family


def available_artifacts(model: str, version: str, family: Family = "learned") -> tuple[Artifact, ...]:
    """What was fitted to this model, each variant once: methods by name, narrators in the order of display."""
    artifacts: dict[tuple[int, str, str], Artifact] = {}
    for folder in artifact_folders(model, version, family):
        for path in folder.glob(f"*{SUFFIX}"):
            method, _, variant = path.stem.partition("-")
            if family == "narrative" and path.stem not in NARRATORS.ids:
                continue
            order = NARRATORS.ids.index(method) if family == "narrative" else 0
            artifacts.setdefault((order, method, variant), Artifact(method, variant, path))
    return tuple(artifacts[key] for key in sorted(artifacts))


def not_fitted(model: str, version: str) -> list[MethodSpec]:
    """Return the methods that learn to explain one model and were not fitted to this one."""
    fitted = {artifact.method for artifact in available_artifacts(model, version)}
    return [spec for spec in METHODS if spec.learns and spec.weights_of not in fitted]


def runnable_narrators(model: str, version: str) -> tuple[str, ...]:
    """Ids of the narrators that were fitted to the model, without `waiting_narrators`."""
    waiting = waiting_narrators(model, version)
    return tuple(one.method for one in available_artifacts(model, version, "narrative") if one.method not in waiting)


def waiting_narrators(model: str, version: str) -> tuple[str, ...]:
    """Ids of the narrators that were fitted to the model on SmolLM2, where SmolLM2 is not on this machine."""
    if smollm2.smollm2_folder() is not None:
        return ()
    return tuple(one.method for one in available_artifacts(model, version, "narrative") if _is_on_smollm2(one))


def _is_on_smollm2(narrator: Artifact) -> bool:
    try:
        return bool(narrator.card.get("recipe", {}).get("language") == SMOLLM2)
    except ModelUnavailable:  # said where it is loaded
        return False


def find_artifact(model: str, version: str, method: str, variant: str = "") -> Artifact:
    """The weights of `variant`, by default of the method's own. Raises `ExplanationError` if there are none."""
    family: Family = "narrative" if method in NARRATORS.ids else "learned"
    artifacts = [artifact for artifact in available_artifacts(model, version, family) if artifact.method == method]
    default = METHODS.get(method).default_variant if method in METHODS.ids else ""
    exact = [artifact for artifact in artifacts if artifact.variant == (variant or default)]
    if exact:
        return exact[0]
    if artifacts and not variant:
        return artifacts[0]
    if version.startswith(model_names.IN_MEMORY):
        raise ExplanationError(
            f"This method learns to explain one model, and nothing can be fitted to {model}, which is in no folder. "
            "Save it to one, and load and fit that."
        )
    if family == "narrative":
        raise ExplanationError(
            f"{method} puts one model's decisions into words, and it has not been fitted to {model}. "
            f"Fit it with `python -m explainers fit {method} --model {model} --data DIR`."
        )
    fitted = ", ".join(f"{method}:{artifact.variant}" if artifact.variant else method for artifact in artifacts)
    missing = f"a variant {variant!r} of it" if artifacts else "it"
    there = f" Fitted are: {fitted}." if artifacts else ""
    command = f"fit {method} --model {model}{f' --variant {variant}' if variant else ''} --data FILE"
    raise ExplanationError(
        f"This method learns to explain one model, and {missing} has not been fitted to {model}.{there} "
        f"Fit it on the Train page, or with `python -m explainers {command}`."
    )


def check_fitted(model: str, version: str, specs: Iterable[MethodSpec]) -> None:
    """Raises `ExplanationError` for the first of these methods and variants that was not fitted to the model."""
    for spec in specs:
        if spec.learns:
            find_artifact(model, version, spec.weights_of, str(dict(spec.fixed).get("variant", "")))


def load_artifact(
    artifact: Artifact, model: "FrozenModel", build: "Callable[[Artifact, FrozenModel], Untrained[Recipe, Module]]"
) -> tuple[Recipe, Module]:
    """Recipe and trained module, read once per model, file and time of change."""
    key = (artifact, artifact.path.stat().st_mtime_ns)
    return _loaded.get(model, key, lambda: read_artifact(artifact, model, build))


def read_artifact(
    artifact: Artifact, model: "FrozenModel", build: "Callable[[Artifact, FrozenModel], Untrained[Recipe, Module]]"
) -> tuple[Recipe, Module]:
    """From the disk. Raises `ModelUnavailable` if the files are damaged or belong to another model."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from explainers.models.text.base_weights import sha256
    from explainers.training.packing import unpacked

    card = artifact.card
    if card["model"]["version"] != model.version:
        raise ModelUnavailable(f"{artifact.path.name} was fitted to another version of {model.name}. Fit it again.")
    try:
        weights = unpacked(load_file(artifact.path))
        if sha256(artifact.path) != card["sha256"]:
            raise KeyError("the checksum is not the one on the card")
        with model.lock, torch.random.fork_rng():  # no other thread has hooks on the modules that are copied
            untrained = build(artifact, model)
        differing = set(untrained.names) ^ set(weights)
        if differing:
            raise KeyError(", ".join(sorted(differing)[:3]))
        module = untrained.module.to(model.device)
        module.load_state_dict({name: tensor.float() for name, tensor in weights.items()}, strict=False)
    except (OSError, SafetensorError, KeyError, TypeError, RuntimeError, ValidationError) as error:
        raise ModelUnavailable(f"{artifact.path.name} is damaged or of another architecture. Fit it again.") from error
    return untrained.recipe, module.requires_grad_(False).eval()


def weights_name(spec: FitSpec) -> str:
    """The name of the file of weights that a training writes."""
    return f"{spec.method if spec.method in NARRATORS.ids else f'{spec.method}-{spec.name}'}{SUFFIX}"


def weights_file(spec: FitSpec, model: str, version: str) -> Path:
    """Where a training for this version of the model writes its weights."""
    family: Family = "narrative" if spec.method in NARRATORS.ids else "learned"
    return (Path(spec.out) if spec.out else own_folder(model, version, family)) / weights_name(spec)


def replacement_note(spec: FitSpec, model: str, version: str) -> str:
    """Return that the training will replace weights; empty where it does not, or goes on with its own."""
    path = weights_file(spec, model, version)
    replaces = path.exists() and not spec.resume
    return f"This replaces the weights of {spec.title} in {path.parent}. Ctrl-C keeps them." if replaces else ""


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write weights, what belongs to them and their cards into the folder, in the store or elsewhere: all are whole
    before any takes its place, and the cards do so last. Raises `ExplanationError` where they cannot be written."""
    if folder.resolve().is_relative_to(store().resolve()):
        make_store()
    cards = {f"{name.removesuffix(SUFFIX)}.json" for name in files if name.endswith(SUFFIX)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as fresh:
            for name, content in files.items():
                (Path(fresh) / name).write_bytes(content)
            for name in sorted(files, key=cards.__contains__):
                (Path(fresh) / name).replace(folder / name)
    except OSError as error:
        raise ExplanationError(f"{folder} cannot be written: {error.strerror}. Choose another folder.") from error


def write_artifact(path: Path, weights: "Mapping[str, Tensor]", card: Mapping[str, Any]) -> dict[str, Any]:
    """The weights at `path` and beside them their card, which gets machine, parameters and checksum and is returned."""
    import torch
    from safetensors.torch import save_file

    from explainers.models.text.base_weights import sha256
    from explainers.training.packing import unpacked

    if path.resolve().is_relative_to(store().resolve()):
        make_store()
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh, fresh_card = path.with_suffix(".new"), path.with_suffix(".json.new")
    save_file({name: weight.contiguous().cpu() for name, weight in weights.items()}, fresh)
    device = next((str(weight.device) for weight in weights.values()), "cpu")
    whole = {
        **card,
        "machine": {"device": device, "threads": torch.get_num_threads(), "torch": torch.__version__},
        "parameters": sum(weight.numel() for weight in unpacked(weights).values()),
        "sha256": sha256(fresh),
    }
    fresh_card.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
    fresh.replace(path)  # both are whole before either takes its place
    fresh_card.replace(path.with_suffix(".json"))
    return whole
