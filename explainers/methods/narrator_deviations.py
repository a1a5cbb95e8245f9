"""Where CAuSE's paper, its code and this implementation differ. Importing this module does not load torch."""

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
OF_LENGTH_WITH_TOKENS = (
    "8 or 9 epochs at a learning rate of 0.0008 or 0.001, of which CAuSE (tokens) learns the first 4 or 6 with L_φ "
    "alone; "
    "the paper's GPT-2 learns for 5 at 0.0001 with all losses.",
    "On generated images φ also learns from 10,000 further draws of the generator.",
    "With the setting ends=false, as for `nli`, φ does not learn the end of a sentence where the model is wrong, "
    "only the "
    "class; in Algorithm 2 it ends after the class. With match_certainty=true, as for `nli`, training items are "
    "drawn as "
    "certain as validation items.",
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
