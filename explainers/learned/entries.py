"""What the learned methods are, and when not to believe them; readable without torch."""

from explainers.entry import Entry

DEFAULT_VARIANTS = {
    "aml": "difference",
    "faml": "difference",
    "cimi": "mask",
    "ciem": "last",
    "ivra": "comp-softmax",
}

LEARNED = (
    Entry(
        id="aml",
        name="AML",
        group="Learned",
        kind="one pass",
        signed=False,
        idea="A second network reads the text and the model's answer and gives every word a share of a mask. "
        "It was trained on other texts so that the kept words alone lead to the same answer, the rest does not, "
        "and few words are kept. One pass explains a new text (the paper's pAML).",
        caution="Do not believe that it saw the model's reasons: it knows the answer and may choose words that are "
        "typical for it. Words that share a role with stronger ones can get 0.",
        formula=r"\mathcal L=\lambda_p\,\mathrm{CE}(F(x),F(x'))-\lambda_{inv}\log(1-F_y(x''))"
        r"+\lambda_a\,\mathrm{BCE}(a,0)"
        r",\quad x'=a\,e+(1-a)\,m,\; x''=(1-a)\,e+a\,m",
        source="Barkan et al., Findings of EMNLP 2024",
        made_by="learned.method:Learned",
        fixed=(("method", "aml"),),
        costs=2,
        differs=(
            "The attribution model is a LoRA adapter on the frozen model's own encoder; the paper trains a whole one.",
            "The token that tells what the model predicted is written into its own row; in the authors' code it "
            "overwrites words of other texts in the batch, and the first class's embedding is never trained.",
            "It is z₀ + Σ p z as the paper says; the code divides by the number of classes.",
            "The sparsity term is a mean over real words; in the code padding dilutes it.",
            "A word's share is the largest of its tokens', in training too; the code scores tokens.",
            "Figures count at least one word at every cut and divide by five; the code rounds down and divides by six.",
            "λ and the best epoch are chosen on AOPC under the mask operator, the code's under deletion; 4 or 5 "
            "epochs at "
            "0.001 instead of 10 at 0.00004, because an adapter learns faster.",
        ),
    ),
    Entry(
        id="faml",
        name="fAML",
        group="Learned",
        kind="fine-tuned",
        signed=False,
        idea="Goes on to train AML's network on this one text for some steps and keeps the best map on the way, by the "
        "figure by which AML's weights were selected: AOPC-C minus AOPC-S, or with other weights one of the two.",
        caution="Do not compare it with the others on AOPC-C and AOPC-S: it was chosen by them on this very text, and "
        "log-odds and DFFOT are near kin of AOPC-C. Look at other ways of erasing, which it did not see.",
        formula=r"\theta_{t+1}=\theta_t-\eta\,\nabla_\theta\mathcal L(x),\qquad "
        r"a^\ast=\arg\max_t\;\mathrm{AOPC\text{-}C}(a_t)-\mathrm{AOPC\text{-}S}(a_t)",
        source="Barkan et al., Findings of EMNLP 2024",
        made_by="learned.aml:FineTunedAml",
        costs=300,
        optimised=True,
        differs=(
            "20 steps instead of 10, because a step trains an adapter and not the whole encoder; the map after the "
            "last step is a candidate too, which the code leaves out.",
            "A constant learning rate of 0.001; the code's falls from 0.00004.",
        ),
    ),
    Entry(
        id="cimi",
        name="CIMI",
        group="Learned",
        kind="one pass",
        signed=False,
        idea="A small decoder on the model's states tells words that cause the answer from the rest. It was trained "
        "so that the causes suffice, that the rest can be mixed with another text without moving the mask, "
        "and that the mask fits this text better than another one.",
        caution="Do not believe the height of a score: often all are close together, only the order was trained. "
        "It was trained with one way of erasing (mask; other weights: zero) and may look better under that one.",
        formula=r"\mathcal L=\underbrace{\mathrm{MSE}(f(x_e),f(x))-\mathrm{MSE}(f(x_u),f(x))}_{L_s}"
        r"+\alpha\underbrace{\mathrm{MSE}(M(x_{int}),M(x))}_{L_i}\underbrace{-\log\sigma(M-M^-)}_{L_p}",
        source="Wu et al., KDD 2023",
        made_by="learned.method:Learned",
        fixed=(("method", "cimi"),),
        differs=(
            "The weak-supervision term has the wrong sign in print; we minimise −log σ as the authors' code does.",
            "The intervention term compares masks by squared error as the paper says; the code takes a cosine across "
            "the batch, which depends on who else is in it (an option here).",
            "Trained on texts that are not scored; the code trains and scores on the same test texts.",
            "The frozen model has no dropout while its answers are learned; in the code it has.",
            "The first choice of weights was trained by blending with the mask token, the operator that is the default "
            "here; those named “zero” multiply embeddings as the authors' code does.",
            "Means leave out special tokens and padding; 3 or 4 epochs at 0.003 instead of 50 to 100 at 0.001; ε "
            "is 0.2 as "
            "in the paper, the code's is 0.1 for short texts; both terms with another text use the same one.",
            "The other text is always another one; in the code it is sometimes the same.",
            "A word's mask is the largest of its tokens'; the code scores tokens.",
        ),
    ),
    Entry(
        id="ciem",
        name="CIEM",
        group="Learned",
        kind="one pass",
        signed=False,
        idea="A variational autoencoder explains the word embeddings by latent variables that depend on the model's "
        "own states. Two of them, multiplied, say how much every word moves the others; their column sums are the "
        "scores, kept faithful by asking that the weighted text leads to the same states.",
        caution="Do not believe that the latent variables are the true ones: identifiability is claimed by the authors "
        "under conditions that this network does not meet. Look at ±: it is how far the scores move over 20 draws.",
        formula=r"S_j=\mathrm{Norm}\Big(\sum_i (Z_{wb}Z_{wa}^\top)_{ij}\Big),\qquad "
        r"\mathcal L=\mathrm{CE}(f(x),f_h(Z))-\alpha\,\mathrm{ELBO}-\tau\cos(f_k(S\odot X),f_k(X))",
        source="Liu, Zhang et al., Trustworthy and Explainable Causal Representation Learning in Transformers",
        made_by="learned.method:Learned",
        fixed=(("method", "ciem"),),
        differs=(
            "There is no code of the authors; widths, activations, the decoder's input and all means are our "
            "choices. Z_w "
            "is divided by the number of tokens, a word's raw sum is its highest token's, 2 or 3 epochs at 0.001 "
            "to 0.003.",
            "Scores come from the posterior means. The paper picks the draw that is best for an experiment.",
            "Words fade to the mask token in S⊙X; embeddings times 0, as in the paper, teach less (an option).",
            "The epoch that is best on validation texts is kept: the faithfulness term has no sparsity, and in time "
            "every score goes to 1 and the ranking fades.",
            "The scaling to 0…1 runs over the words of a text, without [CLS] and [SEP].",
        ),
    ),
    Entry(
        id="ivra",
        name="IvRA",
        group="Learned",
        kind="one pass",
        signed=False,
        idea="Reads the model's own attention with trained weights for every feature, head and layer. The weights were "
        "trained for one criterion: that removing the top words hurts (COMP), that they suffice (SUFF), that similar "
        "texts get similar explanations (CONS), or that a student learns from them (SIM).",
        caution="Do not believe it about another class: attention does not know which class is asked about. "
        "When the shares are nearly equal, small accidents decide the ranking.",
        formula=r"\tilde Q=\mathrm{NORM}(\omega_Q\odot Q),\;\tilde K=\mathrm{NORM}(\omega_K\odot K),\;"
        r"\psi^h=\tfrac1L\sum_n\tilde q_n\tilde K^\top,\; "
        r"r=\sum_\ell\hat\eta_\ell\,\mathrm{NORM}\big(s\sum_h\hat\lambda_h\psi^h\big)",
        source="Xie, Vosoughi, Hassanpour, BlackboxNLP 2024",
        made_by="learned.method:Learned",
        fixed=(("method", "ivra"),),
        differs=(
            "The model stays frozen, only the 4,687 weights of the read-out are trained; the paper trains the model "
            "too, so that it explains another model than before (offered separately as IvRA-full).",
            "The loss is that of the hard cut, its gradient is taken at a random point between the whole and the "
            "cut text; the paper's terms alone send no gradient to the weights.",
            "NORM runs over features, heads, layers and words in turn; KL in CONS is symmetric; one k is drawn "
            "for each "
            "step; the student of SIM is a small network of its own.",
            "A trained factor s makes the shares differ; without it they are nearly uniform under softmax.",
            "Special tokens get nothing; otherwise [SEP] and [CLS] take most of the attention.",
            "For SIM the outer loss is the student's error alone, as in SMaT, because the printed one rewards "
            "explanations that are easy to copy, such as uniform ones.",
        ),
    ),
)
