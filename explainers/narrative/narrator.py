"""The modules of CAuSE: ψ, the language model φ, the aggregator A and the second classifier C2.

φ's pointer: it may take its next token from a word of the input (See et al., 2017).

The states choose the word; its spelling comes from the input: a word's later pieces are found by the piece before.

    p(token) = (1 - g) p_φ(token) + g Σ over the pieces of the input that are this token of softmax(q·k)

What φ attends to besides ψ(c): the tokens of the input, as states of the frozen model or as words.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel

from explainers.narrative import interchange, pretrained
from explainers.narrative.language import Language
from explainers.narrative.narrator_input import InputTokens, NarratorInput
from explainers.narrative.recipe import Leak, Losses, Reads

LONGEST_WORD = 8  # pieces
RARELY = -2.0  # the gate's logit before training
NO_PIECE = -2  # in place of the number of a word
LEAST = 1e-30  # probability


@dataclass(frozen=True, eq=False)
class InputPieces:
    """The words of B inputs in φ's vocabulary: P pieces with the tokens of the model that they come from."""

    ids: Tensor  # (B, P)
    previous: Tensor  # (B, P): the piece before in the same word; the piece itself at a word's beginning
    places: Tensor  # (B, P): number within the word
    units: Tensor  # (B, P): number of the word; below 0 where there is no piece


def input_pieces(tokens: InputTokens, language: Language) -> InputPieces:
    """Every word as it stands inside a sentence."""
    rows = []
    for words in tokens.words:
        row = [
            (language.end_id, language.end_id, 0, NO_PIECE)
        ]  # a row without words, such as of patches, has one empty piece
        for unit, word in enumerate(words):
            ids = language.pieces_within(word)[:LONGEST_WORD] if word else []
            row += [(piece, ids[max(at - 1, 0)], at, unit) for at, piece in enumerate(ids)]
        rows.append(torch.tensor(row))
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=float(NO_PIECE)).to(tokens.real.device)
    numbers, previous, places, units = padded.unbind(-1)
    return InputPieces(numbers.clamp(min=0), previous.clamp(min=0), places.clamp(min=0), units)


class Pointer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.spelling = (nn.Linear(width, width) for _ in range(3))
        self.place = nn.Embedding(LONGEST_WORD, width)
        self.gate = nn.Linear(width, 1)
        nn.init.constant_(self.gate.bias, RARELY)

    def keys(self, pieces: InputPieces, units: Tensor, memory: Tensor, embedding: nn.Module) -> Tensor:
        """(B, P, e), from the mean over each word's tokens, memory (B, L, e) of units (B, L)."""
        of_word = (pieces.units[:, :, None] == units[:, None]).to(memory.dtype)  # (B, P, L)
        states = of_word @ memory / of_word.sum(-1, keepdim=True).clamp(min=1)
        later = (pieces.places > 0)[:, :, None]
        return cast(
            Tensor, self.key(states) + self.place(pieces.places) + later * self.spelling(embedding(pieces.previous))
        )

    def forward(self, hidden: Tensor, logits: Tensor, keys: Tensor, pieces: InputPieces) -> Tensor:
        """Log-probabilities (B, T, V), from φ's last hidden states (B, T, e) and logits (B, T, V)."""
        gate, pointed = self.shares(hidden, keys, pieces)
        numbers = pieces.ids[:, None].expand(-1, hidden.shape[1], -1)
        mixed: Tensor = ((1 - gate) * logits.softmax(-1)).scatter_add(2, numbers, gate * pointed)
        return mixed.clamp(min=LEAST).log()

    def shares(self, hidden: Tensor, keys: Tensor, pieces: InputPieces) -> tuple[Tensor, Tensor]:
        """The gate g (B, T, 1) and the pointed share of each piece (B, T, P)."""
        scores = self.query(hidden) @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5  # (B, T, P)
        there = (pieces.units >= 0)[:, None]
        pointed = scores.masked_fill(~there, -1e4).softmax(-1) * there
        return self.gate(hidden).sigmoid() * there.any(-1, keepdim=True), pointed

    def likelihood(self, own: Tensor, hidden: Tensor, ids: Tensor, keys: Tensor, pieces: InputPieces) -> Tensor:
        """Log-probabilities (B, T) of the tokens `ids` (B, T), which φ alone gives the probabilities `own` (B, T)."""
        gate, pointed = self.shares(hidden, keys, pieces)
        equal = pieces.ids[:, None] == ids[:, :, None]  # (B, T, P)
        mixed = (1 - gate[..., 0]) * own + gate[..., 0] * (pointed * equal).sum(-1)
        return mixed.clamp(min=LEAST).log()


PLACES = 160  # numbers of tokens that are told apart
TEXTS = 2


