"""The narrators: what each is, and when not to believe it. Importing this module does not load torch."""

from dataclasses import dataclass

from explainers.results.registry import Registry


@dataclass(frozen=True)
class NarratorSpec:
    """`losses` names the training that makes the narrator: phi, phi_ts or cause."""

    id: str
    name: str
    losses: str
    idea: str
    caution: str
    formula: str  # LaTeX
    source: str = "Bandyopadhyay et al., TACL 2026"
    deviations: tuple[str, ...] = ()  # where the paper, its code and this implementation differ

    @property
    def has_reader(self) -> bool:
        """Whether it was trained with C2, a second classifier that reads the sentence."""
        return self.losses != "phi"


OF_PHI = (
    "The language model is small and was trained here from scratch; the paper fine-tunes GPT-2 (124 million weights). "
    "GPT-2 can be chosen by name where a hub is reachable.",
    "The embedded models read a text pair, or a generated image with a text; the paper's read photographs with a text.",
    "Padding is ignored in the loss; in the authors' code about half of L_φ is the prediction of padding.",
    "Sentences begin “The answer is …” instead of “This pair is a …”, so that all class names are grammatical.",
)

OF_READER = (
    "The label leak is closed: A reads φ's next-token distribution after “The answer is”, which φ can only know from "
    "the state. As published, A reads the item's own sentence, which contains the class (setting leak=leaky).",
    "A is a linear layer on φ's probabilities, initialised to map a class name to the mean state of that class; the "
    "paper sums logits over time, its code sums probabilities and counts padding.",
    "L_TS and L_IIT also apply to the class that φ is about to generate. As published they reach the words only "
    "through A and C2, which can read the class from tokens that are never generated (setting words=false).",
    "L_TS is the divergence from the model's probabilities, as in the paper; the code uses its class.",
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
            deviations=OF_PHI,
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
            deviations=(*OF_PHI, *OF_READER),
        ),
        NarratorSpec(
            id="cause",
            name="CAuSE",
            losses="cause",
            idea="As φ + TS, and when neurons of one example are exchanged for those of another, the second classifier "
            "must change its prediction as the model does.",
            caution="Do not read “faithful” into more than its metrics: the training ties the second classifier to the "
            "model, and the words only through it. The authors' proof is for a linear toy model.",
            formula=r"\mathcal L_\phi+\mathcal L_{TS}+\mathrm{KL}\big(C_1^{INT}\|C_2^{INT}\big)"
            r"+\tfrac13\|W_{C_1}-W_{C_2}\|_F^2",
            deviations=(
                *OF_PHI,
                *OF_READER,
                "The same neurons are exchanged in both classifiers; in the code the draw for the output layer differs "
                "between them.",
                "20 % of a hidden layer's neurons are drawn without replacement; the code exchanges the first hidden "
                "layer and two outputs.",
                "The exchange is also made in the state that φ reads: the smallest change after which the first hidden "
                "layer has the source's values in 20 to 100 % of its neurons. The paper's theorem covers such "
                "interventions, its code makes none.",
                "Base and source are neighbours in a batch; the code draws two further batches.",
            ),
        ),
    ),
)


def narrator_spec(id: str) -> NarratorSpec:
    """Raises `ExplanationError` for an unknown id."""
    return NARRATORS.get(id)
