"""CCMR, the metric of CAuSE (Sect. 4): what it measures here, and where paper, code and this implementation differ."""

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
