"""A language model with a prompt as a frozen classifier: p(class) from the probabilities of class words."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from threading import RLock
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models import batching
from explainers.models.frozen_model import Floats, FrozenModel
from explainers.models.inputs.encoding import NO_UNIT, Encoding, Erasure, Unit, UnitKind
from explainers.models.inputs.erasure import nonzero_mask
from explainers.models.inputs.padded_batch import PaddedBatch
from explainers.models.internals import Internals, forward_with_internals
from explainers.models.prompt import TEXT, Prompt, PromptCard
from explainers.models.prompted.filled import PromptTokenizer, prompt_examples
from explainers.models.prompted.network import ClassWords, PrefixCache, WholeWords

MOST_BYTES = 2**29  # in a batch, of the kept prefix and of the probabilities of all tokens
SEVERAL = "{name} reads its class from several tokens of the class words, so that {lost}. {advice}"


@dataclass(eq=False)
class OpenNetwork:
    """A language model that is loaded once for all its prompts, which share its lock."""

    network: Any
    lock: RLock = field(default_factory=RLock)


@dataclass
class PromptedModel(FrozenModel):
    """`fixed` are the ids of the template with empty texts. `opened` keeps the language model for other prompts."""

    prompt: Prompt = field(kw_only=True)
    tokens: tuple[tuple[str, ...], ...] = field(kw_only=True)  # of each class word
    fixed: tuple[int, ...] = field(kw_only=True)
    cache: PrefixCache = field(kw_only=True, repr=False)
    opened: OpenNetwork = field(kw_only=True, repr=False)
    prior: tuple[float, ...] = field(default=(), kw_only=True)  # p(class) of the template with empty texts

    @property
    def words(self) -> ClassWords:
        assert isinstance(self.module, ClassWords)
        return self.module

    @property
    def default_erasure(self) -> Erasure:
        return "delete"

    def encode(self, example: str | Example, unit: UnitKind = "word", *, windows: bool = False) -> Encoding:
        """As for others. By example the units are those of the prompt, each with the blank lines behind it; the text
        always stays. Raises `ExplanationError` where they cannot be told apart."""
        if unit != "example":
            return super().encode(example, unit, windows=windows)
        encoding, template = super().encode(example), self.prompt.template
        examples, before = prompt_examples(template), template[: template.index(TEXT)]
        assert isinstance(self.tokenizer, PromptTokenizer)
        shift = self.tokenizer.pieces[0].rfind(before)
        if shift < 0:
            raise ExplanationError(f"The chat format of {self.name} changes the examples of the prompt.")
        owners = [
            next((n for n, own in enumerate(examples) if span and own.start <= span[0] - shift < own.stop), NO_UNIT)
            for span in self.tokenizer.characters(encoding.texts)
        ]
        texts = [template[own.start : own.end] for own in examples]
        starts = accumulate((len(text) + 1 for text in texts), initial=0)
        units = tuple(Unit(text, start, start + len(text)) for text, start in zip(texts, starts, strict=False))
        return replace(encoding, units=units, owners=tuple(owners), examples="\n".join(texts))

    def rows_of_masks(self, encoding: Encoding, erasure: Erasure) -> int:
        """As many as fit with the kept prefix, which a pass copies for every row; it is not used where examples in it
        are erased."""
        if erasure == "zero" or encoding.examples or not self.cache.bytes_per_row:
            return self.rows_at_once(encoding, gradient=False)
        rows = self._rows(len(encoding.ids) - len(self.cache.prefix), gradient=False)
        return max(1, min(rows, MOST_BYTES // self.cache.bytes_per_row))

    def _rows(self, tokens: int, *, gradient: bool) -> int:
        """A text behind which several words are tried takes several rows, each longer by a word."""
        words = self.words
        rows = super()._rows(tokens + words.added, gradient=gradient) // words.rows_per_text
        return max(1, min(rows, MOST_BYTES // words.bytes_read) if words.bytes_read else rows)

    def attention_received(self, encoding: Encoding, *, last_layer: bool) -> Floats:
        """As for others. Raises `ExplanationError` for the last layer where the class is read from several tokens."""
        if last_layer and isinstance(self.words, WholeWords):
            lost = "no token's attention in the last layer stands for the answer"
            raise ExplanationError(SEVERAL.format(name=self.name, lost=lost, advice="Choose the mean attention."))
        return super().attention_received(encoding, last_layer=last_layer)

    def prompt_card(self) -> PromptCard:
        """What is shown beside an answer."""
        words = tuple(self.prompt.classes.values())
        asked = self.prompt
        return PromptCard(asked.template, words, self.tokens, self.prior, asked.chat, asked.adapter, asked.read)

    def with_module(self, module: nn.Module) -> "PromptedModel":
        """With a kept prefix of its own."""
        other = super().with_module(module)
        assert isinstance(other, PromptedModel)
        other.cache = PrefixCache(other.words, self.cache.prefix)
        return other

    def without_text(self) -> tuple[float, ...]:
        """p(class) of the template with empty texts."""
        with self._batch(1), torch.inference_mode():
            ids = torch.tensor([self.fixed], device=self.device)
            return tuple(self._normalised(super()._logits(input_ids=ids, segments={}))[0].double().tolist())

    def share_of_words(self, encoding: Encoding) -> float:
        """The probability of all class words together, after the whole input: the rest goes to other words."""
        scale = self._scale(nonzero_mask(encoding))
        with self._batch(1), torch.inference_mode(), self._scaled_embeddings(scale):
            return self.words.share_of_words(torch.tensor([encoding.ids], device=self.device))

    def log_likelihoods(
        self, before: Sequence[int], words: Sequence[Sequence[int]], zeroed: frozenset[int] = frozenset()
    ) -> list[float]:
        """Return for each word, as ids, the mean log-probability of its tokens where it follows the ids `before`, of
        which those at the positions `zeroed` have zero embeddings."""
        width = max(map(len, words))
        rows = torch.tensor([[*before, *word[:-1], *[self.pad_token] * (width - len(word))] for word in words])
        read = torch.tensor([[*word, *[0] * (width - len(word))] for word in words])  # (R, width)
        counts = torch.tensor([len(word) for word in words])
        kept = torch.arange(rows.shape[1]) < (len(before) + counts - 1)[:, None]
        nonzero = np.array([[position not in zeroed for position in range(rows.shape[1])]]) if zeroed else None

        def means(batch: Sequence[int]) -> torch.Tensor:
            at = list(batch)
            with self._batch(len(at)), torch.inference_mode(), self._scaled_embeddings(self._scale(nonzero)):
                ids, attention = rows[at].to(self.device), kept[at].long().to(self.device)
                states = self.words.decoder(input_ids=ids, attention_mask=attention).last_hidden_state
                logits = self.words.token_logits(states[:, len(before) - 1 :]).float()
                steps = logits.log_softmax(dim=-1).gather(2, read[at].to(self.device)[:, :, None])[..., 0]
            inside = torch.arange(width) < counts[at][:, None]
            return torch.where(inside, steps.cpu(), 0.0).sum(dim=1) / counts[at]

        vocabulary = 3 * 4 * width * self.words.head.weight.shape[0]  # bytes of a row's logits and their logarithms
        size = max(1, min(self._rows(rows.shape[1], gradient=False), MOST_BYTES // vocabulary))
        batches = batching.in_batches(range(len(words)), size, means)
        return [float(mean) for _, batch in batches for mean in batch]

    def _logits(
        self,
        *,
        segments: dict[str, Tensor],
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        attention: Tensor | None = None,
    ) -> Tensor:
        hooked = bool(self.words.decoder.embeddings._forward_hooks)
        if input_ids is not None and not hooked and torch.is_inference_mode_enabled():
            logits = self.cache.logits(input_ids, attention)
            if logits is not None:
                return logits
        return super()._logits(segments=segments, input_ids=input_ids, inputs_embeds=inputs_embeds, attention=attention)


@forward_with_internals.register
def prompted_internals(
    model: PromptedModel,
    batch: PaddedBatch,
    *,
    embeds: Tensor | None = None,
    embedding_output: Tensor | None = None,
    scale: Tensor | None = None,
    layer_output: tuple[int, Tensor] | None = None,
    keep_replaced: bool = False,
) -> Internals:
    """As for others. Where the class is read from whole words the internals are those of the text, to which the words
    behind it are nothing; its states cannot be replaced, because the words read those of all layers.
    """
    words = model.words
    if layer_output is not None and isinstance(words, WholeWords):
        raise ExplanationError(
            SEVERAL.format(
                name=model.name,
                lost="states of the text cannot be replaced",
                advice="Choose another method, or a prompt that reads the first token (read: first).",
            )
        )
    internals = forward_with_internals.dispatch(FrozenModel)(
        model,
        batch,
        embeds=embeds,
        embedding_output=embedding_output,
        scale=scale,
        layer_output=layer_output,
        keep_replaced=keep_replaced,
    )
    if not isinstance(words, WholeWords):
        return internals

    def of_text(states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(state[:: words.rows_per_text, : batch.ids.shape[1]] for state in states)

    hidden = (internals.hidden[0], *of_text(internals.hidden[1:]))  # the embeddings are those of the text
    return replace(internals, hidden=hidden, queries=of_text(internals.queries), keys=of_text(internals.keys))
