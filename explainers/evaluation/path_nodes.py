"""Where integrated gradients evaluates its path: how large the completeness gap is by rule and number of steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from captum import attr

from explainers.attribution.integrated_gradients import IntegratedGradients
from explainers.comparison.question import ask
from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel

Rule = Literal["gausslegendre", "riemann_middle", "riemann_trapezoid"]
RULES: tuple[Rule, ...] = get_args(Rule)
TEXTS = 8  # at most
STEPS = (10, 20, 30, IntegratedGradients.steps)


@dataclass(frozen=True)
class PathGap:
    """`gap` is |Σ scores - (f(x) - f(baseline))|."""

    rule: Rule
    steps: int
    gap: float


def path_gaps(model: FrozenModel, texts: Sequence[Example]) -> Iterator[PathGap]:
    """Of the first texts, every rule and number of steps, for the probability of the predicted class."""
    for text in texts[:TEXTS]:
        question, _ = ask(model, text)
        encoding, label = question.encoding, question.label

        def probability(masks: torch.Tensor) -> torch.Tensor:
            return model.soft_probabilities(encoding, masks)[:, label]  # noqa: B023  used before the next text

        present = torch.ones(1, len(encoding.units))
        with torch.no_grad():
            difference = float(probability(present) - probability(torch.zeros_like(present)))
        for rule in RULES:
            for steps in STEPS:
                scores = attr.IntegratedGradients(probability).attribute(
                    present, torch.zeros_like(present), n_steps=steps, method=rule, internal_batch_size=steps
                )
                yield PathGap(rule, steps, abs(float(scores.sum()) - difference))
