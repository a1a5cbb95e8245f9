"""Training of a narrator: all its parts learn together."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.narrative.cause import Classifier, NarratorBatch, terms
from explainers.narrative.certainty import certainty_weights
from explainers.narrative.generation import generate
from explainers.narrative.narrator import Narrator
from explainers.narrative.recipe import NarratorRecipe
from explainers.narrative.reconstruction import readings
from explainers.narrative.sentences import NarratorItem, reason_of, stack_inputs, stated_class
from explainers.narrative.token_exchange import Continued
from explainers.narrative.warm_up import batches, new_optimiser
from explainers.training.loop import TrainingLoop

VALIDATED = 200  # items whose sentences are generated after an epoch
LOG_EVERY = 10  # steps


Judge = Callable[[Sequence[str]], Mapping[str, float]]  # of the sentences for the validation items
BY_RULES, BY_SIMILARITY = "right", "BLEU-4"  # what a judge may find


@dataclass(frozen=True)
class Parts:
    """What is learned from, what is validated on, and the rest of the frozen model behind the layer that φ sees."""

    training: Sequence[NarratorItem]
    validation: Sequence[NarratorItem]
    judge: Judge = lambda _texts: {}
    continued: Continued | None = None


class NarratorTraining:
    """One training of a narrator; every epoch takes one of the sentences of each item."""

    def __init__(
        self,
        recipe: NarratorRecipe,
        narrator: Narrator,
        head: nn.Sequential,
        labels: Sequence[str],
        parts: Parts,
        folder: Path,
    ) -> None:
        self.recipe, self.narrator, self.labels = recipe, narrator, tuple(labels)
        self.items, self.validation, self.judge = parts.training, parts.validation[:VALIDATED], parts.judge
        self.weights = certainty_weights(parts.training, parts.validation) if recipe.match_certainty else None
        first = [narrator.language.pieces_within(label)[0] for label in labels]
        names = torch.tensor(first, device=next(narrator.parameters()).device)
        self.classifier = Classifier(head, names, parts.continued)
        steps = recipe.steps(len(self.items))
        optimiser, schedule = new_optimiser(narrator, recipe.learning_rate, steps)
        narrator.half_precision, narrator.points_once = recipe.half_precision, recipe.point_once
        weights = [weight for weight in narrator.parameters() if weight.requires_grad]
        self.loop = TrainingLoop(folder, weights, optimiser, schedule, seed=recipe.seed, steps=steps)
        self.metrics: dict[str, float] = {}
        self.best: dict[str, Any] = {}  # metrics and weights of the best epoch

    def losses(self, order: random.Random) -> Iterator[Mapping[str, Tensor]]:
        items = order.choices(self.items, self.weights, k=len(self.items)) if self.weights else self.items
        rows = [self.ids(order.choice(item.sentences)) for item in items]
        for indices in batches([len(row) for row in rows], self.recipe.batch, order):
            yield self.terms([items[index] for index in indices], [rows[index] for index in indices])

    def ids(self, sentence: str) -> list[int]:
        """What is learned of a sentence: all of it, or without `ends` up to the class where it gives no reason. φ can
        tell from unsure states that a reason may be missing, and states are less sure on inputs that are new."""
        language = self.narrator.language
        ids = language.ids(sentence)
        stated = stated_class(sentence, self.labels)
        if self.recipe.ends or reason_of(sentence) or stated is None:
            return ids
        return ids[: len(language.opening) + len(language.pieces_within(self.labels[stated]))]

    def terms(self, items: Sequence[NarratorItem], sentences: list[list[int]]) -> Mapping[str, Tensor]:
        """The loss of one batch by its terms; `sentences` are ids."""
        batch = NarratorBatch(stack_inputs(items), torch.stack([each.logits for each in items]), sentences)
        alone = self.loop.epoch < self.recipe.phi_epochs
        return terms(self.recipe, self.narrator, self.classifier, batch, self.loop.generator, phi_alone=alone)

    def validate(self) -> dict[str, object]:
        """From free generation: how often a class is stated, how often the model's; how often C2 reads it; and what
        the judge finds."""
        items, inputs = self.validation, stack_inputs(self.validation)
        self.narrator.eval()
        sentences = [row for part in inputs.split() for row in generate(self.narrator, part)]
        texts = [self.narrator.language.text(row) for row in sentences]
        stated = [stated_class(text, self.labels) for text in texts]
        self.metrics = {
            "states a class": sum(each is not None for each in stated) / len(items),
            "states the model's": agreement(stated, items),
        }
        if self.narrator.has_reader:
            read = readings(self.narrator, inputs, sentences).argmax(1).tolist()
            self.metrics["C2 reads the model's"] = agreement(read, items)
        self.metrics |= self.judge(texts)
        counts = self.recipe.keep == "best" and self.loop.epoch > self.recipe.phi_epochs  # all losses were there
        if counts and self.score(self.metrics) >= self.score(self.best.get("figures", {})):
            weights = {name: tensor.clone() for name, tensor in self.narrator.kept().items()}
            self.best = {"figures": {**self.metrics, "epoch": self.loop.epoch}, "narrator": weights}
        self.narrator.train()
        return {"validation": self.metrics}

    @staticmethod
    def score(figures: Mapping[str, float]) -> float:
        """By which the epoch is chosen: what the judge finds, weighed by the share that states the model's class."""
        judged = [figures[name] for name in (BY_RULES, BY_SIMILARITY) if name in figures]
        return figures.get("states the model's", -1.0) * (judged[0] if judged else 1.0)

    def keep_best(self) -> None:
        """The weights and metrics of the best epoch take the place of the last one's, if one was kept."""
        if not self.best:
            return
        self.narrator.load_state_dict(self.best["narrator"], strict=False)
        self.metrics = self.best["figures"]

    def state(self) -> dict[str, Any]:
        return {"narrator": self.narrator.kept(), "figures": self.metrics, "best": self.best}

    def restore(self, state: Mapping[str, Any]) -> None:
        if state["narrator"].keys() != self.narrator.kept_names:
            raise ExplanationError("The checkpoint is of a narrator with other settings. Start without --resume.")
        self.narrator.load_state_dict(state["narrator"], strict=False)
        self.metrics, self.best = state["figures"], state.get("best", {})  # an earlier checkpoint has none


def agreement(classes: Sequence[int | None], items: Sequence[NarratorItem]) -> float:
    """The share of items whose class is the model's."""
    return sum(each == item.label for each, item in zip(classes, items, strict=True)) / len(items)


def train(
    recipe: NarratorRecipe,
    narrator: Narrator,
    head: nn.Sequential,
    labels: Sequence[str],
    parts: Parts,
    folder: Path,
    *,
    resume: bool = False,
) -> NarratorTraining:
    """The finished training, with the weights of the epoch that did best on the validation part."""
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed + 1)  # for dropout; other random numbers come from the loop's generator and order
        training = NarratorTraining(recipe, narrator, head, labels, parts, folder)
        narrator.train()
        header = {"items": len(parts.training), "steps": training.loop.steps, "recipe": asdict(recipe)}
        training.loop.run(training, recipe.epochs, header=header, resume=resume, log_every=LOG_EVERY)
    training.keep_best()
    narrator.requires_grad_(False).eval()
    return training
