"""GlobEnc (Modarressi et al., NAACL 2022): norms of what each token adds to each token, over the whole encoder.

In each layer token j adds to token i a vector, through attention, both residuals and both layer norms; the feed-forward
part is left out but for the deviation that the second layer norm divides by. Its Euclidean norm says how much it is:

    n_ij = ‖LN₂'(LN₁'(Σ_h A^h_ij W_O^h (W_V^h x_j + b_V^h) + [i = j] x_i))‖₂       LN': without the bias

Rows are divided by their sums, and over the layers N = N_N · … · N_1; the score of a word is read as in ALTI. It does
not depend on the class, so that only the predicted one is said to be explained.
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

GLOBENC = MethodSpec(
    id="globenc",
    name="GlobEnc",
    group="Attention",
    kind="one pass",
    signed=False,
    idea="Follows through all layers the norms of the vectors that words add to each other: attention with values, "
    "both residuals and both layer norms.",
    caution="Do not read it as support for a class: it is the same for every class.",
    formula=r"N=\prod_\ell N^\ell,\quad N^\ell_{ij}\propto"
    r"\bigl\lVert\mathrm{LN}_2(\mathrm{LN}_1(\textstyle\sum_h A^h_{ij}W_O^hW_V^hx_j+[i=j]\,x_i))\bigr\rVert_2",
    source="Modarressi et al., NAACL 2022",
    implementation=f"{__name__}:GlobEnc",
    colour="#a08c3c",
    default=False,
    class_independent=True,
    one_window=True,
    deviations=(
        "Where the class is read from the mean over all tokens, as in the embedded models, so are the rows; the paper "
        "reads the row of one token.",
    ),
)


@dataclass(frozen=True)
class GlobEnc:
    """Costs one forward pass, and about as much again to take its layers apart."""

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        from explainers.attribution.decomposition import contributions

        return Attribution(GLOBENC.id, encoding, label, contributions(model, encoding, norms), signed=GLOBENC.signed)


def norms(layer: "LayerParts", parts: "Tensor") -> "Tensor":
    """The norms of what the tokens add, after both layer norms: (R, L, d) → (R, L)."""
    import torch

    from explainers.attribution.decomposition import normalised

    whole = parts.sum(1) + layer.output.bias
    first = normalised(parts, whole, layer.attention_norm)
    second = layer.transformed(layer.attention_norm(whole))
    sizes: Tensor = torch.linalg.vector_norm(normalised(first, second, layer.norm), dim=-1)
    return sizes
