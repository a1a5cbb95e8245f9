"""Training items drawn so that the model is as certain on them as on inputs that are new to it.

Most of the pairs with human reasons are ones that the classifier itself was trained on, and there it is surer.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from explainers.errors import ExplanationError
from explainers.narrative.sentences import NarratorItem

BINS = 10  # of equal shares of the validation items


def certainties(items: Sequence[NarratorItem]) -> Tensor:
    """The model's probability (n,) of the class that it predicts."""
    return torch.stack([each.logits for each in items]).float().cpu().softmax(1).amax(1)


def certainty_weights(training: Sequence[NarratorItem], validation: Sequence[NarratorItem]) -> list[float]:
    """How often each training item is to be drawn: the share of the validation items in its bin of certainty, divided
    by the share of the training items there. Raises `ExplanationError` where none may be drawn."""
    seen, new = certainties(training), certainties(validation)
    edges = new.quantile(torch.linspace(0, 1, BINS + 1)[1:-1]).contiguous()
    of_seen, of_new = torch.bucketize(seen, edges), torch.bucketize(new, edges)
    counts = torch.bincount(of_seen, minlength=BINS).clamp(min=1) / len(seen)
    wanted = torch.bincount(of_new, minlength=BINS) / len(new)
    weights: list[float] = (wanted / counts)[of_seen].tolist()
    if not any(weights):
        raise ExplanationError(
            "The model is not as unsure of any training item as of the validation items. Omit --set match_certainty."
        )
    return weights
