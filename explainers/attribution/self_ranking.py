"""Self-ranking (the row "LLM" of AML's tables; Barkan et al., EMNLP 2024): a language model says which words matter.

Behind the prompt q with its text x and the answer, the model is asked which word of the text led to it. A unit's score
is how much likelier its word w is as the reply than behind the same prompt without a text, so that words that are
frequent anyway do not come first (contextual calibration; Zhao et al., ICML 2021). Of a word of n tokens:

    score_u = σ(1/n Σ_t log p(w_t | q(x), w_<t) − 1/n Σ_t log p(w_t | q(∅), w_<t))       in (0, 1)
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explainers.methods.registry import MethodSpec
from explainers.results.attribution import Attribution

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding

QUESTION = "Question: Which word of the text led to the answer {answer}?\nWord:"

SELF_RANKING = MethodSpec(
    id="self_ranking",
    name="Self-ranking",
    group="Self-report",
    kind="one by one",
    signed=False,
    idea="Asks the language model itself which word of the text led to its answer: how much likelier each word is as "
    "its reply than without the text.",
    caution="Do not take it for what the model computes: what a model says of its reasons need not be how it decides.",
    formula=r"s_u=\sigma\Bigl(\tfrac1n\textstyle\sum_t\log"
    r"\frac{p(w_t\mid q(x),\,w_{<t})}{p(w_t\mid q(\varnothing),\,w_{<t})}\Bigr)",
    source="Barkan et al., Findings of EMNLP 2024 (a baseline); calibrated as Zhao et al., ICML 2021",
    implementation=f"{__name__}:SelfRanking",
    colour="#5f7f1a",
    passes=lambda units, _samples, _steps: 2 * units,
    needs="prompt",
    default=False,
    reads_class=True,
    is_report=True,
    deviations=(
        "The paper does not publish its prompt, nor how it reads the free answers. Here the model's probability of "
        "each word is read, which gives every word a place.",
        "The comparison with a prompt without a text is ours; the paper has none.",
        "In a chat prompt the question stands behind the answer, in the model's own turn.",
    ),
)


@dataclass(frozen=True)
class SelfRanking:
    """Costs two passes for each different word: behind the prompt with its text, and without."""

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        """Raises `ExplanationError` for a model without a prompt, for other units than words, and where the question
        does not fit behind the text."""
        from explainers.models.prompted.answering import word_likelihoods

        words = tuple(dict.fromkeys(unit.text for unit in encoding.units))
        asked = word_likelihoods(model, encoding, label, QUESTION, words, method=SELF_RANKING.name)
        of_word = {word: 1 / (1 + math.exp(bare - own)) for word, own, bare in zip(words, *asked, strict=True)}
        scores = tuple(of_word[unit.text] for unit in encoding.units)
        return Attribution(SELF_RANKING.id, encoding, label, scores, signed=SELF_RANKING.signed)
