"""The settings of a narrator's training."""

from dataclasses import dataclass
from typing import Literal

from explainers.narrative.language import SMALL

Losses = Literal["phi", "phi_ts", "cause"]
Leak = Literal["closed", "leaky", "sentence"]
Reads = Literal["states", "words"]


@dataclass(frozen=True)
class NarratorRecipe:
    """The paper compares three `losses`: phi is L_φ alone, phi_ts adds L_TS, cause has all terms.

    `leak` says what A reads: "closed" φ's next token after "The answer is"; "leaky" the item's own sentence, as
    published; "sentence" the sentence that φ generates itself, without the class name.
    """

    losses: Losses = "cause"
    leak: Leak = "closed"
    soft: bool = True  # L_TS against the model's probabilities; false: against its class, as in the authors' code
    inputs: bool = True  # L_IIT also with the exchange in the state, before ψ
    words: bool = True  # L_TS and L_IIT also for the class that φ generates next, not only for C2
    ends: bool = True  # where the model is wrong φ learns to end after the class (Algorithm 2); false: only the class
    share: float = 0.2  # of a layer's neurons are exchanged
    layer: int = 0  # φ sees the tokens of this layer and of the last one; 0: it reads c alone
    reads: Reads = "states"  # of the tokens; words: the input's words, and nothing of the model
    language: str = SMALL
    adapter_rank: int = 0  # of low-rank adapters on a pretrained language model; 0: all its weights learn
    half_precision: bool = False  # φ's matrix products in bfloat16 while it learns
    epochs: int = 3
    phi_epochs: int = 0  # of these, before the other losses join L_φ
    keep: Literal["last", "best"] = "last"  # which epoch's weights; the best one on validation inputs
    point_once: bool = False  # while generating, φ points to a word of the input once
    match_certainty: bool = False  # items are drawn so that the model is as certain as on validation inputs
    batch: int = 32
    learning_rate: float = 5e-4
    seed: int = 0

    @property
    def exchanges_in_state(self) -> bool:
        """Whether L_IIT has exchanges in what φ reads too, which A must then read from φ and not from the item."""
        return self.inputs and self.leak != "leaky"

    def steps(self, items: int) -> int:
        """Of a whole training on so many items."""
        return self.epochs * -(-items // self.batch)
