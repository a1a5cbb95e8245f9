"""CIMI: what it is, and when not to believe it. Importing this does not load torch; `method.py` does."""

from explainers.methods.spec import MethodSpec

CIMI = MethodSpec(
    id="cimi",
    name="CIMI",
    group="Learned",
    kind="one pass",
    signed=False,
    idea="A small decoder on the model's states separates words that cause the prediction from the rest. It was "
    "trained so that the causes suffice, that the rest can be mixed with another text without changing the mask, and "
    "that the mask fits this text better than another one.",
    caution="Do not read the size of a score: often all are close together, and only their order was trained. It was "
    "trained under one erasure operator (mask; other weights: zero) and may look better under that one.",
    formula=r"\mathcal L=\underbrace{\mathrm{MSE}(f(x_e),f(x))-\mathrm{MSE}(f(x_u),f(x))}_{L_s}"
    r"+\alpha\underbrace{\mathrm{MSE}(M(x_{int}),M(x))}_{L_i}\underbrace{-\log\sigma(M-M^-)}_{L_p}",
    source="Wu et al., KDD 2023",
    implementation="explainers.learned.recipes:LearnedAttribution",
    colour="#5a3cff",
    weights_of="cimi",
    default_variant="mask",
    deviations=(
        "The weak-supervision term has the wrong sign in print; we minimise −log σ as the authors' code does.",
        "The intervention term compares masks by squared error as the paper says; the code takes a cosine across the "
        "batch, which depends on who else is in it (an option here).",
        "Of a text decoder embeddings and states are standardised for each token: nothing before the head normalises "
        "them.",
        "Trained on texts that are not scored; the code trains and scores on the same test texts.",
        "The frozen model runs without dropout during training; in the code with it.",
        "The first choice of weights was trained by blending with the mask token, the operator that is the default "
        "here; those named “zero” multiply embeddings as the authors' code does.",
        "Means leave out special tokens and padding; ε is 0.2 as in the paper, the code's is 0.1 for short texts; "
        "both terms with another text use the same one.",
        "Shorter training: 8 epochs at 0.003 (432 steps), measured twice per epoch, of which the best on validation "
        "texts is kept; for those named “zero” the last of 3 epochs at 0.003, without the price for the mean mask. "
        "The code takes the last of 50 to 100 epochs at 0.001 (about 3,200 steps).",
        "Weights were trained in bfloat16, except those named “zero”.",
        "The other text is always another one; in the code it is sometimes the same.",
        "The loss is lowest at a mask that keeps everything. A price for the mean mask is added (`sparsity`, 0.3 "
        "unless set; 0 is the paper's loss); a training whose mask keeps nearly everything says so.",
        "A word's mask is the largest of its tokens'; the code scores tokens.",
    ),
)
