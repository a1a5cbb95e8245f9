"""Comparisons of the curated examples that come with the project, so that the first page is complete at once.

    assets/results/<model>/<title>.json   written by `python -m explainers study stored-results`, never by hand

One is valid for the model's version and for the weights that computed it. Fields at their default are left out, and so
are those of OMITTED, which are known, too large, or not read again. Importing this module does not load torch.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, TypeAdapter, ValidationInfo, ValidatorFunctionWrapHandler, WrapValidator, with_config

from explainers.datasets.curated_examples import CuratedExample, example_of
from explainers.datasets.example import InputImage
from explainers.errors import ExplanationError
from explainers.installation import ASSETS
from explainers.methods.registry import MethodSpec, select
from explainers.results.comparison import Comparison
from explainers.results.decision import Decision, ModelCard
from explainers.training.artifacts import find_artifact

STORED = ASSETS / "results"
OMITTED: dict[str, Any] = {
    "comparison": {
        "decision": {"encoding": {"image", "patch_embeddings", "canvas"}},
        "results": {"__all__": {"attribution": {"encoding", "draws"}}},  # the encoding is that of the decision
        "answer": True,  # it and the order follow from the rest
        "order": True,
    }
}


def _with_encoding(data: Any, validate: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Comparison:
    """Give the encoding of the decision, with the image of the context, to all attributions."""
    decision: Decision = validate({"decision": data["decision"], "probabilities": ()}).decision
    encoding = replace(decision.encoding, image=info.context)
    results = [{**one, "attribution": {**one["attribution"], "encoding": encoding}} for one in data.get("results", ())]
    comparison: Comparison = validate({**data, "decision": replace(decision, encoding=encoding), "results": results})
    return comparison


@with_config(ConfigDict(extra="forbid", arbitrary_types_allowed=True, ser_json_inf_nan="strings"))
@dataclass(frozen=True)
class StoredResult:
    """`weights` are the SHA-256 of the fitted weights, by the method or narrator that explains with them."""

    title: str
    weights: Mapping[str, str]
    comparison: Annotated[Comparison, WrapValidator(_with_encoding)]

    @property
    def card(self) -> ModelCard:
        return self.comparison.decision.card

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with six significant digits."""
        content = _adapter().dump_json(self, exclude=OMITTED, exclude_defaults=True)
        result: dict[str, Any] = json.loads(content, parse_float=_shortened)
        return result


@cache
def _adapter() -> TypeAdapter[StoredResult]:
    return TypeAdapter(StoredResult)


def _shortened(digits: str) -> float | int:
    number = float(f"{float(digits):.6g}")
    return int(number) if number.is_integer() else number


def stored_result(data: Any, image: InputImage | None = None) -> StoredResult:
    """The inverse of `StoredResult.as_dict`. Raises `ValueError`, `KeyError` or `TypeError` for other data."""
    return _adapter().validate_python(data, context=image)


def stored_path(curated: CuratedExample) -> Path:
    model, title = (re.sub("[^a-z0-9]+", "-", name.lower()).strip("-") for name in (curated.model, curated.title))
    return STORED / model / f"{title}.json"


def read_stored(curated: CuratedExample) -> StoredResult | None:
    """None where there is no file. Raises `ExplanationError` if it is damaged or from another version of this code."""
    path = stored_path(curated)
    if not path.is_file():
        return None
    try:
        return stored_result(json.loads(path.read_bytes()), example_of(curated).image)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        command = "python -m explainers study stored-results"
        raise ExplanationError(f"{path.name} cannot be read. Write it again with `{command}`.") from error


def write_stored(curated: CuratedExample, stored: StoredResult) -> Path:
    """The path of the file."""
    path = stored_path(curated)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps(stored.as_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    path.write_text(content + "\n", encoding="utf-8")
    return path


def storable(curated: CuratedExample, comparison: Comparison) -> StoredResult:
    """What is stored of a comparison. Raises `ValueError` if a method explains another encoding than the others."""
    decision = comparison.decision
    for result in comparison.results:
        if result.attribution.encoding.units != decision.encoding.units:
            raise ValueError(f"{result.attribution.method} explains other units than the decision has")
    card, light = decision.card, replace(comparison, answer=None, order=())
    specs = select(result.attribution.method for result in comparison.results)
    narrators = [narrative.method for narrative in comparison.narratives]
    return StoredResult(curated.title, weights(card.name, card.version, specs, narrators), light)


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
