"""How likely a language model writes certain words when it is asked about its own answer to a prompt."""

from collections.abc import Sequence

from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.models.inputs.words import word_spans
from explainers.models.prompted.filled import PromptTokenizer
from explainers.models.prompted.model import PromptedModel

NO_PROMPT = "{} asks a language model that has a prompt, such as smollm2:sst2-examples. Omit it."
WORDS_ONLY = "{} is about the words of a text. Choose words as the unit, or omit it."
TOO_LONG = "The text is too long for {}: its question does not fit behind it. Shorten the text."


def word_likelihoods(
    model: FrozenModel, encoding: Encoding, label: int, question: str, words: Sequence[str], *, method: str
) -> tuple[list[float], list[float]]:
    """Return for each word the mean log-probability of its tokens as what the model writes next: when it is asked the
    `question` behind the input and the answer, the word of class number `label` in the place of {answer}; and the same
    behind a prompt without a text.

    Raises `ExplanationError`, which names the `method`, for a model without a prompt, for other units than words, and
    where the question does not fit behind the text.
    """
    if not isinstance(model, PromptedModel):
        raise ExplanationError(NO_PROMPT.format(method))
    spans = {span for text in encoding.texts for span in word_spans(text)}
    if encoding.examples or any((unit.start, unit.end) not in spans for unit in encoding.units):
        raise ExplanationError(WORDS_ONLY.format(method))
    tokenizer = model.tokenizer
    assert isinstance(tokenizer, PromptTokenizer)
    answer = list(model.prompt.classes.values())[label]
    asked = question.format(answer=answer)
    space = not model.prompt.chat and not tokenizer.pieces[-1].endswith(" ")
    behind, _ = tokenizer.continuation(f"{answer}\n\n{asked}", space=space)
    tokens = [tokenizer.ids_behind(asked, word) for word in words]
    if len(encoding.ids) + len(behind) + max(map(len, tokens)) > tokenizer.longest:
        raise ExplanationError(TOO_LONG.format(method))
    with_text = model.log_likelihoods((*encoding.ids, *behind), tokens, encoding.zeroed)
    return with_text, model.log_likelihoods((*model.fixed, *behind), tokens)
