"""Two methods that differentiate the probability of the class.

Gradient × input (Shrikumar et al., 2016): the first-order effect of each unit's embedding on the probability, which is
the derivative by a factor on h_t at 1.

    score_u = Σ_{tokens t of u} h_t · ∂p(label | x) / ∂h_t        h: embedding output, after LayerNorm

Integrated gradients (Sundararajan et al., 2017), through Captum, over the mask of each unit.

    score_u = ∫₀¹ ∂p(label | x blended with its baseline by α) / ∂m_u dα

The path runs from a text whose units are all [MASK] to the text itself; with the operator "zero" from zero embeddings,
and with "delete", which has no intermediate values, from [MASK] too. A unit's mask multiplies (e - e_baseline) of its
tokens, so its derivative is the sum over tokens and dimensions that the paper's equation 1 takes. The scores add up to
p(x) - p(baseline); how far the sum of finitely many steps is from that is the gap.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from explainers.methods.spec import MethodSpec
from explainers.results.attribution import Attribution, floats

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding, Erasure

GRADIENT_X_INPUT = MethodSpec(
    id="gradient_x_input",
    name="Gradient × input",
    group="Gradient",
    kind="gradients",
    signed=True,
    idea="Multiplies each word's embedding with the gradient at this text: the first-order effect of fading it.",
    caution="Do not believe it when the model is very sure: there the gradient is nearly flat and mostly noise.",
    formula=r"s_u=\sum_{t\in u} h_t\cdot\frac{\partial p(y\mid x)}{\partial h_t}",
    source="Shrikumar et al., 2016",
    implementation=f"{__name__}:GradientTimesInput",
    colour="#8787ff",
)

INTEGRATED_GRADIENTS = MethodSpec(
    id="integrated_gradients",
    name="Integrated gradients",
    group="Gradient",
    kind="gradients",
    signed=True,
    idea="Integrates the gradient along the path from a text of [MASK] tokens to this text. Under the operator zero "
    "the path starts from zero embeddings.",
    caution="Do not believe small differences when the gap is large: then the steps were too few. A different "
    "baseline gives a different answer.",
    formula=r"s_u=\int_0^1 \frac{\partial p(y\mid \tilde x(\alpha))}{\partial m_u}\,d\alpha",
    source="Sundararajan et al., ICML 2017",
    implementation=f"{__name__}:IntegratedGradients",
    colour="#0078b4",
    passes=lambda _units, _samples, steps: steps + 2,
)


@dataclass(frozen=True)
class GradientTimesInput:
    """Costs one forward and one backward pass."""

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        import torch

        from explainers.models.batching import memory_errors

        mask = torch.ones(1, len(encoding.units), requires_grad=True)
        with memory_errors():
            probability = model.soft_probabilities(encoding, mask, "zero")[0, label]
            (gradient,) = torch.autograd.grad(probability, mask)
        return Attribution(GRADIENT_X_INPUT.id, encoding, label, floats(gradient), signed=GRADIENT_X_INPUT.signed)


@dataclass(frozen=True)
class IntegratedGradients:
    """Costs `steps` forward and backward passes and two forward passes for the gap."""

    steps: int = 50
    erasure: "Erasure" = "mask"

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        import torch
        from captum import attr

        from explainers.models.batching import halved_until_it_fits

        present = torch.ones(1, len(encoding.units))
        captum = attr.IntegratedGradients(
            lambda masks: model.soft_probabilities(encoding, masks, self.erasure)[:, label]
        )
        scores = halved_until_it_fits(
            model.rows_at_once(encoding),
            lambda size: captum.attribute(
                present, baselines=torch.zeros_like(present), n_steps=self.steps, internal_batch_size=size
            ),
        )
        ends = torch.zeros_like(present), present
        with torch.no_grad():
            nothing, everything = (
                float(model.soft_probabilities(encoding, end, self.erasure)[0, label]) for end in ends
            )
        gap = abs(float(scores.sum()) - (everything - nothing))
        spec = INTEGRATED_GRADIENTS
        return Attribution(spec.id, encoding, label, floats(scores), signed=spec.signed, gap=gap)
