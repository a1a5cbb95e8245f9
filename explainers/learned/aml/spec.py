"""AML and fAML: what it is, and when not to believe it. Importing this does not load torch; `method.py` does."""

from explainers.methods.spec import MethodSpec

AML = MethodSpec(
    id="aml",
    name="AML",
    group="Learned",
    kind="one pass",
    signed=False,
    idea="A second network reads the text and the prediction and assigns every word a mask value. It was trained on "
    "other texts so that the kept words alone lead to the same prediction, the rest does not, and few words are "
    "kept. One pass explains a new text (the paper's pAML).",
    caution="Do not assume that it sees the model's reasons: it knows the prediction and may choose words that are "
    "typical of it. Words that share a role with stronger ones can get 0.",
    formula=r"\mathcal L=\lambda_p\,\mathrm{CE}(F(x),F(x'))-\lambda_{inv}\log(1-F_y(x''))"
    r"+\lambda_a\,\mathrm{BCE}(a,0)"
    r",\quad x'=a\,e+(1-a)\,m,\; x''=(1-a)\,e+a\,m",
    source="Barkan et al., Findings of EMNLP 2024",
    implementation="explainers.learned.recipes:LearnedAttribution",
    colour="#d21e00",
    passes=lambda _units, _samples, _steps: 2,
    weights_of="aml",
    default_variant="difference",
    reads_class=True,
    fixed=(("reads_class", True),),
    deviations=(
        "The shipped attribution model is a LoRA adapter on the frozen model's own encoder; the paper trains a whole "
        "one, as the setting rank=0 does.",
        "For a model of images whose input cannot take a token more, the network is a Transformer of two layers on the "
        "frozen model's embeddings and last states: adapters would lie in encoders that never see the prediction.",
        "Of the paper's five ways to mask, replacement by the mask token (1), by random tokens (2) and by a learned "
        "embedding (4) can be chosen. A word predicted from its context (3) needs a language model, and omission (5) "
        "has no soft form through which a share could be trained.",
        "A class that is not predicted is given to the network as certain, as the paper's footnote 2 says; it was "
        "trained with the model's own probabilities alone.",
        "The token that tells what the model predicted is written into its own row; in the authors' code it "
        "overwrites words of other texts in the batch, and the first class's embedding is never trained.",
        "It is z₀ + Σ p z as the paper says; the code divides by the number of classes.",
        "The sparsity term is a mean over real words; in the code padding dilutes it.",
        "A word's share is the largest of its tokens', in training too; the code scores tokens.",
        "Metrics remove at least one word at every cut and divide by five; the code rounds down and divides by six.",
        "λ and the best epoch are chosen on AOPC under the mask operator, the code's under deletion; 4 or 5 epochs "
        "at 0.001 instead of 10 at 0.00004, because an adapter learns faster.",
    ),
)

FAML = MethodSpec(
    id="faml",
    name="fAML",
    group="Learned",
    kind="fine-tuned",
    signed=False,
    idea="Fine-tunes AML's network on this one text for some steps and keeps the best map along the way, by the "
    "metric by which AML's weights were selected: AOPC-C minus AOPC-S, or with other weights one of the two.",
    caution="Do not compare it with the others on AOPC-C and AOPC-S: it was selected by them on this text, and "
    "log-odds and DFFOT are closely related to AOPC-C. Compare under another erasure operator.",
    formula=r"\theta_{t+1}=\theta_t-\eta\,\nabla_\theta\mathcal L(x),\qquad "
    r"a^\ast=\arg\max_t\;\mathrm{AOPC\text{-}C}(a_t)-\mathrm{AOPC\text{-}S}(a_t)",
    source="Barkan et al., Findings of EMNLP 2024",
    implementation="explainers.learned.aml.method:FineTunedAml",
    colour="#00919b",
    passes=lambda _units, _samples, _steps: 300,
    weights_of="aml",
    default_variant="difference",
    reads_class=True,
    contrasts=True,
    optimised=True,
    deviations=(
        "20 steps instead of 10, because a step trains an adapter and not the whole encoder; the map after the last "
        "step is a candidate too, which the code leaves out.",
        "A constant learning rate of 0.001; the code's falls from 0.00004.",
    ),
)
