"""The packages that `study peers` compares with, in the exact versions that it installs.

How methods and settings are called in the comparison with other packages.
"""

from dataclasses import dataclass
from importlib.metadata import version

INSIDE = "explainers.studies.peers.inside"


@dataclass(frozen=True)
class Peer:
    """`requirements` are what pip installs besides torch; `module` runs in the peer's environment."""

    id: str
    name: str
    requirements: tuple[str, ...]

    @property
    def module(self) -> str:
        return f"{INSIDE}.{self.id}_runs"

    @property
    def all_requirements(self) -> tuple[str, ...]:
        """With the torch of this program, so that all run the same arithmetic."""
        return (f"torch=={version('torch').partition('+')[0]}", *self.requirements)


PEERS = (
    Peer(
        "captum",
        "Captum 0.9.0, as documented",
        ("captum==0.9.0", "scikit-learn==1.9.1", "transformers==5.23.0", "numpy==2.4.6"),
    ),
    Peer(
        "ferret",
        "ferret 0.4.2",
        (
            "ferret-xai==0.4.2",
            "transformers==4.57.6",
            "shap==0.44.1",
            "captum==0.7.0",
            "pyarrow==21.0.0",
            "numpy==1.26.4",
        ),
    ),
    Peer("interpreto", "interpreto 0.5.2", ("interpreto==0.5.2", "transformers==5.23.0", "numpy==2.4.6")),
    Peer("shap", "shap 0.51.0", ("shap==0.51.0", "transformers==5.23.0", "numpy==2.4.6")),
)
CROSSLIGHT = Peer("crosslight", "Crosslight", ())  # runs in the environment of this program


IG, LIME, KERNEL_SHAP, OCCLUSION = "Integrated gradients", "LIME", "KernelSHAP", "Occlusion"
PARTITION, GRADIENT = "Partition SHAP", "Gradient × input"
TOGETHER = "LIME, KernelSHAP and Occlusion together"
FOUR = "Integrated gradients, gradient × input, LIME and SHAP, with curves and metrics"
SHAPLEY = (KERNEL_SHAP, PARTITION)  # they estimate Shapley values

DEFAULT = "default"
COUNTS = (50, 100, 150, 200, 300, 500, 1000)  # of shared masks, in which equal accuracy is looked for
GROUP_COUNTS = (100, 150, 200, 300)  # the same where several methods are timed together


def shared(count: int) -> str:
    return f"{count} shared masks"