@dataclass(frozen=True, eq=False)
class TokenMemory:
    """What φ attends to of B inputs, and the pieces that it may point to."""

    states: Tensor  # (B, L, e)
    real: Tensor  # (B, L)
    keys: Tensor  # (B, P, e)
    pieces: InputPieces

    def without(self, chosen: Tensor) -> "TokenMemory":
        """The memory after the tokens `chosen` (B,): the first piece of the input that is one cannot be pointed to
        again."""
        equal = (self.pieces.ids == chosen[:, None]) & (self.pieces.units >= 0)
        first = equal & (equal.cumsum(1) == 1)
        return replace(self, pieces=replace(self.pieces, units=self.pieces.units.masked_fill(first, NO_PIECE)))


class TokenReader(nn.Module):
    """Two states of every token, (B, L, 2·d), to φ's memory (B, L, e). The token's number is added, because the states
    of a patch hardly tell where it is. `size` is the root mean square of a number of the memory."""

    def __init__(self, width: int, embedding: int, size: float = 1.0) -> None:
        super().__init__()
        sized = nn.LayerNorm(embedding)
        nn.init.constant_(sized.weight, size)
        self.entry = nn.Sequential(nn.LayerNorm(2 * width), nn.Linear(2 * width, embedding), sized)
        self.place = _embedding(PLACES, embedding, size)
        self.pointer = Pointer(embedding)

    def forward(self, tokens: InputTokens, language: Language, embedding: nn.Module) -> TokenMemory:
        memory = self.entry(tokens.features) + self.place(_numbers(tokens.real))
        pieces = input_pieces(tokens, language)
        return TokenMemory(memory, tokens.real, self.pointer.keys(pieces, tokens.units, memory, embedding), pieces)


class WordReader(nn.Module):
    """The pieces of the input's words, with their numbers and the text in which they stand, as φ's memory (B, P, e):
    nothing of the frozen model."""

    def __init__(self, embedding: int, size: float = 1.0) -> None:
        super().__init__()
        self.place, self.text = _embedding(PLACES, embedding, size), _embedding(TEXTS, embedding, size)
        self.pointer = Pointer(embedding)

    def forward(self, tokens: InputTokens, language: Language, embedding: nn.Module) -> TokenMemory:
        pieces = input_pieces(tokens, language)
        real = pieces.units >= 0
        real[:, 0] = True  # an input without words has one empty piece, since attention to nothing has no mean
        rows = [torch.tensor(row or (0,), device=real.device).clamp(max=TEXTS - 1) for row in tokens.texts]
        texts = pad_sequence(rows, batch_first=True).gather(1, pieces.units.clamp(min=0))  # (B, P)
        memory = embedding(pieces.ids) + self.place(_numbers(real)) + self.text(texts)
        return TokenMemory(memory, real, self.pointer.keys(pieces, pieces.units, memory, embedding), pieces)


def _embedding(count: int, width: int, size: float) -> nn.Embedding:
    result = nn.Embedding(count, width)
    with torch.no_grad():
        result.weight.mul_(size)
    return result


def _numbers(real: Tensor) -> Tensor:
    """(L,) of a mask (B, L)."""
    return torch.arange(real.shape[1], device=real.device).clamp(max=PLACES - 1)


def with_prefix(embeds: Tensor, memory: TokenMemory, past: Any) -> dict[str, Tensor]:
    """φ's input where the memory (B, L, e) stands before the first position: embeddings, mask and numbers of the
    positions, of which padding has none."""
    before = past.get_seq_length() if past is not None else 0
    joined = embeds if before else torch.cat([memory.states, embeds], dim=1)
    words = memory.real.new_ones(len(embeds), before + joined.shape[1] - memory.real.shape[1])
    real = torch.cat([memory.real, words], dim=1).long()
    numbers = (real.cumsum(1) - 1).clamp(min=0)[:, -joined.shape[1] :]
    return {"inputs_embeds": joined, "attention_mask": real, "position_ids": numbers}


