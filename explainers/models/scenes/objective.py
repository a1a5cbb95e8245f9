"""The training objective of `scenes`. The label alone trains slowly, so layers from the second on get auxiliary losses:

    L = CE(label | c) + ⅓ CE(count | c) + ⅙ CE(quantifier | c) + ⅙ CE(its number | c)
      + Σ BCE(what a patch holds | layer 2) + CE(how many things in it are of the named kinds | layer 4)
      + ½ CE(how many are in its box | layer 5) + ½ BCE(its box is as stated | layer 5) + ½ BCE(it matters | layer 6)

All but the first use heads that are discarded after the training, and only generated scenes.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from explainers.models.scenes.auxiliary_targets import CROWD, HOLDS, MOST, QUANTIFIERS, UNKNOWN
from explainers.models.scenes.curriculum import SceneBatch
from explainers.models.scenes.network import SceneNetwork


def class_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy over the last dimension where the target is known; 0 if none is."""
    valid = targets != UNKNOWN
    return cross_entropy(scores[valid].float(), targets[valid]) if valid.any() else scores.sum().float() * 0


def binary_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """The same for binary targets."""
    valid = targets != UNKNOWN
    positive = targets[valid].float()
    return (
        binary_cross_entropy_with_logits(scores[valid].float(), positive) if valid.any() else scores.sum().float() * 0
    )


class MultiTaskNetwork(nn.Module):
    """The network with the auxiliary heads, which are discarded after the training."""

    def __init__(self, network: SceneNetwork) -> None:
        super().__init__()
        width = network.base_model.config.hidden_size
        self.network = network
        self.holds, self.fits = nn.Linear(width, HOLDS), nn.Linear(width, 2 * (CROWD + 1))
        self.number, self.good, self.matters = nn.Linear(width, MOST), nn.Linear(width, 1), nn.Linear(width, 1)
        self.count, self.quantifier, self.n = (nn.Linear(width, size) for size in (MOST, len(QUANTIFIERS), MOST))

    def forward(self, batch: SceneBatch, smoothing: float) -> Tensor:
        """(7,): the losses of label, what patches hold, what fits, boxes, what matters, the count, the quantifier."""
        network = self.network
        embeds = network.embeds(batch.ids, batch.patches.to(network.place.weight.dtype), batch.numbers)
        output = network.base_model(inputs_embeds=embeds, output_hidden_states=True, **batch.inputs)
        hidden = [state[:, 1 : batch.patches.shape[1] + 1] for state in output.hidden_states]
        present = batch.attention[:, :, None].to(embeds.dtype)
        c = (output.last_hidden_state * present).sum(1) / present.sum(1)
        fits = self.fits(hidden[4]).unflatten(-1, (2, CROWD + 1))
        boxes = class_loss(self.number(hidden[5]), batch.number) + binary_loss(self.good(hidden[5])[..., 0], batch.good)
        quantifier = class_loss(self.quantifier(c), batch.quantifiers) + class_loss(self.n(c), batch.n)
        return torch.stack(
            [
                cross_entropy(network.head(c).float(), batch.labels, label_smoothing=smoothing),
                binary_loss(self.holds(hidden[2]), batch.holds) * HOLDS,
                class_loss(fits, batch.fits),
                boxes / 2,
                binary_loss(self.matters(hidden[6])[..., 0], batch.matters) / 2,
                class_loss(self.count(c), batch.counts) / 3,
                quantifier / 6,
            ]
        )
