"""What the narrators are, and when not to believe them; readable without torch."""

from dataclasses import dataclass

from explainers.errors import ExplanationError


@dataclass(frozen=True)
class NarratorEntry:
    """`losses` is the training that makes it: phi, phi_ts or cause."""

    id: str
    name: str
    losses: str
    idea: str
    caution: str
    formula: str  # LaTeX
    source: str = "Bandyopadhyay et al., TACL 2026"
    differs: tuple[str, ...] = ()  # where the paper, its code and we are not the same


SHARED = (
    "The language model has 3 million weights and was trained here from scratch; the paper fine-tunes GPT-2 (124 "
    "million). GPT-2 can be named where a hub is reachable.",
    "The task is text with text (e-SNLI); the paper's is image with text.",
    "Padding is ignored in the loss; in the authors' code about half of L_φ is predicting padding.",
    "Sentences begin “The answer is …” instead of “This pair is a …”, so that all three classes are grammatical.",
)

READ = (
    "The label leak is closed: A reads one answer of φ, the one to “The answer is”, which φ can know from the state "
    "alone. As published, A reads the item's own sentence, in which the class stands (a variant here: leaky).",
    "A is a linear layer on φ's probabilities and begins by reading a class name as the mean state of that class; the "
    "paper sums logits over time, its code sums probabilities and counts padding.",
    "L_TS (and L_IIT) are also asked of the class that φ is about to say. As published they reach the words only "
    "through A and C2, which can read the class from what is never said; that is the setting words=false.",
    "L_TS is the divergence from the model's probabilities, as in the paper; the code takes its class.",
)

NARRATORS = (
    NarratorEntry(
        id="cause_phi",
        name="φ",
        losses="phi",
        idea="A language model that reads nothing but the state from which the classifier reads its class, and was "
        "taught to say the class and the reason that people gave.",
        caution="Do not believe that the reason is the model's: it is what people tend to say about such pairs.",
        formula=r"\mathcal L_\phi=-\sum_t\log p_\phi(x_t\mid x_{<t},\psi(c))",
        differs=SHARED,
    ),
    NarratorEntry(
        id="cause_phi_ts",
        name="φ + TS",
        losses="phi_ts",
        idea="The same, and what it is about to say must be enough for a second classifier to give the model's "
        "probabilities.",
        caution="Do not believe that the reason is the model's: only the class in it is tied to the model.",
        formula=r"\mathcal L_\phi+\mathrm{KL}\big(C_1(c)\,\|\,C_2(A\,\phi\,\psi(c))\big)",
        differs=(*SHARED, *READ),
    ),
    NarratorEntry(
        id="cause",
        name="CAuSE",
        losses="cause",
        idea="The same, and when neurons of one example are put into another, the second classifier must change its "
        "mind as the model does.",
        caution="Do not believe “faithful” more than the figures beside it: the training ties the second classifier "
        "to the model, the words only through it. The authors' proof is for a linear toy.",
        formula=r"\mathcal L_\phi+\mathcal L_{TS}+\mathrm{KL}\big(C_1^{INT}\|C_2^{INT}\big)"
        r"+\tfrac13\|W_{C_1}-W_{C_2}\|_F^2",
        differs=(
            *SHARED,
            *READ,
            "The same neurons are exchanged in both classifiers; in the code the draw for the output layer differs "
            "between them.",
            "20 % of a hidden layer's neurons without replacement; the code takes the first hidden layer and two of "
            "the output's numbers.",
            "The exchange is also made in the state that φ gets: the smallest change after which the first hidden "
            "layer has the source's values in 20 to 100 % of its neurons. The paper's theorem speaks of such "
            "interventions, its code makes none.",
            "Base and source are neighbours in a batch; the code draws two further batches.",
        ),
    ),
)


IDS = tuple(entry.id for entry in NARRATORS)


def narrator(id: str) -> NarratorEntry:
    """Raises `ExplanationError` for an unknown one."""
    if id not in IDS:
        raise ExplanationError(f"There is no narrator {id!r}. Choose one of: {', '.join(IDS)}.")
    return NARRATORS[IDS.index(id)]
