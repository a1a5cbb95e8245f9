"""IvRA: what it is, and when not to believe it. Importing this does not load torch; `method.py` does."""

from explainers.methods.spec import MethodSpec

IVRA = MethodSpec(
    id="ivra",
    name="IvRA",
    group="Learned",
    kind="one pass",
    signed=False,
    idea="Reads the model's own attention with trained weights for every feature, head and layer. The weights were "
    "trained for one criterion: that removing the top words hurts (COMP), that they suffice (SUFF), that similar "
    "texts get similar explanations (CONS), or that a student learns from them (SIM).",
    caution="Do not use it for another class: attention does not depend on the class. When the shares are nearly "
    "equal, noise decides the ranking.",
    formula=r"\tilde Q=\mathrm{NORM}(\omega_Q\odot Q),\;\tilde K=\mathrm{NORM}(\omega_K\odot K),\;"
    r"\psi^h=\tfrac1L\sum_n\tilde q_n\tilde K^\top,\; "
    r"r=\sum_\ell\hat\eta_\ell\,\mathrm{NORM}\big(s\sum_h\hat\lambda_h\psi^h\big)",
    source="Xie, Vosoughi, Hassanpour, BlackboxNLP 2024",
    implementation="explainers.learned.recipes:LearnedAttribution",
    colour="#e11e78",
    weights_of="ivra",
    default_variant="comp-softmax",
    has_coefficients=True,
    trains_classifier=True,
    deviations=(
        "The model stays frozen, only the 4,687 weights of the read-out are trained; the paper trains the model too, "
        "so that it explains another model than before (offered separately as IvRA-full).",
        "The cut is relaxed: words fade by their distance from the threshold, less and less softly during the "
        "training; the paper's hard cut sends no gradient to the weights. One k is drawn for each text and step.",
        "Shorter training of far fewer weights: 6 epochs at 0.05 in batches of 32 (324 steps), for some weights 5 or "
        "10 epochs at 0.02 or 0.05, in bfloat16; the paper trains for 20 epochs in batches of 64 (about 7,800 steps) "
        "at 0.00003 to 0.0003.",
        "For CONS the loss is 1 − the correlation that the metric CONS measures, so that these weights are trained "
        "on their metric; with the paper's ratio CONS stays near 0.",
        "NORM runs over features, heads, layers and words in turn. In CONS the KL is symmetric, and texts are "
        "compared at the same relative positions. SIM's student is a small one on a pretrained encoder, reads text "
        "only, and a new one begins after 50 steps.",
        "A trained factor s makes the shares differ; without it they are nearly uniform under softmax.",
        "Special tokens get nothing; otherwise [SEP] and [CLS] take most of the attention.",
        "For SIM the outer loss is the student's error alone, as in SMaT, because the printed one rewards "
        "explanations that are easy to copy, such as uniform ones.",
    ),
)
