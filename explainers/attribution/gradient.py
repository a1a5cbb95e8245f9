"""Three methods that differentiate the probability of the class.

Gradient × input (Shrikumar et al., 2016): the first-order effect of each unit's embedding on the probability, which is
the derivative by a factor on h_t at 1.

    score_u = Σ_{tokens t of u} h_t · ∂p(label | x) / ∂h_t        h: embedding output, after LayerNorm

Integrated gradients (Sundararajan et al., 2017), through Captum, over the mask of each unit.

    score_u = ∫₀¹ ∂p(label | x blended with its baseline by α) / ∂m_u dα

The path runs from a text whose units are all [MASK] to the text itself; with the operator "zero" from zero embeddings,
and with "delete", which has no intermediate values, from [MASK] too. A unit's mask multiplies (e - e_baseline) of its
tokens, so its derivative is the sum over tokens and dimensions that the paper's equation 1 takes. The scores add up to
p(x) - p(baseline); how far the sum of finitely many steps is from that is the gap.

GradientSHAP (Lundberg and Lee, 2017; as expected gradients: Erion et al., 2021, Eq. 1) draws baseline and α at random:

    score_u = E_{b, α} [(1 - b_u) · ∂p(label | x blended by b + α·(1 - b)) / ∂m_u]

The reference texts b are this text with a random share of its units as [MASK], because no other texts are at hand. The
scores add up to p(x) - E[p(b)]; how far the sample is from that is the gap. Captum's class draws from the generators of
the whole process, which other threads use too.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from explainers.methods.registry import MethodSpec
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

GRADIENT_SHAP = MethodSpec(
    id="gradient_shap",
    name="GradientSHAP",
    group="Gradient",
    kind="gradients",
    signed=True,
    idea="Averages the gradient between this text and versions of it in which a random share of the words is masked.",
    caution="Do not believe small differences: it is an average over few random versions, and their spread is shown.",
    formula=r"s_u=\mathbb{E}_{b,\alpha}\Bigl[(1-b_u)"
    r"\,\frac{\partial p(y\mid \tilde x(b+\alpha(1-b)))}{\partial m_u}\Bigr]",
    source="Lundberg and Lee, NeurIPS 2017; Erion et al., 2021",
    implementation=f"{__name__}:GradientShap",
    colour="#46a0c8",
    default=False,
    deviations=(
        "The reference texts are versions of this text with a random share of its words masked; the paper draws them "
        "from data.",
    ),
    passes=lambda _units, _samples, steps: 2 * steps + 1,
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


@dataclass(frozen=True)
class GradientShap:
    """Costs `steps` forward and backward passes, and as many forward ones and one for the gap."""

    steps: int = 50
    seed: int = 0
    erasure: "Erasure" = "mask"

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        import torch

        from explainers.attribution.mask_samples import DRAWS
        from explainers.models.batching import halved_until_it_fits

        generator, units = torch.Generator().manual_seed(self.seed), len(encoding.units)
        shares, draws, alphas = (torch.rand(self.steps, width, generator=generator) for width in (1, units, 1))
        baselines = (draws < shares).float()  # (steps, units): what is kept
        points = baselines + alphas * (1 - baselines)

        def gradients(size: int) -> torch.Tensor:
            parts: list[torch.Tensor] = []
            for some in torch.split(points, size):
                mask = some.clone().requires_grad_(True)
                probabilities = model.soft_probabilities(encoding, mask, self.erasure)[:, label]
                parts += torch.autograd.grad(probabilities.sum(), mask)
            return torch.cat(parts)

        effects = (1 - baselines) * halved_until_it_fits(model.rows_at_once(encoding), gradients)
        scores = effects.mean(0)
        spread = effects.std(0, unbiased=False) / max(1, self.steps - 1) ** 0.5
        again = torch.randint(self.steps, (DRAWS, self.steps), generator=generator)  # with replacement
        present = torch.ones(1, units)
        with torch.no_grad():
            ends = [
                model.soft_probabilities(encoding, some, self.erasure)[:, label]
                for some in (present, *torch.split(baselines, model.rows_at_once(encoding)))
            ]
        rise = float(ends[0]) - float(torch.cat(ends[1:]).mean())
        return Attribution(
            GRADIENT_SHAP.id,
            encoding,
            label,
            floats(scores),
            signed=GRADIENT_SHAP.signed,
            spread=floats(spread),
            draws=tuple(floats(draw) for draw in effects[again].mean(1)),
            gap=abs(float(scores.sum()) - rise),
        )
