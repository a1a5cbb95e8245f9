"""What a stored comparison says of its model, which is not loaded."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from explainers.models.inputs.encoding import Erasure


@dataclass(frozen=True)
class StoredModel:
    """Stands in a stored question for the model that answered it; it can be shown, but not asked.

    `sha256` is the checksum over its tensors. `crosslight`, `python` and `libraries` are the versions that computed
    the comparison.
    """

    name: str
    version: str
    labels: tuple[str, ...]
    input_names: tuple[str, ...]
    erasures: tuple[Erasure, ...]
    multimodal: bool
    english_only: bool
    sha256: str
    crosslight: str
    python: str
    device: str = "cpu"
    libraries: Mapping[str, str] = field(default_factory=dict)
