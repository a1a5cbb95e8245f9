"""How likely a language model's next word is a certain one, when it is asked about its own answer to a prompt."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from transformers import DynamicCache

from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.models.prompted.filled import PromptTokenizer
from explainers.models.prompted.model import MOST_BYTES, PromptedModel
from explainers.models.prompted.network import plain_layers

NO_PROMPT = "{} asks a language model that has a prompt, such as smollm2:sst2-examples. Omit it."
EXAMPLES = "{} is about the words of a text. Choose words as units, or omit it."
TOO_LONG = "The text is too long for {} to be asked about its words behind it. Shorten it."
OTHER_MEMORY = "{} keeps what it has read in a form that is not known here, so it cannot be asked about words."


def word_likelihoods(
    model: FrozenModel, encoding: Encoding, label: int, question: str, words: Sequence[str], *, method: str
) -> tuple[list[float], list[float]]:
    """Return for each word the mean log-probability of its tokens as what the model writes next: when it is asked the
    `question` behind its text and the answer, the word of class number `label` in the place of {answer}; and the same
    behind a prompt without a text.

    Raises `ExplanationError`, which names the `method`, for a model without a prompt and where a word does not fit
    behind the text.
    """
    if not isinstance(model, PromptedModel):
        raise ExplanationError(NO_PROMPT.format(method))
    if encoding.examples:
        raise ExplanationError(EXAMPLES.format(method))
    tokenizer = model.tokenizer
    assert isinstance(tokenizer, PromptTokenizer)
    answer = list(model.prompt.classes.values())[label]
    asked = f"{answer}\n\n{question.format(answer=answer)}"
    tokens = [tokenizer.ids_behind(":", f" {word}") for word in words]
    with_text = tokenizer.followed_by(encoding.texts, asked)
    if len(with_text) + max(map(len, tokens)) > tokenizer.longest:
        raise ExplanationError(TOO_LONG.format(model.name))
    without = tokenizer.followed_by([""] * len(encoding.texts), asked)
    return _after(model, with_text, tokens), _after(model, without, tokens)


def _after(model: PromptedModel, ids: Sequence[int], words: Sequence[Sequence[int]]) -> list[float]:
    """Return for each word the mean log-probability of its tokens behind `ids`."""
    with model._batch(1), torch.inference_mode():
        past = DynamicCache()
        states = model.words.decoder.continued(torch.tensor([ids], device=model.device), None, past)
        first = model.words.token_logits(states[0, -1]).float().log_softmax(dim=-1)  # (V,)
    totals = first[[word[0] for word in words]].double().clone()
    longer = [number for number, word in enumerate(words) if len(word) > 1]
    layers = plain_layers(past, len(ids))
    if longer and not layers:
        raise ExplanationError(OTHER_MEMORY.format(model.name))
    for part in _batches(longer, layers):
        totals[part] += _of_rest(model, layers, [words[number] for number in part])
    counts = torch.tensor([len(word) for word in words], device=totals.device)
    means: list[float] = (totals / counts).tolist()
    return means


def _batches(rows: list[int], layers: Sequence[tuple[Tensor, Tensor]]) -> Iterator[list[int]]:
    """The rows in parts whose copies of keys and values fit into the memory."""
    size = max(1, MOST_BYTES // max(1, sum(part.nbytes for layer in layers for part in layer)))
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _of_rest(model: PromptedModel, layers: Sequence[tuple[Tensor, Tensor]], words: Sequence[Sequence[int]]) -> Tensor:
    """Return log p of all tokens but the first, summed by word, (R,), behind what the `layers` keep."""
    width = max(map(len, words))
    ids = torch.tensor([[*word, *[0] * (width - len(word))] for word in words], device=model.device)
    past = DynamicCache([tuple(part.expand(len(words), -1, -1, -1) for part in layer) for layer in layers])
    with model._batch(1), torch.inference_mode():
        states = model.words.decoder.continued(ids[:, :-1], None, past)  # causal: padding changes nothing before it
        steps = model.words.token_logits(states).float().log_softmax(dim=-1)
        steps = steps.gather(2, ids[:, 1:, None])[..., 0].double()
    ends = torch.tensor([len(word) - 1 for word in words], device=ids.device)
    return torch.where(torch.arange(width - 1, device=ids.device) < ends[:, None], steps, 0.0).sum(dim=1)
