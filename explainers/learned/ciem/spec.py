"""CIEM: what it is, and when not to believe it. Importing this does not load torch; `method.py` does."""

from explainers.methods.spec import MethodSpec

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
