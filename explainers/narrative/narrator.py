"""The modules of CAuSE: ψ, the language model φ, the aggregator A and the second classifier C2."""

import copy
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from explainers.narrative.interchange import linear_layers
from explainers.narrative.language import Language
from explainers.narrative.narrator_input import NarratorInput
from explainers.narrative.pretrained import output_head
from explainers.narrative.recipe import Leak, Losses, Reads
from explainers.narrative.token_reader import TokenMemory, TokenReader, WordReader, with_prefix


class Narrator(nn.Module):
    """`psi`: d → the language model's width; `aggregator`: its vocabulary → d; `c2`: the head's shape, new weights.

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
        width, embedding = linear_layers(head)[0].in_features, self.embedding_of(phi).embedding_dim
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
            self.aggregator = nn.Linear(self.embedding_of(phi).num_embeddings, width)
            self.c2 = copy.deepcopy(head).requires_grad_(True)
            for part in linear_layers(self.c2):
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
        if self.has_reader:
            self.aggregator.bias.zero_()
            for pieces, mean in zip(labels, means, strict=True):
                self.aggregator.weight[:, pieces[0]] = mean

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
        """Whether φ reads the tokens by attention of its own; otherwise they are a prefix."""
        return bool(getattr(self.phi.config, "add_cross_attention", False))

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
        given: dict[str, Any] = {"inputs_embeds": embeds, "past_key_values": past, "use_cache": cached}
        with torch.autocast(embeds.device.type, torch.bfloat16, enabled=self.half_precision and self.training):
            if memory is None:
                output = self.phi(**given)
                return output.logits.float(), output.past_key_values
            if self.has_cross_attention:
                given |= {"encoder_hidden_states": memory.states, "encoder_attention_mask": memory.real}
            else:
                given |= with_prefix(embeds, memory, past)
            output = self.phi.base_model(**given)
            hidden = output.last_hidden_state[:, -embeds.shape[1] :]
            logits = output_head(self.phi)(hidden)
        rows = self.token_reader.pointer(hidden.float(), logits.float(), memory.keys, memory.pieces)
        return rows, output.past_key_values

    def token_logits(self, inputs: NarratorInput, ids: Tensor, memory: TokenMemory | None = None) -> Tensor:
        """φ's logits (B, T, V) at each position of `ids` (B, T), given the input and the positions before."""
        words = self.embedding_of(self.phi)(ids[:, :-1])  # (B, T-1, e)
        embeds = torch.cat([self.first_embedding(inputs.states), words], dim=1)
        return self.next_tokens(embeds, memory or self.token_memory(inputs))[0]

    def class_token_logits(self, inputs: NarratorInput, memory: TokenMemory | None = None) -> Tensor:
        """φ's logits (B, V) after "The answer is", where the class comes."""
        opening = torch.tensor([*self.language.opening, self.language.end_id], device=inputs.states.device)
        ids = opening.expand(len(inputs), -1)
        return self.token_logits(inputs, ids, memory)[:, -1]  # the last id is predicted, not read

    def aggregate_token(self, logits: Tensor) -> Tensor:
        """A of one token's logits (B, V), to states (B, d)."""
        return cast(Tensor, self.aggregator(logits.softmax(-1)))

    def aggregate_sentence(self, logits: Tensor, real: Tensor) -> Tensor:
        """A of the mean probabilities over the real positions, from logits (B, T, V) to states (B, d)."""
        return self.aggregate_positions(logits.softmax(-1), real)

    def aggregate_positions(self, shares: Tensor, counted: Tensor) -> Tensor:
        """A of the mean of shares (B, T, V) over the counted positions (B, T)."""
        weights = counted[:, :, None].to(shares.dtype)
        return cast(Tensor, self.aggregator((shares * weights).sum(1) / weights.sum(1).clamp(min=1)))
