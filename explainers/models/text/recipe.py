"""How an embedded text model is trained; it stands on the model's card."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TextModelRecipe:
    """`rank` 0 trains the encoder layers themselves; a positive one trains a LoRA adapter on all linear layers."""

    rank: int = 0
    epochs: int = 3
    warm_up_epochs: int = 1  # number of first epochs that include the warm-up texts
    learning_rate: float = 1e-4
    batch: int = 64
    smoothing: float = 0.05  # label smoothing: saturated probabilities leave nothing for a gradient to explain
    masking: float = 0.15  # of the tokens, in every other text
    uniform_masking: bool = False  # instead a share of its own in each of these texts, uniform in 0…1
    averaging: float = 0.998  # decay of the moving average, per step
    rising: float = 0.06  # share of the steps in which the learning rate rises
    weight_decay: float = 0.01
    longest: int = 128  # tokens of a training text
    seed: int = 0
