"""The narrators: what each is, and when not to believe it. Importing this module does not load torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from explainers.methods.narrator_deviations import (
    OF_AGGREGATOR,
    OF_EXCHANGE,
    OF_LENGTH,
    OF_LENGTH_WITH_TOKENS,
    OF_NEXT_WORD,
    OF_PHI,
    OF_STATE_EXCHANGE,
    OF_TOKENS,
    OF_WORD_READER,
    OF_WORDS,
)
from explainers.results.registry import Registry


@dataclass(frozen=True)
class NarratorSpec:
    """`losses` names the training that makes the narrator: phi, phi_ts or cause. `settings` are its other defaults."""

    id: str
    name: str
    losses: str
    idea: str
    caution: str
    formula: str  # LaTeX
    source: str = "Bandyopadhyay et al., TACL 2026"
    deviations: tuple[str, ...] = ()  # where the paper, its code and this implementation differ
    controls: tuple[str, ...] = ()  # narrators with a part of it, with which it is compared as with φ
    settings: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def reads_tokens(self) -> bool:
        """Whether the language model reads the input's tokens, their states or their words, besides what φ reads."""
        return "layer" in self.settings

    @property
    def reads(self) -> Literal["states", "words"]:
        """What it sees of the tokens."""
        return "words" if self.settings.get("reads") == "words" else "states"

    @property
    def has_reader(self) -> bool:
        """Whether it was trained with C2, a second classifier that reads the sentence."""
        return self.losses != "phi"


WITH_TOKENS: Mapping[str, object] = MappingProxyType({"layer": 2, "epochs": 14, "keep": "best"})

FORMULA = (
    r"\mathcal L_\phi+\mathcal L_{TS}+\mathrm{KL}\big(C_1^{INT}\|C_2^{INT}\big)"
    r"+\tfrac13\|W_{C_1}-W_{C_2}\|_F^2"
)

