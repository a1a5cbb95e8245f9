"""Controls, which cost nothing: a random order, the first or last unit alone, and, for pairs and images with a text,
one part of the input alone.

An explanation must beat the random order. The metrics of one part say how far that part alone goes.

    s_u = 1 if unit u belongs to part number `segment`, else 0        0: premise or text, 1: hypothesis or image

At a cut inside the part, its first words or patches are the ones that are taken; behind the first or last unit the
others follow in the order of the input.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from explainers.methods.registry import MethodSpec
from explainers.results.attribution import Attribution, floats
from explainers.results.decision import RANDOM_ORDERS

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding

PREMISE_ONLY = MethodSpec(
    id="premise_only",
    name="Premise only",
    group="Controls",
    kind="one part",
    answers_only=True,
    is_control=True,
    signed=False,
    idea="For pairs: every word of the first text counts, no word of the second. Not an explanation.",
    caution="Never an explanation. If it looks as good as a method, the first text alone decides, or the method "
    "shows no more than which text matters.",
    formula=r"s_u=1\text{ in the premise},\;0\text{ in the hypothesis}",
    source="a control",
    implementation=f"{__name__}:SinglePart",
    colour="#2d96ff",
    passes=lambda _units, _samples, _steps: 0,
    fixed=(("segment", 0),),
    needs="pair",
)

HYPOTHESIS_ONLY = MethodSpec(
    id="hypothesis_only",
    name="Hypothesis only",
    group="Controls",
    kind="one part",
    answers_only=True,
    is_control=True,
    signed=False,
    idea="For pairs: every word of the second text counts, no word of the first. Not an explanation.",
    caution="Never an explanation. If it looks as good as a method, the model hardly needs the first text: a known "
    "weakness of models trained on such data.",
    formula=r"s_u=1\text{ in the hypothesis},\;0\text{ in the premise}",
    source="a control; Gururangan et al., NAACL 2018",
    implementation=f"{__name__}:SinglePart",
    colour="#f0695a",
    passes=lambda _units, _samples, _steps: 0,
    fixed=(("segment", 1),),
    needs="pair",
)

TEXT_ONLY = MethodSpec(
    id="text_only",
    name="Text only",
    group="Controls",
    kind="one part",
    answers_only=True,
    is_control=True,
    signed=False,
    idea="For images with text: every word counts, no patch. Not an explanation.",
    caution="Never an explanation. If it looks as good as a method, the words alone decide, or the method shows no "
    "more than that the words matter.",
    formula=r"s_u=1\text{ in the text},\;0\text{ in the image}",
    source="a control",
    implementation=f"{__name__}:SinglePart",
    colour="#3c8796",
    passes=lambda _units, _samples, _steps: 0,
    fixed=(("segment", 0),),
    needs="image",
)

PICTURE_ONLY = MethodSpec(
    id="image_only",
    name="Image only",
    group="Controls",
    kind="one part",
    answers_only=True,
    is_control=True,
    signed=False,
    idea="For images with text: every patch counts, no word. Not an explanation.",
    caution="Never an explanation. If it looks as good as a method, the model hardly needs the words.",
    formula=r"s_u=1\text{ in the image},\;0\text{ in the text}",
    source="a control",
    implementation=f"{__name__}:SinglePart",
    colour="#a5691e",
    passes=lambda _units, _samples, _steps: 0,
    fixed=(("segment", 1),),
    needs="image",
)

FIRST_ONLY = MethodSpec(
    id="first_only",
    name="First unit only",
    group="Controls",
    kind="one part",
    answers_only=True,
    is_control=True,
    signed=False,
    idea="The first unit counts, no other. Not an explanation.",
    caution="Never an explanation. If it looks as good as a method, the position may decide: decoders attend to the "
    "first tokens whatever they say, and read the class from the last one.",
    formula=r"s_u=1\text{ for the first unit},\;0\text{ for the others}",
    source="a control; Xiao et al., ICLR 2024 (attention sinks)",
    implementation=f"{__name__}:SinglePosition",
    colour="#6b8e23",
    passes=lambda _units, _samples, _steps: 0,
    fixed=(("position", 0),),
    default=False,
)

LAST_ONLY = replace(
    FIRST_ONLY,
    id="last_only",
    name="Last unit only",
    idea="The last unit counts, no other. Not an explanation.",
    formula=r"s_u=1\text{ for the last unit},\;0\text{ for the others}",
    colour="#c71585",
    fixed=(("position", -1),),
)

SINGLE_PARTS = {spec.id: spec for spec in (PREMISE_ONLY, HYPOTHESIS_ONLY, TEXT_ONLY, PICTURE_ONLY)}

RANDOM = MethodSpec(
    id="random",
    name="Random",
    group="Controls",
    kind="random order",
    answers_only=True,
    is_control=True,
    signed=True,
    idea="Scores drawn at random: the floor that every explanation must beat.",
    caution="Never an explanation. If it looks as good as a method, that method explains nothing here.",
    formula=r"s_u\sim\mathcal N(0,1)",
    source="a control",
    implementation=f"{__name__}:RandomOrder",
    colour="#8a8a8a",
    passes=lambda _units, _samples, _steps: 0,
)


@dataclass(frozen=True)
class SinglePart:
    """`method` is one of `SINGLE_PARTS`."""

    method: str
    segment: int

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        scores = tuple(float(unit.segment == self.segment) for unit in encoding.units)
        return Attribution(self.method, encoding, label, scores, signed=SINGLE_PARTS[self.method].signed)


@dataclass(frozen=True)
class SinglePosition:
    """`position` is that of the unit that counts: 0 or -1."""

    method: str
    position: int

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        units = len(encoding.units)
        scores = tuple(float(unit == self.position % units) for unit in range(units))
        return Attribution(self.method, encoding, label, scores, signed=False)


@dataclass(frozen=True)
class RandomOrder:
    """`seed` decides the order, which is the first one of the random control."""

    seed: int = 0

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        (scores,) = control_orders(len(encoding.units), self.seed, 1)
        return Attribution(RANDOM.id, encoding, label, scores, signed=RANDOM.signed)


def random_scores(units: int, seed: int) -> tuple[float, ...]:
    return floats(np.random.default_rng(seed).standard_normal(units))


def control_orders(units: int, seed: int, orders: int = RANDOM_ORDERS) -> list[tuple[float, ...]]:
    """The scores of the random control's independent orders, of which more begin with the same ones."""
    return [random_scores(units, 1000 * (seed + 1) + draw) for draw in range(orders)]