class Narrator(nn.Module):
    """`psi`: d → the language model's width; `aggregator`: its vocabulary → d; `c2`: the head's shape, new weights.

    Where φ's embeddings do not learn, `aggregator` reads their mean over the vocabulary: SmolLM2's 49,152 words would
    take 19 million weights.

    With a middle `layer` of the frozen model, φ also attends to the tokens of that layer and of the last one.
    """

    def __init__(
        self,
        head: nn.Sequential,
        phi: PreTrainedModel,
        language: Language,
        losses: Losses,
        leak: Leak = "closed",
        layer: int = 0,
        reads: Reads = "states",
    ) -> None:
        super().__init__()
        self.language, self.leak, self.layer, self.reads = language, leak, layer, reads
        width, embedding = interchange.linear_layers(head)[0].in_features, self.embedding_of(phi).embedding_dim
        self.psi = nn.Linear(width, embedding)
        self.phi = phi
        self.half_precision = False  # of φ's matrix products while it learns
        self.points_once = False  # to a word of the input, in a generated sentence
        if layer:
            size = 1.0 if self.has_cross_attention else self.embedding_of(phi).weight.std().item()
            self.token_reader = (
                TokenReader(width, embedding, size) if reads == "states" else WordReader(embedding, size)
            )
        self.has_reader = losses != "phi"
        if self.has_reader:
            words = self.embedding_of(phi)
            self.aggregates_words = words.weight.requires_grad
            self.aggregator = nn.Linear(words.num_embeddings if self.aggregates_words else embedding, width)
            self.c2 = copy.deepcopy(head).requires_grad_(True)
            for part in interchange.linear_layers(self.c2):
                part.reset_parameters()
        self._frozen = {name for name, weight in self.named_parameters() if not weight.requires_grad}

    @staticmethod
    def embedding_of(phi: PreTrainedModel) -> nn.Embedding:
        return cast(nn.Embedding, phi.get_input_embeddings())

    @torch.no_grad()
    def initialise_aggregator(self, labels: Sequence[Sequence[int]], means: Tensor) -> None:
        """Lets A map the first piece of each class name to the mean state (C, d) of the items of that class.

        With a random A, C2 learns to read the class from other traces of the state in φ's output.
        """
        if not self.has_reader:
            return
        first = [pieces[0] for pieces in labels]
        if self.aggregates_words:
            self.aggregator.bias.zero_()
            self.aggregator.weight[:, first] = means.T
            return
        words, means = self.embedding_of(self.phi).weight[first].cpu().double(), means.cpu().double()  # not all have it
        turned = torch.linalg.pinv(words - words.mean(0)) @ (means - means.mean(0))  # (e, d), the smallest that does
        self.aggregator.weight.copy_(turned.T)
        self.aggregator.bias.copy_(means.mean(0) - words.mean(0) @ turned)

    @property
    def tied_names(self) -> set[str]:
        """Second names of tied weights, such as GPT-2's input and output embeddings; a file holds the first."""
        every = {name for name, _ in self.named_parameters(remove_duplicate=False)}
        return every - {name for name, _ in self.named_parameters()}

    @property
    def kept_names(self) -> set[str]:
        """The names of the weights that a file holds: not those of a pretrained φ that did not learn."""
        return self.state_dict().keys() - self.tied_names - self._frozen

    def kept(self) -> dict[str, Tensor]:
        """The weights that a file holds."""
        weights = self.state_dict()
        return {name: weights[name] for name in sorted(self.kept_names)}

    @property
    def has_cross_attention(self) -> bool:
        """Return whether φ reads the tokens by attention of its own; otherwise they are a prefix."""
        return bool(getattr(self.phi.config, "add_cross_attention", False))

    @property
    def reads_states_as_prefix(self) -> bool:
        """Return whether the states of the tokens stand before φ's first position."""
        return self.layer > 0 and self.reads == "states" and not self.has_cross_attention

    def first_embedding(self, states: Tensor) -> Tensor:
        """ψ of states (B, d) as φ's first position, (B, 1, e); of nothing for a narrator that reads words."""
        return cast(Tensor, self.psi(states if self.reads == "states" else torch.zeros_like(states)))[:, None]

    def token_memory(self, inputs: NarratorInput) -> TokenMemory | None:
        """None for a narrator that reads c alone. Raises `ValueError` for inputs without tokens."""
        if not self.layer:
            return None
        if inputs.tokens is None:
            raise ValueError("this narrator reads the tokens of the input too")
        return cast(TokenMemory, self.token_reader(inputs.tokens, self.language, self.embedding_of(self.phi)))

    def next_tokens(
        self, embeds: Tensor, memory: TokenMemory | None, past: Any = None, *, cached: bool = False
    ) -> tuple[Tensor, Any]:
        """Logits (B, T, V) after each of the embedded positions (B, T, e), and φ's cache for the ones that follow."""
        if memory is None:
            with self._precision(embeds):
                output = self.phi(inputs_embeds=embeds, past_key_values=past, use_cache=cached)
            return output.logits.float(), output.past_key_values
        hidden, past = self._read(embeds, memory, past, cached=cached)
        return self._logits(hidden, memory), past

    def _logits(self, hidden: Tensor, memory: TokenMemory) -> Tensor:
        """(B, T, V) after φ's last hidden states (B, T, e)."""
        with self._precision(hidden):
            logits = pretrained.output_head(self.phi)(
                hidden.contiguous()
            )  # of a slice bfloat16 takes 70 times as long on a CPU
        rows: Tensor = self.token_reader.pointer(hidden.float(), logits.float(), memory.keys, memory.pieces)
        return rows

    def _precision(self, embeds: Tensor) -> torch.autocast:
        return torch.autocast(embeds.device.type, torch.bfloat16, enabled=self.half_precision)

    def _read(
        self, embeds: Tensor, memory: TokenMemory, past: Any = None, *, cached: bool = False
    ) -> tuple[Tensor, Any]:
        """φ's last hidden states (B, T, e) at the embedded positions, and its cache."""
        given: dict[str, Any] = {"inputs_embeds": embeds, "past_key_values": past, "use_cache": cached}
        if self.has_cross_attention:
            given |= {"encoder_hidden_states": memory.states, "encoder_attention_mask": memory.real}
        else:
            given |= with_prefix(embeds, memory, past)
        with self._precision(embeds):
            if self.half_precision:  # so that φ's residual stream has no more bits than its products
                given["inputs_embeds"] = given["inputs_embeds"].bfloat16()
            output = self.phi.base_model(**given)
        return output.last_hidden_state[:, -embeds.shape[1] :], output.past_key_values

    def sentence_loss(
        self, inputs: NarratorInput, ids: Tensor, real: Tensor, memory: TokenMemory | None
    ) -> tuple[Tensor, Tensor | None]:
        """L_φ, the mean of -log p over the real tokens of `ids` (B, T), and for a φ that reads states as a prefix also
        `class_token_logits`, which cost a pass of their own elsewhere: each sentence begins with "The answer is".

        As from `token_logits`, without the probabilities of all other tokens, which cost more than φ itself where the
        vocabulary is large.
        """
        if memory is None:
            return F.cross_entropy(self.token_logits(inputs, ids)[real], ids[real]), None
        hidden, _ = self._read(self._embedded(inputs, ids), memory)
        place = len(self.language.opening)
        named = self.reads_states_as_prefix and self.has_reader
        class_logits = self._logits(hidden[:, place : place + 1], memory)[:, 0] if named else None
        with self._precision(hidden):
            logits = pretrained.output_head(self.phi)(hidden[real])  # (N, V)
        own = torch.zeros_like(ids, dtype=torch.float32)
        own = own.masked_scatter(real, (-F.cross_entropy(logits.float(), ids[real], reduction="none")).exp())
        known: Tensor = self.token_reader.pointer.likelihood(own, hidden.float(), ids, memory.keys, memory.pieces)
        return -known[real].mean(), class_logits

    def token_logits(self, inputs: NarratorInput, ids: Tensor, memory: TokenMemory | None = None) -> Tensor:
        """φ's logits (B, T, V) at each position of `ids` (B, T), given the input and the positions before."""
        return self.next_tokens(self._embedded(inputs, ids), memory or self.token_memory(inputs))[0]

    def _embedded(self, inputs: NarratorInput, ids: Tensor) -> Tensor:
        """What φ reads where it predicts `ids` (B, T): ψ(c), and all of them but the last, (B, T, e)."""
        words = self.embedding_of(self.phi)(ids[:, :-1])
        return torch.cat([self.first_embedding(inputs.states), words], dim=1)

    def class_token_logits(self, inputs: NarratorInput, memory: TokenMemory | None = None) -> Tensor:
        """φ's logits (B, V) after "The answer is", where the class comes."""
        opening = torch.tensor([*self.language.opening, self.language.end_id], device=inputs.states.device)
        embeds, memory = self._embedded(inputs, opening.expand(len(inputs), -1)), memory or self.token_memory(inputs)
        if memory is None:
            return self.next_tokens(embeds, memory)[0][:, -1]  # the last id is predicted, not read
        return self._logits(self._read(embeds, memory)[0][:, -1:], memory)[:, 0]

    def aggregate_token(self, logits: Tensor) -> Tensor:
        """A of one token's logits (B, V), to states (B, d)."""
        return self._aggregate(logits.softmax(-1))

    def aggregate_sentence(self, logits: Tensor, real: Tensor) -> Tensor:
        """A of the mean probabilities over the real positions, from logits (B, T, V) to states (B, d)."""
        return self.aggregate_positions(logits.softmax(-1), real)

    def aggregate_positions(self, shares: Tensor, counted: Tensor) -> Tensor:
        """A of the mean of shares (B, T, V) over the counted positions (B, T)."""
        weights = counted[:, :, None].to(shares.dtype)
        return self._aggregate((shares * weights).sum(1) / weights.sum(1).clamp(min=1))

    def _aggregate(self, shares: Tensor) -> Tensor:
        """A of shares (B, V) of the vocabulary, to states (B, d)."""
        read = shares if self.aggregates_words else shares @ self.embedding_of(self.phi).weight.float()
        return cast(Tensor, self.aggregator(read))
