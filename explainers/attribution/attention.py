"""Attention as a baseline. Where a model looks is not why it decides (Jain and Wallace, 2019).

    score_u = Σ_{tokens t of u} mean over layers, heads and attending tokens of attention to t

`attention_last` takes the last layer only and, where the class is read from the first token, what that token
attends to. Attention does not depend on the class that is explained.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from explainers.methods.registry import MethodSpec
from explainers.results.attribution import Attribution, floats

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding

ATTENTION_MEAN = MethodSpec(
    id="attention_mean",
    name="Attention, mean",
    group="Attention",
    kind="one pass",
    is_control=True,
    signed=False,
    idea="How much attention each word receives, over all layers and heads. Not an explanation by itself.",
    caution="Do not read it as a reason: where the model attends is not why it decides, for any class.",
    formula=r"s_u=\sum_{t\in u}\frac1{LHN}\sum_{\ell,h,i}A^{\ell h}_{it}",
    source="Jain and Wallace, NAACL 2019",
    implementation=f"{__name__}:Attention",
    colour="#875a69",
)

ATTENTION_LAST = MethodSpec(
    id="attention_last",
    name="Attention, last layer",
    group="Attention",
    kind="one pass",
    is_control=True,
    signed=False,
    idea="How much attention each word receives in the last layer. Not an explanation by itself.",
    caution="Do not read it as a reason: in the last layer a position no longer stands for its word.",
    formula=r"s_u=\sum_{t\in u}\frac1{HN}\sum_{h,i}A^{Lh}_{it}"
    r"\quad\text{(read from the first token: }i=1\text{ only)}",
    source="Jain and Wallace, NAACL 2019",
    implementation=f"{__name__}:Attention",
    colour="#c378b4",
    default=False,
    fixed=(("last_layer", True),),
)


@dataclass(frozen=True)
class Attention:
    """Costs one forward pass."""

    last_layer: bool = False

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        spec = ATTENTION_LAST if self.last_layer else ATTENTION_MEAN
        scores = model.attention_received(encoding, last_layer=self.last_layer)
        return Attribution(spec.id, encoding, label, floats(scores), signed=spec.signed)
