"""The specs of the learned methods, apart from the methods so that a registry reads them without loading torch."""

from explainers.methods.registry import MethodSpec

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

CXPLAIN = MethodSpec(
    id="cxplain",
    name="CXPlain",
    group="Learned",
    kind="one pass",
    signed=False,
    idea="A second network was trained on other texts to say what Occlusion would find: how much the model's error "
    "rises when a word is erased, as that word's share of what all words do. So no word of this text is erased.",
    caution="Do not expect more than Occlusion says, from which it learned: of two words that say the same, each alone "
    "does little. A word that speaks against the class gets 0, as one without effect does.",
    formula=r"\mathcal L=\mathrm{KL}\big(\omega\,\Vert\,\mathrm{softmax}(G(x))\big),\qquad "
    r"\omega_i=\frac{\Delta_i}{\sum_j\Delta_j},\; \Delta_i=\max\big(0,\log p_y(x)-\log p_y(x_{\setminus i})\big)",
    source="Schwab & Karlen, NeurIPS 2019",
    implementation="explainers.learned.recipes:LearnedAttribution",
    colour="#009664",
    default=False,
    weights_of="cxplain",
    default_variant="mask",
    deviations=(
        "The error is that of the model's own prediction, because no label is read; the paper takes the true labels.",
        "A text of which no word has an effect teaches nothing; in the authors' code it teaches equal shares.",
        "Words are erased by the mask token where the model has one; the authors' example for texts drops them.",
        "The network reads the frozen model's embeddings, last states and probabilities; the paper's read the input.",
        "One network without the paper's bootstrap ensemble, so that there is no ± of its scores.",
        "4 epochs at 0.001 with weight decay 0.01 in batches of 32, measured twice per epoch. Kept are the weights "
        "that are best by AOPC-C − AOPC-S on validation texts; the authors' code keeps those with the lowest loss.",
        "A word's logit is the largest of its tokens'.",
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
    implementation="explainers.learned.aml:FineTunedAml",
    colour="#00919b",
    passes=lambda _units, _samples, _steps: 300,
    brief=(("steps", 3),),
    brief_passes=lambda _units, _samples, _steps: 45,
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
        "unless set; 0 is the paper's loss); a training whose mask keeps nearly everything says so, and one whose mask "
        "the price empties begins anew without it.",
        "A word's mask is the largest of its tokens'; the code scores tokens.",
    ),
)

CIEM = MethodSpec(
    id="ciem",
    name="CIEM",
    group="Learned",
    kind="one pass",
    signed=False,
    idea="A variational autoencoder explains the word embeddings by latent variables that depend on the model's own "
    "states. The product of two of them says how much every word influences the others; their column sums are the "
    "scores, kept faithful by requiring that the weighted text leads to the same states.",
    caution="Do not believe that the latent variables are the true ones: identifiability is claimed by the authors "
    "under conditions that this network does not meet. Look at ±: it is how far the scores move over 20 draws.",
    formula=r"S_j=\mathrm{Norm}\Big(\sum_i (Z_{wb}Z_{wa}^\top)_{ij}\Big),\qquad "
    r"\mathcal L=\mathrm{CE}(f(x),f_h(Z))-\alpha\,\mathrm{ELBO}-\tau\cos(f_k(S\odot X),f_k(X))",
    source="Liu, Zhang et al., Trustworthy and Explainable Causal Representation Learning in Transformers",
    implementation="explainers.learned.recipes:LearnedAttribution",
    colour="#5aa54b",
    weights_of="ciem",
    default_variant="last",
    deviations=(
        "The authors published no code; widths, activations, the decoder's input and all means are our choices. Z_w "
        "is divided by the number of tokens, a word's raw sum is its highest token's.",
        "3 epochs at 0.0005 in batches of 32, instead of 10 at 0.0002 in batches of 64; the weights named “middle”, "
        "which explain a layer in the middle, 3 epochs at 0.003. Shipped weights were trained in bfloat16, except "
        "“middle”.",
        "Scores come from the posterior means. The paper picks the draw that is best for an experiment.",
        "Words fade to the mask token in S⊙X; embeddings times 0, as in the paper, teach less (an option).",
        "Measured twice per epoch, and the best on validation texts is kept, of one or several seeds: the "
        "faithfulness term has no sparsity, and in time every score goes to 1 and the ranking fades.",
        "Of a text decoder the networks read states that are standardised for each token, because nothing before the "
        "head normalises them, and the faithfulness is taken at the token from which the class is read: no other "
        "state sees the words behind it.",
        "The scaling to 0…1 runs over the words of a text, without [CLS] and [SEP].",
    ),
)

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
