"""ALTI (Ferrando, Gállego and Costa-jussà, EMNLP 2022): how much of each token is in what the class is read from.

The output of a layer's attention block is a sum of transformed vectors, y_i = Σ_j T_i(x_j). What token j has in it is
how much nearer to y_i its vector is than nothing is, in the L1 norm (Eq. 10, 11):

    c_ij = max(0, ‖y_i‖₁ - ‖y_i - T_i(x_j)‖₁) / Σ_k max(0, ‖y_i‖₁ - ‖y_i - T_i(x_k)‖₁)

Over the layers C = C_N · … · C_1; the score of a word is the sum over its tokens in the row of the token that the class
is read from, or in the mean of all rows where it is read from all. The feed-forward part mixes no tokens and is left
out, and so is the class: ALTI says what was mixed in, not what it did, so that only the predicted class is said to be
explained.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from explainers.methods.registry import MethodSpec
from explainers.results.attribution import Attribution

if TYPE_CHECKING:
    from torch import Tensor

    from explainers.attribution.decomposition import LayerParts
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding

ALTI = MethodSpec(
    id="alti",
    name="ALTI",
    group="Attention",
    kind="one pass",
    signed=False,
    idea="Follows through all layers how much of each word is mixed into what the class is read from: attention with "
    "the size of what is attended to, residuals and layer norms.",
    caution="Do not read it as support for a class: it is the same for every class.",
    formula=r"C=\prod_\ell C^\ell,\quad "
    r"C^\ell_{ij}\propto\max\bigl(0,\lVert y_i\rVert_1-\lVert y_i-T_i(x_j)\rVert_1\bigr)",
    source="Ferrando et al., EMNLP 2022",
    implementation=f"{__name__}:Alti",
    colour="#7d5fa0",
    default=False,
    class_independent=True,
    one_window=True,
    deviations=(
        "Where the class is read from the mean over all tokens, as in the embedded models, so are the rows; the paper "
        "reads the row of one token.",
    ),
)


@dataclass(frozen=True)
class Alti:
    """Costs one forward pass, and about as much again to take its layers apart."""

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        from explainers.attribution.decomposition import contributions

        return Attribution(ALTI.id, encoding, label, contributions(model, encoding, nearness), signed=ALTI.signed)


def nearness(layer: "LayerParts", parts: "Tensor") -> "Tensor":
    """How much nearer to y_i a token's part of it is than 0, at least 0: (R, L, d) → (R, L)."""
    from explainers.attribution.decomposition import normalised

    whole = parts.sum(1) + layer.output.bias
    output: Tensor = layer.attention_norm(whole)[:, None]  # (R, 1, d)
    distance = (output - normalised(parts, whole, layer.attention_norm)).abs().sum(-1)
    return (output.abs().sum(-1) - distance).clamp(min=0)
