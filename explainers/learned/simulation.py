"""Simulatability as a loss (Fernandes et al., 2022): explanations are good if a student learns from them.

Each step takes half of the batch for the student and the other half to judge the explanations:

    S' = S - ρ ∂/∂S [ CE(S(x), F's answer) - β Σ_i r_i log a_i ]      one step of SGD on the first half
    L_SIM = CE(S'(x), F's answer)                                     on the other half, where S' sees no explanation

a is the student's own attention: the mean over its heads, layers and asking tokens, among the tokens of words. The
gradient of L_SIM goes through the step into r; the student goes on as S'. It is a two-layer Transformer drawn from the
seed; it reads the frozen model's word embeddings, brought to one scale, through a linear layer of its own, and answers
from the mean of its last states. Where we differ from the paper: the student is smaller and not pretrained, and L_SIM
has no term for r, because r could lower it by being easy to copy.
"""

from dataclasses import dataclass, fields
from typing import cast

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from transformers.models.bert.configuration_bert import BertConfig
from transformers.models.bert.modeling_bert import BertModel

from explainers.models.classifier import FrozenModel
from explainers.models.inside import table, width
from explainers.models.padded import Padded

WIDTH, LAYERS, HEADS = 128, 2, 4


class Network(nn.Module):
    """The student's architecture; eager attention, because its derivative is derived again."""

    def __init__(self, model: FrozenModel) -> None:
        super().__init__()
        config = BertConfig(
            vocab_size=1,
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            intermediate_size=2 * WIDTH,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="eager",
        )
        self.encoder = BertModel(config, add_pooling_layer=False)
        scaled = nn.LayerNorm(width(model), elementwise_affine=False)  # or SGD hardly moves what is so small
        self.encoder.set_input_embeddings(nn.Sequential(table(model), scaled, nn.Linear(width(model), WIDTH)))
        self.head = nn.Linear(WIDTH, len(model.labels))

    def forward(self, inputs: Padded) -> tuple[Tensor, Tensor]:
        """Logits (B, C) and attention to the tokens of words (B, L)."""
        table, scale, narrow = cast(nn.Sequential, self.encoder.get_input_embeddings())
        words = table(inputs.ids)
        found = self.encoder(
            inputs_embeds=narrow(scale(inputs.looking(words, words)[0])),
            attention_mask=inputs.attention.long(),
            token_type_ids=inputs.segments,
            output_attentions=True,
        )
        asking = inputs.attention[:, :, None]  # (B, L, 1)
        mean = (found.last_hidden_state * asking).sum(1) / inputs.lengths[:, None]
        attended = (torch.stack(found.attentions).mean((0, 2)) * asking).sum(1) * inputs.owned  # (B, L)
        return self.head(mean), attended / attended.sum(1, keepdim=True)


@dataclass
class Student:
    """A network and the weights it has reached; no module, so that what learns to explain does not contain it."""

    network: Network
    weights: dict[str, Tensor]
    rate: float

    @classmethod
    def drawn(cls, model: FrozenModel, seed: int, rate: float) -> "Student":
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network = Network(model).to(model.device)
        own = {name: weight.detach() for name, weight in network.named_parameters() if weight.requires_grad}
        return cls(network.requires_grad_(False), own, rate)

    def lesson(self, inputs: Padded, predicted: Tensor, r: Tensor, beta: float) -> Tensor:
        """L_SIM; the student has learned from the even rows and is asked about the odd ones. r is (B, L)."""
        weights = {name: weight.requires_grad_() for name, weight in self.weights.items()}
        logits, attended = self._answer(weights, rows(inputs, 0))
        looking = -(r[::2] * (attended + 1e-12).log()).sum(1).mean()
        loss = functional.cross_entropy(logits, predicted[::2]) + beta * looking
        gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        after = {
            name: weight - self.rate * each for (name, weight), each in zip(weights.items(), gradients, strict=True)
        }
        self.weights = {name: weight.detach() for name, weight in after.items()}
        return functional.cross_entropy(self._answer(after, rows(inputs, 1))[0], predicted[1::2])

    def _answer(self, weights: dict[str, Tensor], inputs: Padded) -> tuple[Tensor, Tensor]:
        return cast(tuple[Tensor, Tensor], functional_call(self.network, weights, (inputs,)))


class Taught(nn.Module):
    """What learns from a student carries it along, outside of its own parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.student: Student | None = None  # made at the first step of SIM, so that a fitted module has none
        self.waiting: dict[str, Tensor] = {}  # a student's weights of an earlier run

    def kept(self) -> dict[str, Tensor]:
        return self.student.weights if self.student else self.waiting

    def restore(self, kept: dict[str, Tensor]) -> None:
        self.waiting = kept

    def taught(self, model: FrozenModel, seed: int, rate: float) -> Student:
        if self.student is None:
            self.student = Student.drawn(model, seed, rate)
            self.student.weights = self.waiting or self.student.weights
        return self.student


def rows(inputs: Padded, first: int) -> Padded:
    """Every second row."""
    return Padded(*(getattr(inputs, field.name)[first::2] for field in fields(inputs)))
