"""How LIME and KernelSHAP draw their masks. Importing this module is cheap."""

from typing import Literal, get_args

Sampling = Literal["captum", "shared"]  # for each method as its paper does; the same masks for all that sample
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)
DEFAULT_SAMPLING: Sampling = "shared"
EVALUATED_SAMPLING: Sampling = "captum"  # in the stored evaluations, with 500 samples
