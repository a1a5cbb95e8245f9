"""The settings of a narrator's training."""

from dataclasses import dataclass
from typing import Literal

from explainers.narrative.language import SMALL

Losses = Literal["phi", "phi_ts", "cause"]
Leak = Literal["closed", "leaky", "sentence"]
Reads = Literal["states", "words"]

MEANING = {
    "leak": "What A reads: φ's next token after “The answer is”, the item's own sentence as published, or the sentence "
    "that φ generates itself.",
    "soft": "Whether L_TS compares with the model's probabilities, or with its class as in the authors' code.",
    "inputs": "Whether neurons are also exchanged in the state that φ reads.",
    "words": "Whether L_TS and L_IIT also apply to the class that φ generates next, and not only to C2.",
    "ends": "Whether φ learns to end after the class where the model is wrong, as in Algorithm 2.",
    "share": "How many of a layer's neurons are exchanged, from 0 to 1.",
    "layer": "φ also reads the tokens of this layer and of the last one; 0: only the state c.",
    "language": "φ: tiny or small, which are trained here; encoder, smollm2, gpt2, or another causal language model.",
    "adapter_rank": "Rank of low-rank adapters on a pretrained language model; 0 trains all its weights.",
    "half_precision": "Multiply φ's matrices in bfloat16 while it learns.",
    "epochs": "How often every item is read.",
    "phi_epochs": "Epochs of L_φ alone, before the other losses join.",
    "keep": "The epoch whose weights are kept: the last, or the best on validation inputs.",
    "point_once": "Let a generated sentence point to each word of the input once.",
    "match_certainty": "Draw items so that the model is as certain of them as of validation inputs.",
    "more_examples": "Further training examples, drawn from the generator of a generated data set.",
    "batch": "Items per step.",
    "learning_rate": "Size of the steps.",
}


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
    more_examples: int = 0  # that a generator draws besides its data set's own training part
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