NARRATORS: Registry[NarratorSpec] = Registry(
    "narrator",
    (
        NarratorSpec(
            id="cause_phi",
            name="φ",
            losses="phi",
            idea="A language model that reads only the state from which the classifier predicts, trained to generate "
            "the class and the reason that people gave.",
            caution="Do not take the reason for the model's: it is what people tend to write about such inputs.",
            formula=r"\mathcal L_\phi=-\sum_t\log p_\phi(x_t\mid x_{<t},\psi(c))",
            deviations=(*OF_PHI, *OF_LENGTH),
        ),
        NarratorSpec(
            id="cause_phi_ts",
            name="φ + TS",
            losses="phi_ts",
            idea="As φ, and in addition a second classifier must recover the model's probabilities from what φ is "
            "about "
            "to generate.",
            caution="Do not take the reason for the model's: only the class in it is tied to the model.",
            formula=r"\mathcal L_\phi+\mathrm{KL}\big(C_1(c)\,\|\,C_2(A\,\phi\,\psi(c))\big)",
            deviations=(*OF_PHI, *OF_LENGTH, *OF_AGGREGATOR, *OF_WORDS),
        ),
        NarratorSpec(
            id="cause_published",
            name="CAuSE",
            losses="cause",
            idea="As published: φ, a second classifier that must recover the model's probabilities from φ's sentence, "
            "and when neurons of one example are exchanged for those of another, it must change its prediction as the "
            "model does.",
            caution="Do not read “faithful” into more than its metrics: the second classifier reads the sentence of "
            "the training item, which names the class, so it can follow the model without the state.",
            formula=FORMULA,
            deviations=(
                *OF_PHI,
                *OF_LENGTH,
                *OF_AGGREGATOR,
                *OF_EXCHANGE,
                "As published, A reads the training item's own sentence (a label leak). In use it reads the sentence "
                "that φ generates.",
            ),
            settings=MappingProxyType({"leak": "leaky", "words": False, "inputs": False}),
        ),
        NarratorSpec(
            id="cause",
            name="CAuSE + word losses",
            losses="cause",
            idea="CAuSE with the label leak closed, exchanges in the state too, and losses for the class that the "
            "language model is about to generate.",
            caution="Do not read “faithful” into more than its metrics: the training ties the class in the sentence to "
            "the model; its reason is what people tend to write. The authors' proof is for a linear toy model.",
            formula=FORMULA,
            controls=("cause_phi_ts", "cause_published"),
            deviations=(*OF_PHI, *OF_LENGTH, *OF_AGGREGATOR, *OF_WORDS, *OF_EXCHANGE, *OF_STATE_EXCHANGE),
        ),
        NarratorSpec(
            id="cause_sentence",
            name="CAuSE (own sentence)",
            losses="cause",
            idea="As CAuSE + word losses, but the second classifier reads the sentence that the language model "
            "generates itself, without the class name, so that the losses reach every word of the reason.",
            caution="Do not read “faithful” into more than its metrics: the second classifier can read the class from "
            "the choice of words, whatever they say.",
            formula=FORMULA,
            deviations=(
                *OF_PHI,
                *OF_LENGTH,
                *OF_AGGREGATOR,
                OF_NEXT_WORD,
                *OF_EXCHANGE,
                *OF_STATE_EXCHANGE,
                "The label leak is closed by generating: A sums over φ's own likeliest sentence. The class name is "
                "hidden from φ's input and left out of the sum; each chosen word passes its gradient straight through "
                "to its probability.",
            ),
            settings=MappingProxyType({"leak": "sentence"}),
        ),
        NarratorSpec(
            id="cause_phi_words",
            name="φ (words)",
            losses="phi",
            idea="The paper's baseline: a language model that reads the words of the input and nothing of the model, "
            "trained on the same sentences.",
            caution="Do not take it for an explanation of the model: it has never seen one of its states.",
            formula=r"\mathcal L_\phi=-\sum_t\log p_\phi(x_t\mid x_{<t},\text{words of the input})",
            deviations=(*OF_PHI, *OF_WORD_READER),
            settings=MappingProxyType({**WITH_TOKENS, "reads": "words"}),
        ),
        NarratorSpec(
            id="cause_phi_tokens",
            name="φ (tokens)",
            losses="phi",
            idea="As φ, but the language model also attends to the states of the input's tokens, of a middle layer and "
            "of the last one, and may point to a word of the input.",
            caution="Do not take the reason for the model's: it is about this input, but nothing ties it to what the "
            "model decided by.",
            formula=r"\mathcal L_\phi=-\sum_t\log p_\phi(x_t\mid x_{<t},\psi(c),H^{(k)},H^{(K)})",
            deviations=(*OF_PHI, *OF_LENGTH_WITH_TOKENS, *OF_TOKENS),
            settings=WITH_TOKENS,
        ),
        NarratorSpec(
            id="cause_tokens",
            name="CAuSE (tokens)",
            losses="cause",
            idea="As CAuSE + word losses, but the language model also attends to the states of the input's tokens, and "
            "neurons are exchanged in these states too.",
            caution="Do not read “faithful” into more than its metrics: the training ties the class in the sentence to "
            "the model; its reason is about the input, but nothing ties it to what the model decided by.",
            formula=FORMULA + r",\quad \phi(\psi(c),H^{(k)},H^{(K)})",
            deviations=(
                *OF_PHI,
                *OF_LENGTH_WITH_TOKENS,
                *OF_AGGREGATOR,
                *OF_WORDS,
                *OF_EXCHANGE,
                *OF_STATE_EXCHANGE,
                *OF_TOKENS,
                "L_φ is alone in the first epochs; in the paper all losses begin together.",
                "An exchange c → c' is realised in the tokens of the last layer, whose mean c is: each is shifted by "
                "c' - c. Every second exchange is made in the layer that φ sees: all tokens are shifted in 20 to 100 % "
                "of its neurons by the difference of the means of source and base, and the frozen rest is run on them.",
            ),
            controls=("cause_phi_tokens", "cause"),
            settings=MappingProxyType({**WITH_TOKENS, "phi_epochs": 9}),
        ),
    ),
)


def narrator_spec(id: str) -> NarratorSpec:
    """Raises `ExplanationError` for an unknown id."""
    return NARRATORS.get(id)
