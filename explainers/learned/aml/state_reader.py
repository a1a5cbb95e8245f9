"""AML's attribution model G for a frozen model F whose input cannot take a token more, as of images with texts.

A Transformer of two layers reads, for every position, F's embedding and its last state, and behind them one token that
carries F's prediction. F itself gets no adapters: its image and its text may go through encoders that never see the
prediction.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from explainers.learned.batches import Batch
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import hidden_size

WIDTH, HEADS, LAYERS = 128, 4, 2


class StateReader(nn.Module):
    """G on the states of F."""

    def __init__(self, model: FrozenModel) -> None:
        super().__init__()
        d = hidden_size(model)
        self.embedding_norm, self.state_norm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.read = nn.Linear(2 * d, WIDTH)
        self.prediction = nn.Parameter(torch.randn(len(model.labels) + 1, WIDTH) * 0.02)  # z_1 … z_C, and last z_0
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, 0.1, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.share = nn.Linear(WIDTH, 1)

    def forward(self, model: FrozenModel, batch: Batch) -> Tensor:
        """Logits of the shares, (B, L)."""
        hidden, inputs = batch.internals_of(model).hidden, batch.inputs
        read = torch.cat([self.embedding_norm(hidden[0]), self.state_norm(hidden[-1])], dim=-1)
        z = batch.probabilities @ self.prediction[:-1] + self.prediction[-1]  # (B, WIDTH)
        tokens = torch.cat([self.read(read), z[:, None]], dim=1)  # (B, L+1, WIDTH)
        padding = functional.pad(~(inputs.attention & inputs.nonzero), (0, 1))
        states = self.layers(tokens, src_key_padding_mask=padding)[:, :-1]
        return cast(Tensor, self.share(states).squeeze(-1))

    def is_fine_tuned(self, name: str) -> bool:
        """Whether fine-tuning on one text trains it: all but the prediction token."""
        return name != "prediction"
