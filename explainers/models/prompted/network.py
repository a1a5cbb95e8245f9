"""The network of a language model that classifies by class words: log-odds of their first tokens, or of whole words.

first   z_c = logit of the first token of c's word
mean    z_c = 1/n Σ_t log p(w_t | prompt with the text, w_1 … w_{t-1}), over the n tokens w of c's word
"""

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import DynamicCache
from transformers.modeling_outputs import SequenceClassifierOutput

from explainers.models.decoder import DecoderClassifier

Word = tuple[int, ...]  # ids of a class word's tokens


class ClassWords(DecoderClassifier):
    """`score` are the rows of the language model's head for one token per class, so that its logits are the language
    model's own; `head` is the whole of it. `words` are the ids of these tokens."""

    rows_per_text = 1  # that go through the network
    added = 0  # tokens of class words behind each text
    bytes_read = 0  # of the probabilities of all tokens that are computed for one text

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

    def with_words(self, values: Tensor, attention: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """What goes through the network for ids (B, L) or embeddings (B, L, d), and the attention over it."""
        return values, attention

    def share_of_words(self, ids: Tensor) -> float:
        """The probability that the model gives to the class words' tokens together, after ids (1, L)."""
        states = self.decoder(input_ids=ids).last_hidden_state[:, -1]
        return float(self.token_logits(states).softmax(dim=-1)[0, list(self.words)].sum())

    def token_logits(self, states: Tensor) -> Tensor:
        """Return the logits of all tokens as the next one, (…, V), for states (…, d)."""
        return self._capped(self.head(states))

    def _capped(self, logits: Tensor) -> Tensor:
        """As Gemma 2 limits its logits."""
        return logits if self.cap is None else self.cap * torch.tanh(logits / self.cap)


class WholeWords(ClassWords):
    """The class is read from all tokens of its word.

    A text goes through the network once behind each of R endings: the beginnings of the words, without their last
    token, that no longer one begins with. What follows a beginning is read from the first row that has it.
    """

    endings: Tensor  # (R, K) ids, padded on the right
    lengths: Tensor  # (R,)
    read_rows: Tensor  # (N,) the row of each beginning of a word, also of the empty one
    read_lengths: Tensor  # (N,) its tokens
    step_reads: Tensor  # (S,) for each token of each word the number of the beginning that it follows
    step_ids: Tensor  # (S,)

    def __init__(self, network: Any, tokens: tuple[Word, ...]) -> None:
        super().__init__(network, tuple(word[0] for word in tokens))
        self.score = self.head  # the probability of a token needs the logits of all
        self.tokens = tokens
        beginnings = list(dict.fromkeys(word[:end] for word in tokens for end in range(len(word))))
        endings = [one for one in beginnings if not any(_begins(one, other) for other in beginnings)]
        self.rows_per_text, self.added = len(endings), max(map(len, endings))
        self.bytes_read = 3 * 4 * len(beginnings) * len(self.head.weight)  # logits, those with a cap, logarithms
        rows = [next(row for row, ending in enumerate(endings) if ending[: len(one)] == one) for one in beginnings]
        steps = [(beginnings.index(word[:end]), word[end]) for word in tokens for end in range(len(word))]
        numbers = {
            "endings": [[*ending, *[0] * (self.added - len(ending))] for ending in endings],
            "lengths": [len(ending) for ending in endings],
            "read_rows": rows,
            "read_lengths": [len(one) for one in beginnings],
            "step_reads": [read for read, _ in steps],
            "step_ids": [number for _, number in steps],
        }
        for name, values in numbers.items():
            self.register_buffer(name, torch.tensor(values), persistent=False)

    def forward(
        self,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """Return logits (B, C) for ids (B, L) or embeddings (B, L, d)."""
        return self.classified(self._states(input_ids, inputs_embeds, attention_mask), attention_mask)

    def classified(self, states: Tensor, attention: Tensor | None) -> SequenceClassifierOutput:
        """Return logits (B, C) for states (B·R, L + K, d) of the rows of `with_words`; attention (B, L) is over the
        texts."""
        return SequenceClassifierOutput(
            logits=torch.stack([word.mean(dim=1) for word in self._log_probabilities(states, attention)], dim=1)
        )

    def with_words(self, values: Tensor, attention: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The texts with every ending in the place of their padding and behind it: (B·R, L + K), or with d."""
        texts, length = values.shape[:2]
        endings = self.endings if values.dim() == 2 else self.decoder.get_input_embeddings()(self.endings)
        wide = torch.cat(
            [values.repeat_interleave(len(endings), dim=0), endings.repeat(texts, *[1] * (values.dim() - 1))], dim=1
        )
        column = torch.arange(length + self.added, device=values.device)
        behind = column - self._ends(texts, length, attention).repeat_interleave(len(endings))[:, None]
        source = torch.where(behind < 0, column, (length + behind).clamp(max=len(column) - 1))  # (B·R, L + K)
        seen = behind < self.lengths.repeat(texts)[:, None]
        index = source if values.dim() == 2 else source[:, :, None].expand(-1, -1, values.shape[2])
        return wide.gather(1, index), seen.long()

    def share_of_words(self, ids: Tensor) -> float:
        """The probability that the model writes one of the class words after ids (1, L). A word that begins with
        another one is counted with it."""
        words = self._log_probabilities(self._states(ids, None, None), None)
        return sum(
            float(steps[0].sum().exp())
            for word, steps in zip(self.tokens, words, strict=True)
            if not any(_begins(other, word) for other in self.tokens)
        )

    def _states(self, ids: Tensor | None, embeds: Tensor | None, attention: Tensor | None) -> Tensor:
        """Return the states of the rows of `with_words`, (B·R, L + K, d). Hooks on the embeddings see texts alone."""
        rows, seen = self.with_words(self.decoder.embedded(ids, embeds), attention)
        output = self.decoder.network(inputs_embeds=rows, attention_mask=seen, use_cache=False)
        return cast(Tensor, output.last_hidden_state)

    def _log_probabilities(self, states: Tensor, attention: Tensor | None) -> tuple[Tensor, ...]:
        """For each word those of its tokens, (B, n)."""
        texts = len(states) // self.rows_per_text
        ends = self._ends(texts, states.shape[1] - self.added, attention)  # (B,)
        rows = torch.arange(texts, device=states.device)[:, None] * self.rows_per_text + self.read_rows  # (B, N)
        read = states[rows, ends[:, None] - 1 + self.read_lengths]  # (B, N, d)
        steps = self.token_logits(read).log_softmax(dim=-1)[:, self.step_reads, self.step_ids]  # (B, S)
        return torch.split(steps, [len(word) for word in self.tokens], dim=1)

    def _ends(self, texts: int, length: int, attention: Tensor | None) -> Tensor:
        """How many tokens each text has, (B,)."""
        if attention is None:
            return torch.full((texts,), length, device=self.endings.device)
        return attention.long().sum(dim=1).clamp(min=1)


def _begins(one: Word, other: Word) -> bool:
    """Return whether `other` begins with `one` and is longer."""
    return len(one) < len(other) and other[: len(one)] == one


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
        rows, seen = self.module.with_words(ids, attention)
        past = DynamicCache([tuple(part.expand(len(rows), -1, -1, -1) for part in layer) for layer in self.layers])
        states = self.module.decoder.continued(rows[:, count:], seen, past)
        output = self.module.classified(states, None if attention is None else attention[:, count:])
        return cast(Tensor, output.logits)

    @property
    def bytes_per_row(self) -> int:
        """How much memory the kept prefix takes for each text of a batch."""
        return self.module.rows_per_text * sum(part.nbytes for layer in self.layers or () for part in layer)

    def _begins(self, ids: Tensor) -> bool:
        return bool((ids[:, : len(self.prefix)] == torch.tensor(self.prefix, device=ids.device)).all())

    def _computed(self, device: torch.device) -> list[tuple[Tensor, Tensor]]:
        past = DynamicCache()
        self.module.decoder.continued(torch.tensor([self.prefix], device=device), None, past)
        layers = [(getattr(layer, "keys", None), getattr(layer, "values", None)) for layer in past.layers]
        plain = all(keys is not None and keys.dim() == 4 and keys.shape[2] == len(self.prefix) for keys, _ in layers)
        return cast(list[tuple[Tensor, Tensor]], layers) if plain else []
