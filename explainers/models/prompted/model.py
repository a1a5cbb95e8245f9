"""A language model with a prompt as a frozen classifier: p(class) from the probabilities of class words."""

from dataclasses import dataclass, field
from threading import RLock
from typing import Any

import torch
from torch import Tensor, nn

from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.models.inputs.erasure import nonzero_mask
from explainers.models.prompt import Prompt, PromptCard
from explainers.models.prompted.network import ClassWords, PrefixCache

MOST_BYTES = 2**29  # of the kept prefix in a batch


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

    def rows_of_masks(self, encoding: Encoding, erasure: Erasure) -> int:
        """As many as fit with the kept prefix, which a pass copies for every row."""
        if erasure == "zero" or not self.cache.bytes_per_row:
            return self.rows_at_once(encoding, gradient=False)
        rows = self._rows(len(encoding.ids) - len(self.cache.prefix), gradient=False)
        return max(1, min(rows, MOST_BYTES // self.cache.bytes_per_row))

    def prompt_card(self) -> PromptCard:
        """What is shown beside an answer."""
        words = tuple(self.prompt.classes.values())
        return PromptCard(self.prompt.template, words, self.tokens, self.prior, self.prompt.chat, self.prompt.adapter)

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
