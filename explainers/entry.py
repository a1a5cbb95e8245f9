"""What is known about a method without importing it: texts for people, and how to make it."""

from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol, cast

if TYPE_CHECKING:
    from explainers.explanation import Attribution
    from explainers.models.classifier import FrozenModel
    from explainers.models.encoding import Encoding, Erasure

Kind = Literal["one pass", "gradients", "one by one", "fine-tuned", "sampled", "chance", "one text"]


class Method(Protocol):
    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> "Attribution":
        """The scores of every unit for class number `label`."""
        ...


@dataclass(frozen=True)
class Entry:
    """`made_by` is "module:class" below `explainers`, `fixed` the fields that make it this method."""

    id: str
    name: str
    group: str
    kind: Kind
    signed: bool
    idea: str
    caution: str
    formula: str  # LaTeX
    source: str
    made_by: str
    fixed: tuple[tuple[str, object], ...] = ()
    differs: tuple[str, ...] = ()  # where the paper, its code and we are not the same
    costs: int = 1  # inputs through the model, where `kind` does not say it
    pairs_only: bool = False  # means nothing where there is a single text
    pictures_only: bool = False  # means nothing where there is no picture
    optimised: bool = False  # on the very figures by which methods are compared: listed apart, never favoured

    def expected_calls(self, units: int, *, samples: int, steps: int) -> int:
        """How many inputs will go through the model, to tell the time that is left."""
        per_kind = {"chance": 0, "one text": 0, "one by one": units + 1, "sampled": samples}
        if self.id == "integrated_gradients":
            return steps + 2
        return max(samples, min(20 * units, 2000)) if self.id == "kernel_shap" else per_kind.get(self.kind, self.costs)

    def make(self, *, erasure: "Erasure", seed: int, samples: int, steps: int) -> Method:
        """The method with those of the settings that it has."""
        module, _, name = self.made_by.partition(":")
        method = getattr(import_module(f"explainers.{module}"), name)(**dict(self.fixed))
        settings = {"erasure": erasure, "seed": seed, "samples": samples}
        settings |= {} if self.group == "Learned" else {"steps": steps}  # theirs are of another kind
        known = {field.name for field in fields(method)}
        return cast(Method, replace(method, **{name: value for name, value in settings.items() if name in known}))

    def variant(self, name: str) -> "Entry":
        """The same method with other weights, such as `aml:comp`."""
        return replace(
            self,
            id=f"{self.id}:{name}",
            name=f"{self.name} ({name.replace('-', ', ')})",
            fixed=(*self.fixed, ("variant", name)),
        )
