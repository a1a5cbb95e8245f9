"""The settings of a narrator's training."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from explainers.narrative.language import SMALL
from explainers.training.spec import validated

Losses = Literal["phi", "phi_ts", "cause"]
Leak = Literal["closed", "leaky", "sentence"]
Reads = Literal["states", "words"]


@validated
@dataclass(frozen=True)
class NarratorRecipe:
    """The paper compares three `losses`: phi is L_φ alone, phi_ts adds L_TS, cause has all terms.

    `leak` says what A reads: "closed" φ's next token after "The answer is"; "leaky" the item's own sentence, as
    published; "sentence" the sentence that φ generates itself, without the class name.
    """

    losses: Annotated[Losses, Field(description="Which terms of the loss it is trained with.")] = "cause"
    leak: Annotated[
        Leak,
        Field(
            description="What A reads: φ's next token after “The answer is”, the item's own sentence as published, or "
            "the sentence that φ generates itself."
        ),
    ] = "closed"
    soft: Annotated[
        bool,
        Field(
            description="Whether L_TS compares with the model's probabilities, or with its class as in the authors' "
            "code."
        ),
    ] = True
    inputs: Annotated[bool, Field(description="Whether neurons are also exchanged in the state that φ reads.")] = (
        True  # L_IIT also before ψ
    )
    words: Annotated[
        bool,
        Field(description="Whether L_TS and L_IIT also apply to the class that φ generates next, and not only to C2."),
    ] = True
    ends: Annotated[
        bool,
        Field(description="Whether φ learns to end after the class where the model is wrong, as in Algorithm 2."),
    ] = True
    share: Annotated[
        float, Field(ge=0, le=1, description="How many of a layer's neurons are exchanged, from 0 to 1.")
    ] = 0.2
    layer: Annotated[
        int,
        Field(ge=0, description="φ also reads the tokens of this layer and of the last one; 0: only the state c."),
    ] = 0
    reads: Annotated[
        Reads, Field(description="What it reads of the tokens; words: the input's words, and nothing of the model.")
    ] = "states"
    language: Annotated[
        str,
        Field(
            description="φ: tiny or small, which are trained here; encoder, smollm2, gpt2, or another causal language "
            "model."
        ),
    ] = SMALL
    adapter_rank: Annotated[
        int,
        Field(
            ge=0,
            description="Rank of low-rank adapters on a pretrained language model; 0 trains all its weights.",
        ),
    ] = 0
    half_precision: Annotated[
        bool, Field(description="Multiply φ's matrices in bfloat16 while it learns, where that is quicker.")
    ] = False
    start: Annotated[
        str,
        Field(
            description="A narrator that was fitted to this model, and whose weights this one starts from; empty: none."
        ),
    ] = ""
    epochs: Annotated[int, Field(ge=1, description="How often every item is read.")] = 3
    phi_epochs: Annotated[int, Field(ge=0, description="Epochs of L_φ alone, before the other losses join.")] = 0
    keep: Annotated[
        Literal["last", "best"],
        Field(description="The epoch whose weights are kept: the last, or the best on validation inputs."),
    ] = "last"
    point_once: Annotated[bool, Field(description="Let a generated sentence point to each word of the input once.")] = (
        False
    )
    match_certainty: Annotated[
        bool,
        Field(description="Draw items so that the model is as certain of them as of validation inputs."),
    ] = False
    more_examples: Annotated[
        int,
        Field(ge=0, description="Further training examples, drawn from the generator of a generated data set."),
    ] = 0
    batch: Annotated[int, Field(ge=1, description="Items per step.")] = 32
    learning_rate: Annotated[float, Field(ge=0, description="Size of the steps.")] = 5e-4
    seed: Annotated[int, Field(ge=0, description="Of everything random. The same seed gives the same weights.")] = 0

    @property
    def exchanges_in_state(self) -> bool:
        """Whether L_IIT has exchanges in what φ reads too, which A must then read from φ and not from the item."""
        return self.inputs and self.leak != "leaky"

    def steps(self, items: int) -> int:
        """The number of steps of a whole training on so many items."""
        return self.epochs * -(-items // self.batch)
