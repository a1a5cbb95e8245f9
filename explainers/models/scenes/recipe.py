"""How `scenes` is trained; the recipe is part of the model's card."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SceneModelRecipe:
    steps: int = 10_500
    batch: int = 64
    learning_rate: float = 3e-3  # of the encoder's matrices, by Muon; of all else half of it, by AdamW
    rising: float = 0.05  # share of the steps in which the learning rate rises
    smoothing: float = 0.05  # saturated probabilities leave nothing for a gradient to explain
    thinned: float = 0.85  # share of the samples in which empty patches are left out
    left_out: float = 0.8  # share of such a sample's empty patches
    erased: float = 0.33  # share of the samples in which something is erased
    most_erased: float = 0.5  # of such a sample's words or patches
    human: float = 0.15  # share of NLVR's own rows
    borrowed: float = 0.4  # share of NLVR's statements among the generated ones
    alone: int = 1000  # steps before the first of them
    averaging: float = 0.999
    weight_decay: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch < 2:
            raise ValueError(f"Two processes share a batch, so it must have at least 2 samples, not {self.batch}.")
