"""DeepLIFT (Shrikumar, Greenside and Kundaje, ICML 2017): what the difference from a baseline does, part by part.

The text x and its baseline x⁰ go through the network side by side. Every part gets a multiplier, by which a difference
of its input becomes one of its output, and multipliers follow the chain rule of derivatives (Eq. 3):

    m = (f(x) - f(x⁰)) / (x - x⁰)                                            the rescale rule, for a function f of x

The paper has it for functions of one number. What else is in a Transformer has rules in its spirit, without which
hardly anything of the difference is explained, because derivatives are nearly 0 where a model is sure:

    Δ(u·v) = v̄·Δu + ū·Δv                                   products of numbers and of matrices; ū = ½(u + u⁰)
    Δq     = (Δu - q̄·Δv) / v̄                               quotients q = u / v, from the rule of products for u = q·v
    Δp_i   = λ_i (Δz_i - Σ_j λ_j Δz_j / Σ_j λ_j)           softmax p of z, where λ_i = Δp_i / Δ log p_i

A layer norm is made of these. Where nothing else is nonlinear the scores add up to p(x) - p(x⁰); what they miss is the
gap. The baseline is that of integrated gradients, and the score of a unit the multiplier of its mask from 0 to 1.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from explainers.errors import ExplanationError
from explainers.methods.registry import MethodSpec
from explainers.results.attribution import Attribution, floats

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding, Erasure

DEEPLIFT = MethodSpec(
    id="deeplift",
    name="DeepLIFT",
    group="Gradient",
    kind="gradients",
    signed=True,
    idea="Compares every neuron at this text with the same neuron at a text of [MASK] tokens, and hands the difference "
    "in probability back to the words. Under the operator zero the other text has zero embeddings.",
    caution="Do not believe small differences when the gap is large: then the model has parts for which there is no "
    "rule. A different baseline gives a different answer.",
    formula=r"s_u=m_{\Delta m_u\,\Delta p},\quad m_{\Delta x\,\Delta f}=\frac{f(x)-f(x^0)}{x-x^0},\quad"
    r"\sum_u s_u=\Delta p",
    source="Shrikumar et al., ICML 2017",
    implementation=f"{__name__}:DeepLift",
    colour="#5078f0",
    default=False,
    deviations=(
        "The rescale rule is used for activations, powers, roots, exponentials and logarithms. RevealCancel, the other "
        "rule of the paper, is not here.",
        "The paper has no rule for what else a Transformer is made of. Here each factor of a product has the mean of "
        "the other one at both ends as its slope, a softmax is shared out by logarithmic means, and layer norms are "
        "taken apart into squares, roots and quotients.",
        "Captum has no rules for GELU, softmax in attention, products and layer norms, and takes their gradient: where "
        "the model is sure, the sum of its scores misses most of the rise of the probability.",
        "What has no rule keeps its gradient, such as attention in one fused step, maxima, Einstein sums, and "
        "functions whose derivative a model writes itself, such as Bloom's GELU. The gap says how much that is on an "
        "input. Mixtures of experts are refused: the tokens of text and baseline go through different experts.",
    ),
    passes=lambda _units, _samples, _steps: 2,
)


@dataclass(frozen=True)
class DeepLift:
    """Costs two forward passes and one backward pass."""

    erasure: "Erasure" = "mask"

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        import torch

        from explainers.attribution.multipliers import Multipliers
        from explainers.models.batching import memory_errors

        if any("experts" in name.split(".") for name, _ in model.module.named_modules()):
            raise ExplanationError(
                f"DeepLIFT compares a text with its baseline token by token, and {model.name} sends them to different "
                "experts."
            )
        units = len(encoding.units)
        masks = torch.stack([torch.ones(units), torch.zeros(units)]).requires_grad_(True)
        with memory_errors(), Multipliers():
            text, baseline = model.soft_probabilities(encoding, masks, self.erasure)[:, label]
            scores, _ = torch.autograd.grad(text, masks)[0]
        gap = abs(float(scores.sum()) - float(text.detach() - baseline.detach()))
        return Attribution(DEEPLIFT.id, encoding, label, floats(scores), signed=DEEPLIFT.signed, gap=gap)
