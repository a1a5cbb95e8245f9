"""Comparisons of the curated examples that come with the project, so that the first page is complete at once.

    assets/results/<model>/<title>.json   written by `python -m explainers stored-results`, never by hand

One is valid for the model's version and for the weights that computed it. Importing this module does not load torch.
"""

import json
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from explainers.datasets.curated_examples import ASSETS, CuratedExample, example_of
from explainers.errors import ExplanationError
from explainers.methods.registry import select
from explainers.methods.spec import MethodSpec
from explainers.results.comparison import Comparison
from explainers.results.manifest import VERSION, libraries
from explainers.results.packing import packed, unpacked
from explainers.results.stored_model import StoredModel
from explainers.training.artifacts import find_artifact

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel

STORED = ASSETS / "results"


@dataclass(frozen=True)
class StoredResult:
    """`weights` are the SHA-256 of the fitted weights, by the method or narrator that explains with them."""

    title: str
    weights: Mapping[str, str]
    comparison: Comparison

    @property
    def model(self) -> StoredModel:
        return cast(StoredModel, self.comparison.question.model)


def stored_path(curated: CuratedExample) -> Path:
    return STORED / curated.model / f"{re.sub(r'[^a-z0-9]+', '-', curated.title.lower()).strip('-')}.json"


def read_stored(curated: CuratedExample) -> StoredResult | None:
    """None where there is no file. Raises `ExplanationError` if it is damaged or from another version of this code."""
    path = stored_path(curated)
    if not path.is_file():
        return None
    try:
        return unpacked(StoredResult, json.loads(path.read_text(encoding="utf-8")), example_of(curated).image)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        command = "python -m explainers stored-results"
        raise ExplanationError(f"{path.name} cannot be read. Write it again with `{command}`.") from error


def write_stored(curated: CuratedExample, stored: StoredResult) -> Path:
    """The path of the file."""
    path = stored_path(curated)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps(packed(stored), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    path.write_text(content + "\n", encoding="utf-8")
    return path


def storable(curated: CuratedExample, comparison: Comparison) -> StoredResult:
    """What is stored of a comparison. Raises `ValueError` if a method explains another encoding than the others."""
    question = comparison.question
    for result in comparison.results:
        if result.attribution.encoding.units != question.encoding.units:
            raise ValueError(f"{result.attribution.method} explains other units than the question has")
    model = stored_model(question.model)
    light = replace(comparison, question=replace(question, model=cast("FrozenModel", model)), verdict=None)
    specs = select(result.attribution.method for result in comparison.results)
    narrators = [narrative.method for narrative in comparison.narratives]
    return StoredResult(curated.title, weights(model.name, model.version, specs, narrators), light)


def stored_model(model: "FrozenModel") -> StoredModel:
    from explainers.models.catalog import fingerprint  # brings torch

    return StoredModel(
        model.name,
        model.version,
        model.labels,
        model.input_names,
        model.erasures,
        model.multimodal,
        model.english_only,
        fingerprint(model),
        VERSION,
        platform.python_version(),
        str(model.device),
        libraries(),
    )


def weights(model: str, version: str, specs: Iterable[MethodSpec], narrators: Iterable[str]) -> dict[str, str]:
    """The SHA-256 on the cards of the fitted weights, by method or narrator; without those that are missing."""
    fitted = {spec.id: (spec.weights_of, spec.id.partition(":")[2]) for spec in specs if spec.learns}
    fitted |= {narrator: (narrator, "") for narrator in narrators}
    checksums = {}
    for id, (method, variant) in fitted.items():
        try:
            checksums[id] = str(find_artifact(model, version, method, variant).card["sha256"])
        except ExplanationError:
            continue
    return checksums
