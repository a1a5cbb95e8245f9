"""Simulatability as a loss (Fernandes et al., 2022): explanations are good if a student learns from them.

Each step takes half of the batch for the student and the other half to judge the explanations:

    S' = S - ρ ∂/∂S [ CE(S(x), F's prediction) - β Σ_i r_i log a_i ]      one step of SGD on the first half
    L_SIM = CE(S'(x), F's prediction)                                     on the other half, without explanation

a is the student's attention: the mean over its heads, layers and attending tokens, among the tokens of words. The
gradient of L_SIM goes through the step into r; the student continues as S'. It is a two-layer Transformer on the frozen
model's normalised word embeddings. Deviations: a smaller student, not pretrained; L_SIM has no term for r, which could
lower it by being easy to copy.
"""

from dataclasses import dataclass, fields
from typing import cast

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from transformers.models.bert.configuration_bert import BertConfig
from transformers.models.bert.modeling_bert import BertModel

from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import PaddedBatch
from explainers.models.internals import hidden_size, word_embedding_table

WIDTH, LAYERS, HEADS = 128, 2, 4


class StudentNetwork(nn.Module):
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
        scaled = nn.LayerNorm(hidden_size(model), elementwise_affine=False)  # or SGD hardly moves what is so small
        self.encoder.set_input_embeddings(
            nn.Sequential(word_embedding_table(model), scaled, nn.Linear(hidden_size(model), WIDTH))
        )
        self.head = nn.Linear(WIDTH, len(model.labels))

    def forward(self, inputs: PaddedBatch) -> tuple[Tensor, Tensor]:
        """Logits (B, C) and attention to the tokens of words (B, L)."""
        table, scale, narrow = cast(nn.Sequential, self.encoder.get_input_embeddings())
        words = table(inputs.ids)
        output = self.encoder(
            inputs_embeds=narrow(scale(inputs.with_patches(words, words)[0])),
            attention_mask=inputs.attention.long(),
            token_type_ids=inputs.segments,
            output_attentions=True,
        )
        attending = inputs.attention[:, :, None]  # (B, L, 1)
        mean = (output.last_hidden_state * attending).sum(1) / inputs.lengths[:, None]
        attended = (torch.stack(output.attentions).mean((0, 2)) * attending).sum(1) * inputs.owned  # (B, L)
        return self.head(mean), attended / attended.sum(1, keepdim=True)


@dataclass
class Student:
    """A network and its current weights; not a module, so that its parameters are not those of the explainer."""

    network: StudentNetwork
    weights: dict[str, Tensor]
    rate: float

    @classmethod
    def initialise(cls, model: FrozenModel, seed: int, rate: float) -> "Student":
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network = StudentNetwork(model).to(model.device)
        weights = {name: weight.detach() for name, weight in network.named_parameters() if weight.requires_grad}
        return cls(network.requires_grad_(False), weights, rate)

    def sim_loss(self, inputs: PaddedBatch, predicted: Tensor, r: Tensor, beta: float) -> Tensor:
        """L_SIM of the odd rows after one step on the even ones. `r` is (B, L)."""
        weights = {name: weight.requires_grad_() for name, weight in self.weights.items()}
        logits, attended = self._answer(weights, rows(inputs, 0))
        attention_loss = -(r[::2] * (attended + 1e-12).log()).sum(1).mean()
        loss = functional.cross_entropy(logits, predicted[::2]) + beta * attention_loss
        gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        updated = {
            name: weight - self.rate * each for (name, weight), each in zip(weights.items(), gradients, strict=True)
        }
        self.weights = {name: weight.detach() for name, weight in updated.items()}
        return functional.cross_entropy(self._answer(updated, rows(inputs, 1))[0], predicted[1::2])

    def _answer(self, weights: dict[str, Tensor], inputs: PaddedBatch) -> tuple[Tensor, Tensor]:
        return cast(tuple[Tensor, Tensor], functional_call(self.network, weights, (inputs,)))


class WithStudent(nn.Module):
    """A module with a student, whose weights are not among its parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.student: Student | None = None  # created at the first step of SIM; a fitted module has none
        self.waiting: dict[str, Tensor] = {}  # a student's weights from a checkpoint

    def kept(self) -> dict[str, Tensor]:
        return self.student.weights if self.student else self.waiting

    def restore(self, kept: dict[str, Tensor]) -> None:
        self.waiting = kept

    def student_of(self, model: FrozenModel, seed: int, rate: float) -> Student:
        if self.student is None:
            self.student = Student.initialise(model, seed, rate)
            self.student.weights = self.waiting or self.student.weights
        return self.student


def rows(inputs: PaddedBatch, first: int) -> PaddedBatch:
    """Every second row."""
    return PaddedBatch(*(getattr(inputs, field.name)[first::2] for field in fields(inputs)))
