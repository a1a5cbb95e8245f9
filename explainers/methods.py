"""Every method, in the order of display: what it is, and when not to believe it.

Importing this module is cheap: the methods themselves, and torch with them, are imported when one is made.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol, cast

from explainers.errors import ExplanationError

if TYPE_CHECKING:
    from explainers.explanation import Attribution
    from explainers.models.classifier import TextClassifier
    from explainers.models.encoding import Encoding, Erasure

Kind = Literal["one pass", "gradients", "one by one", "sampled", "chance"]


class Method(Protocol):
    def attribute(self, model: "TextClassifier", encoding: "Encoding", label: int) -> "Attribution":
        """The scores of every unit for class number `label`."""
        ...


@dataclass(frozen=True)
class Entry:
    """`made_by` is "module:class" below `explainers.attribution`, `fixed` the fields that make it this method."""

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

    def expected_calls(self, units: int, *, samples: int, steps: int) -> int:
        """How many inputs will go through the model, to tell the time that is left."""
        per_kind = {"one pass": 1, "chance": 0, "gradients": 1, "one by one": units + 1, "sampled": samples}
        if self.id == "integrated_gradients":
            return steps + 2
        return max(samples, min(20 * units, 2000)) if self.id == "kernel_shap" else per_kind[self.kind]

    def make(self, *, erasure: "Erasure", seed: int, samples: int, steps: int) -> Method:
        """The method with those of the settings that it has."""
        module, _, name = self.made_by.partition(":")
        method = getattr(import_module(f"explainers.attribution.{module}"), name)(**dict(self.fixed))
        settings = {"erasure": erasure, "seed": seed, "samples": samples, "steps": steps}
        known = {field.name for field in fields(method)}
        return cast(Method, replace(method, **{name: value for name, value in settings.items() if name in known}))


METHODS = (
    Entry(
        id="integrated_gradients",
        name="Integrated gradients",
        group="Captum",
        kind="gradients",
        signed=True,
        idea="Adds up the gradient on the way from a text of [MASK] tokens to this text. "
        "Where words are erased by zero, it starts from zero embeddings.",
        caution="Do not believe small differences when the gap is large: then the steps were too few. "
        "A different baseline gives a different answer.",
        formula=r"s_u=\int_0^1 \frac{\partial p(y\mid \tilde x(\alpha))}{\partial m_u}\,d\alpha",
        source="Sundararajan et al., ICML 2017",
        made_by="integrated_gradients:IntegratedGradients",
    ),
    Entry(
        id="lime",
        name="LIME",
        group="Captum",
        kind="sampled",
        signed=True,
        idea="Fits a straight line to the model's answers on texts with random words erased.",
        caution="Do not believe ranks that lie within ± the spread: another seed would order them otherwise. "
        "Words that only act together are split arbitrarily.",
        formula=r"\arg\min_s \sum_z \pi(z)\,(p(y\mid z)-b-z\cdot s)^2+\lambda\lVert s\rVert^2",
        source="Ribeiro et al., KDD 2016",
        made_by="lime:Lime",
    ),
    Entry(
        id="kernel_shap",
        name="KernelSHAP",
        group="Captum",
        kind="sampled",
        signed=True,
        idea="Estimates each word's Shapley value, its average effect over all orders of adding the words.",
        caution="Do not believe single scores when the spread is as large as they are: long texts need more samples.",
        formula=r"\phi_u=\sum_{S\not\ni u}\frac{|S|!\,(n-|S|-1)!}{n!}\,(p(S\cup u)-p(S))",
        source="Lundberg and Lee, NeurIPS 2017; paired sampling: Covert and Lee, AISTATS 2021",
        made_by="kernel_shap:KernelShap",
    ),
    Entry(
        id="occlusion",
        name="Occlusion",
        group="Captum",
        kind="one by one",
        signed=True,
        idea="Erases each word alone and looks how far the probability falls.",
        caution="Do not believe low scores of words that say the same thing twice: erasing one leaves the other.",
        formula=r"s_u=p(y\mid x)-p(y\mid x_{\setminus u})",
        source="Zeiler and Fergus, ECCV 2014; Li et al., 2016",
        made_by="occlusion:Occlusion",
    ),
    Entry(
        id="gradient_x_input",
        name="Gradient × input",
        group="Captum",
        kind="gradients",
        signed=True,
        idea="Multiplies each word's embedding with the gradient at this text: the first-order effect of fading it.",
        caution="Do not believe it when the model is very sure: there the gradient is nearly flat and mostly noise.",
        formula=r"s_u=\sum_{t\in u} h_t\cdot\frac{\partial p(y\mid x)}{\partial h_t}",
        source="Shrikumar et al., 2016",
        made_by="gradient_x_input:GradientTimesInput",
    ),
    Entry(
        id="attention_mean",
        name="Attention, mean",
        group="Controls",
        kind="one pass",
        signed=False,
        idea="How much attention each word receives, over all layers and heads. Not an explanation by itself.",
        caution="Do not believe it as a reason: where the model looks is not why it decides, for any class.",
        formula=r"s_u=\sum_{t\in u}\frac1{LHN}\sum_{\ell,h,i}A^{\ell h}_{it}",
        source="Jain and Wallace, NAACL 2019",
        made_by="attention:Attention",
    ),
    Entry(
        id="attention_last",
        name="Attention, last layer",
        group="Controls",
        kind="one pass",
        signed=False,
        idea="How much attention each word receives in the last layer. Not an explanation by itself.",
        caution="Do not believe it as a reason: in the last layer a position no longer stands for its word.",
        formula=r"s_u=\sum_{t\in u}\frac1{HN}\sum_{h,i}A^{Lh}_{it}"
        r"\quad\text{(read from the first token: }i=1\text{ only)}",
        source="Jain and Wallace, NAACL 2019",
        made_by="attention:Attention",
        fixed=(("last_layer", True),),
    ),
    Entry(
        id="random",
        name="Random",
        group="Controls",
        kind="chance",
        signed=True,
        idea="Scores drawn at random: the floor that every explanation must beat.",
        caution="Never believe it. If it looks as good as a method, that method has found nothing here.",
        formula=r"s_u\sim\mathcal N(0,1)",
        source="a control",
        made_by="random_floor:RandomFloor",
    ),
)


def chosen(ids: Iterable[str]) -> tuple[Entry, ...]:
    """The entries with these ids, in the order of display. Raises `ExplanationError` for an unknown one."""
    wanted = list(ids)
    known = {entry.id: entry for entry in METHODS}
    for each in wanted:
        if each not in known:
            raise ExplanationError(f"There is no method {each!r}. Choose from: {', '.join(known)}.")
    return tuple(entry for entry in METHODS if entry.id in wanted)


DEFAULT = tuple(entry.id for entry in METHODS if entry.id != "attention_last")
