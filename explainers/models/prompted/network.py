"""The network of a language model that classifies by class words: log-odds of the words' first tokens."""

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import DynamicCache
from transformers.modeling_outputs import SequenceClassifierOutput

from explainers.models.decoder import DecoderClassifier


class ClassWords(DecoderClassifier):
    """`score` are the rows of the language model's head for one token per class, so that its logits are the language
    model's own; `head` is the whole of it. `words` are the ids of these tokens."""

    def __init__(self, network: Any, words: tuple[int, ...]) -> None:
        head = network.get_output_embeddings()
        score = nn.Linear(head.weight.shape[1], len(words), bias=head.bias is not None)
        with torch.no_grad():
            score.weight.copy_(head.weight[list(words)])
            if head.bias is not None:
                score.bias.copy_(head.bias[list(words)])
        super().__init__(network.base_model, score)
        self.head, self.words = head, words
        self.cap: float | None = getattr(network.config.get_text_config(), "final_logit_softcapping", None)

    def classified(self, states: Tensor, attention: Tensor | None) -> SequenceClassifierOutput:
        output = super().classified(states, attention)
        return SequenceClassifierOutput(logits=self._capped(cast(Tensor, output.logits)))

    def share_of_words(self, ids: Tensor) -> float:
        """The probability that the model gives to the class words' tokens together, after ids (1, L)."""
        states = self.decoder(input_ids=ids).last_hidden_state[:, -1]
        return float(self._capped(self.head(states)).softmax(dim=-1)[0, list(self.words)].sum())

    def _capped(self, logits: Tensor) -> Tensor:
        """As Gemma 2 limits its logits."""
        return logits if self.cap is None else self.cap * torch.tanh(logits / self.cap)


class PrefixCache:
    """Keys and values of the part of a prompt that stands before the text, computed once for all masks and texts."""

    def __init__(self, module: ClassWords, prefix: tuple[int, ...]) -> None:
        self.module, self.prefix = module, prefix
        self.layers: list[tuple[Tensor, Tensor]] | None = None  # (1, heads, P, d) each
        self.rounded = False  # whether they were computed in bfloat16

    def logits(self, ids: Tensor, attention: Tensor | None) -> Tensor | None:
        """Logits (B, C) for ids (B, L) that begin with the prefix and go on; None for others, and for architectures
        whose memory is no plain keys and values."""
        count = len(self.prefix)
        shortest = ids.shape[1] if attention is None else int(attention.sum(dim=1).min())
        if not count or shortest <= count or not self._begins(ids):
            return None
        rounded = torch.is_autocast_enabled(ids.device.type)
        if self.layers is None or (self.layers and (self.layers[0][0].device, self.rounded) != (ids.device, rounded)):
            self.layers, self.rounded = self._computed(ids.device), rounded
        if not self.layers:
            return None
        rows = len(ids)
        past = DynamicCache([tuple(part.expand(rows, -1, -1, -1) for part in layer) for layer in self.layers])
        states = self.module.decoder.continued(ids[:, count:], attention, past)
        output = self.module.classified(states, None if attention is None else attention[:, count:])
        return cast(Tensor, output.logits)

    @property
    def bytes_per_row(self) -> int:
        """How much memory the kept prefix takes for each row of a batch."""
        return sum(part.nbytes for layer in self.layers or () for part in layer)

    def _begins(self, ids: Tensor) -> bool:
        return bool((ids[:, : len(self.prefix)] == torch.tensor(self.prefix, device=ids.device)).all())

    def _computed(self, device: torch.device) -> list[tuple[Tensor, Tensor]]:
        past = DynamicCache()
        self.module.decoder.continued(torch.tensor([self.prefix], device=device), None, past)
        layers = [(getattr(layer, "keys", None), getattr(layer, "values", None)) for layer in past.layers]
        plain = all(keys is not None and keys.dim() == 4 and keys.shape[2] == len(self.prefix) for keys, _ in layers)
        return cast(list[tuple[Tensor, Tensor]], layers) if plain else []
