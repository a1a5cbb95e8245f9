"""The narrators: what each is, and when not to believe it. Importing this module does not load torch.

Where CAuSE's paper, its code and this implementation differ. Importing this module does not load torch.

CCMR, the metric of CAuSE (Sect. 4): what it measures here, and where paper, code and this implementation differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from explainers.results.registry import Registry

OF_PHI = (
    "The language model is small and was trained here from scratch; the paper fine-tunes GPT-2 (124 million weights). "
    "A pretrained one can be chosen: SmolLM2 (135 million), the base encoder as a decoder, or GPT-2 where a hub is "
    "reachable.",
    "The embedded models read a text pair, or a generated image with a text; the paper's read photographs with a text.",
    "Padding is ignored in the loss; in the authors' code about half of L_φ is the prediction of padding.",
    "Sentences begin “The answer is …” instead of “This pair is a …”, so that all class names are grammatical.",
)

OF_LENGTH = (
    "3 epochs at a learning rate of 0.0005; the paper's GPT-2 learns for 5 at 0.0001, in its code with two updates per "
    "step.",
)
OF_UNSURE = (
    "With the setting ends=false, as for `nli`, φ does not learn the end of a sentence where the model is wrong, "
    "only the class; in Algorithm 2 it ends after the class. With match_certainty=true, as for `nli`, training items "
    "are drawn as certain as validation items."
)
OF_LENGTH_WITH_TOKENS = (
    "8 or 9 epochs at a learning rate of 0.0008 or 0.001, of which CAuSE (tokens) learns the first 4 or 6 with L_φ "
    "alone; "
    "the paper's GPT-2 learns for 5 at 0.0001 with all losses.",
    "On generated images φ also learns from 10,000 further draws of the generator.",
    OF_UNSURE,
)
OF_AGGREGATOR = (
    "A is a linear layer on φ's probabilities; the paper sums logits over time, its code sums probabilities and counts "
    "padding.",
    "L_TS is the divergence from the model's probabilities, as in the paper; the code uses its class.",
)
OF_NEXT_WORD = (
    "L_TS and L_IIT also apply to the class that φ is about to generate. As published they reach the words only "
    "through A and C2, which can read the class from tokens that are never generated (setting words=false)."
)
OF_WORDS = (
    "The label leak is closed: A reads φ's next-token distribution after “The answer is”, which φ can only know from "
    "what it reads of the model. As published, A reads the item's own sentence, which contains the class.",
    "A is initialised to map a class name to the mean state of that class.",
    OF_NEXT_WORD,
)
OF_EXCHANGE = (
    "R_match is the sum of squared norms over the number of layers, with biases, as in the code; the paper prints "
    "the norm"
    " of the weights.",
    "The same neurons are exchanged in both classifiers; in the code the draw for the output layer differs between "
    "them.",
    "20 % of a hidden layer's neurons are drawn without replacement; the code exchanges the first hidden layer and two "
    "outputs.",
    "Base and source are neighbours in a batch; the code draws two further batches.",
)
OF_STATE_EXCHANGE = (
    "The exchange is also made in the state that φ reads: the smallest change after which the first hidden layer has "
    "the source's values in 20 to 100 % of its neurons. The paper's theorem covers such interventions, its code makes "
    "none.",
)
OF_TOKEN_EXCHANGE = (
    "An exchange c → c' is realised in the tokens of the last layer, whose mean c is: each is shifted by c' - c. Every "
    "second exchange is made in the layer that φ sees: all tokens are shifted in 20 to 100 % of its neurons by the "
    "difference of the means of source and base, and the frozen rest is run on them.",
)
OF_PRETRAINED = (
    "The language model is SmolLM2 (135 million weights) with adapters of rank 16, trained in half precision; the "
    "paper fine-tunes all weights of GPT-2 (124 million).",
    "3 epochs at a learning rate of 0.001; the paper's GPT-2 learns for 5 at 0.0001, in its code with two updates per "
    "step.",
    "The states stand before the sentence as a prefix. It begins as the ridge regression from the states to SmolLM2's "
    "embeddings of the words that they belong to, so that a model of words can read states.",
)
OF_START = (
    "It starts from the weights of φ (SmolLM2) and learns for one epoch with all losses; in the paper all losses begin "
    "together.",
    "A is a linear layer on the embeddings of all 49,152 words, averaged by φ's probabilities of the next word; the "
    "paper sums logits over time, its code sums probabilities and counts padding.",
    "The number of epochs is 1, at a learning rate of 0.001; the paper's GPT-2 learns for 5 at 0.0001.",
)
OF_WORD_READER = (
    "φ attends to the embeddings of the words, with their numbers and the number of their text, as φ (tokens) does to "
    "states.",
    "φ may point to a word of the input.",
    "Of an image with a text it reads the text alone.",
)
OF_TOKENS = (
    "The paper's φ reads one vector, in which little of the input is left: from that of the embedded model of images "
    "colours, boxes and covers cannot be read. Here φ also attends to every token's states.",
    "φ may point to a word of the input: the states choose the word, its spelling comes from the input. With the "
    "setting point_once a generated sentence points to each of them once.",
    "With the setting keep=best the weights are those of the epoch that did best on validation inputs; the "
    "paper takes the last.",
)


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
        """Return whether it was trained with C2, a second classifier that reads the sentence."""
        return self.losses != "phi"


WITH_TOKENS: Mapping[str, object] = MappingProxyType({"layer": 2, "epochs": 14, "keep": "best"})
PRETRAINED: Mapping[str, object] = MappingProxyType(
    {
        "layer": 2,
        "language": "smollm2",
        "adapter_rank": 16,
        "half_precision": True,
        "epochs": 3,
        "learning_rate": 1e-3,
        "keep": "best",
    }
)

FORMULA = (
    r"\mathcal L_\phi+\mathcal L_{TS}+\mathrm{KL}\big(C_1^{INT}\|C_2^{INT}\big)"
    r"+\tfrac13\|W_{C_1}-W_{C_2}\|_F^2"
)

NARRATORS: Registry[NarratorSpec] = Registry(
    "narrator",
    NarratorSpec,
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
            id="cause_phi_smollm2",
            name="φ (SmolLM2)",
            losses="phi",
            idea="As φ (tokens), but the language model is a pretrained one, SmolLM2 with 135 million weights, which "
            "stays as it is; low-rank adapters learn. It needs SmolLM2 on this machine.",
            caution="Do not take the reason for the model's: it is about this input and in good English, but nothing "
            "ties it to what the model decided by.",
            formula=r"\mathcal L_\phi=-\sum_t\log p_\phi(x_t\mid x_{<t},\psi(c),H^{(k)},H^{(K)})",
            deviations=(*OF_PRETRAINED, OF_UNSURE, *OF_PHI[1:], *OF_TOKENS),
            controls=("cause_phi_tokens",),
            settings=PRETRAINED,
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
                *OF_TOKEN_EXCHANGE,
            ),
            controls=("cause_phi_tokens", "cause"),
            settings=MappingProxyType({**WITH_TOKENS, "phi_epochs": 9}),
        ),
        NarratorSpec(
            id="cause_smollm2",
            name="CAuSE (SmolLM2)",
            losses="cause",
            idea="As CAuSE (tokens), but on φ (SmolLM2), from whose weights it starts. It needs SmolLM2 on this "
            "machine.",
            caution="Do not read “faithful” into more than its metrics: the training ties the class in the sentence to "
            "the model; its reason is about the input, but nothing ties it to what the model decided by.",
            formula=FORMULA + r",\quad \phi(\psi(c),H^{(k)},H^{(K)})",
            deviations=(
                *OF_START,
                OF_PRETRAINED[0],
                OF_UNSURE,
                *OF_PHI[1:],
                *OF_AGGREGATOR[1:],
                *OF_WORDS,
                *OF_EXCHANGE,
                *OF_STATE_EXCHANGE,
                *OF_TOKENS,
                *OF_TOKEN_EXCHANGE,
            ),
            controls=("cause_phi_smollm2", "cause_tokens"),
            settings=MappingProxyType({**PRETRAINED, "start": "cause_phi_smollm2", "epochs": 1}),
        ),
    ),
)


def narrator_spec(id: str) -> NarratorSpec:
    """Raises `ExplanationError` for an unknown id."""
    return NARRATORS.get(id)


NAME = "CCMR"
MEANING = (
    "The state c of an input is moved to c + ν, where the model predicts the class of the nearest input of another "
    "class. CCMR is the F1 between that class and the one that the narrator's sentence states for c + ν. F1 leaves out "
    "sentences that state no class, so the share of the others stands beside it, and the composite is the harmonic "
    "mean of the two."
)
DEVIATIONS = (
    "ν is computed for each input on its own: 200 steps of gradient descent on ‖ν‖² + 10,000 KL(C1(c′) ‖ C1(c + ν)), "
    "where c′ is the state of the nearest input of another class. No network is fitted. The authors' code fits a "
    "linear autoencoder for each class to the same inputs that it then scores.",
    "The search keeps ν small but does not prove that it is the smallest: ν can be longer than the way from c to c′.",
    "In the paper only the classes of c + ν and c′ must be equal. As in the authors' code the search aims at the same "
    "probabilities, and inputs that do not reach the class are left out. The share that reaches it is given here.",
    "The nearest input is found by the states c, which the model decides by. The authors' code compares features of "
    "the image and of the text that are not the classifier's own.",
    "Five sentences are sampled at temperatures from 0.2 to 1.0, and the class that most of them state counts. The "
    "paper does not mention a vote; its code takes the same one.",
    "A sentence states a class only if it names it as a whole word. In the authors' code for e-SNLI-VE “neutral” with "
    "a full stop is read as contradiction.",
    "The class is that of the sentence, as in the paper's text and code. Algorithm 1 of the paper scores the class "
    "that C2 reads; it has a column of its own here.",
    "F1 is the mean over the classes (macro). The paper does not say which F1 its table holds.",
    "A narrator that reads the states of the tokens finds those of the last layer shifted by ν, so that their mean is "
    "c + ν; those of the middle layer stay. The paper has no such narrator.",
)
