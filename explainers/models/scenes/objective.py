"""What `scenes` is taught. The label alone teaches slowly, so the layers from the second on are told what there is:

    L = CE(label | c) + ⅓ CE(count | c) + ⅙ CE(quantifier | c) + ⅙ CE(its number | c)
      + Σ BCE(what a patch holds | layer 2) + CE(how many things in it are of the named kinds | layer 4)
      + ½ CE(how many are in its box | layer 5) + ½ BCE(its box is as said | layer 5) + ½ BCE(it matters | layer 6)

All but the first are asked of heads that are thrown away, and only of generated scenes.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from explainers.models.scenes.hints import CROWD, HOLDS, MOST, QUANTIFIERS, UNKNOWN
from explainers.models.scenes.lessons import Batch
from explainers.models.scenes.network import SceneNetwork


def asked(scores: Tensor, answers: Tensor) -> Tensor:
    """Cross-entropy of the classes in the last dimension where the answer is known; 0 where none is."""
    known = answers != UNKNOWN
    return cross_entropy(scores[known].float(), answers[known]) if known.any() else scores.sum().float() * 0


def told(scores: Tensor, answers: Tensor) -> Tensor:
    """The same for answers of yes and no."""
    known = answers != UNKNOWN
    right = answers[known].float()
    return binary_cross_entropy_with_logits(scores[known].float(), right) if known.any() else scores.sum().float() * 0


class Pupil(nn.Module):
    """The network with heads that are thrown away after the training."""

    def __init__(self, network: SceneNetwork) -> None:
        super().__init__()
        width = network.base_model.config.hidden_size
        self.network = network
        self.holds, self.fits = nn.Linear(width, HOLDS), nn.Linear(width, 2 * (CROWD + 1))
        self.number, self.good, self.matters = nn.Linear(width, MOST), nn.Linear(width, 1), nn.Linear(width, 1)
        self.count, self.quantifier, self.n = (nn.Linear(width, size) for size in (MOST, len(QUANTIFIERS), MOST))

    def forward(self, batch: Batch, smoothing: float) -> Tensor:
        """(7,): the losses of label, what patches hold, what fits, boxes, what matters, the count, the quantifier."""
        network = self.network
        embeds = network.embeds(batch.ids, batch.patches.to(network.place.weight.dtype), batch.numbers)
        found = network.base_model(inputs_embeds=embeds, output_hidden_states=True, **batch.inputs)
        hidden = [state[:, 1 : batch.patches.shape[1] + 1] for state in found.hidden_states]
        present = batch.attention[:, :, None].to(embeds.dtype)
        c = (found.last_hidden_state * present).sum(1) / present.sum(1)
        fits = self.fits(hidden[4]).unflatten(-1, (2, CROWD + 1))
        boxes = asked(self.number(hidden[5]), batch.number) + told(self.good(hidden[5])[..., 0], batch.good)
        said = asked(self.quantifier(c), batch.quantifiers) + asked(self.n(c), batch.n)
        return torch.stack(
            [
                cross_entropy(network.head(c).float(), batch.labels, label_smoothing=smoothing),
                told(self.holds(hidden[2]), batch.holds) * HOLDS,
                asked(fits, batch.fits),
                boxes / 2,
                told(self.matters(hidden[6])[..., 0], batch.matters) / 2,
                asked(self.count(c), batch.counts) / 3,
                said / 6,
            ]
        )
