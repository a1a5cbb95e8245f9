"""The losses of CAuSE: a sentence from the classifier's own state (Bandyopadhyay et al., TACL 2026).

ψ puts the state c that the frozen head C1 reads in place of the language model's first token; φ continues from there.
An aggregator A turns φ's outputs back into a state, which C2, of C1's shape, classifies: F = A∘φ∘ψ.

    L = L_φ + L_TS + L_IIT + R_match,   L_φ = -Σ log p_φ(word | words before, ψ(c))               (Eq. 6, 2)
    L_TS    = KL(C1(c) ‖ C2(F(c)))                                                                (Eq. 3)
    L_IIT   = KL(C1(c_base with neurons of c_source) ‖ C2(F(c_base) with the same of F(c_source)))  (Eq. 5)
    R_match = Σ ‖W_C1 - W_C2‖²_F / 3, biases too (Eq. 4, squared as in the authors' code)

Training items drawn so that the model is as certain on them as on inputs that are new to it.

Most of the pairs with human reasons are ones that the classifier itself was trained on, and there it is surer.

Training of a narrator: all its parts learn together.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.models.optimisation import computes_in_bfloat16, frozen_in_half_precision
from explainers.narrative import interchange, narrator_input, reconstruction, token_states
from explainers.narrative.content_words import reason_of
from explainers.narrative.generation import generate
from explainers.narrative.language import pad_rows
from explainers.narrative.narrator import Narrator
from explainers.narrative.recipe import NarratorRecipe
from explainers.narrative.sentences import NarratorItem, stack_inputs, stated_class
from explainers.training.loop import TrainingLoop


@dataclass(frozen=True)
class Classifier:
    """What the losses need of the frozen model."""

    head: nn.Sequential  # C1
    names: Tensor  # (C,): the first piece of each class name
    continued: token_states.Continued | None = None  # the layers after the one that φ sees


@dataclass(frozen=True)
class NarratorBatch:
    inputs: narrator_input.NarratorInput
    logits: Tensor  # (B, C): of the frozen head
    sentences: list[list[int]]  # ids


def terms(
    recipe: NarratorRecipe,
    narrator: Narrator,
    classifier: Classifier,
    batch: NarratorBatch,
    generator: torch.Generator,
    *,
    phi_alone: bool = False,
) -> dict[str, Tensor]:
    """The terms of the loss, or with `phi_alone` only L_φ. `total` is minimised."""
    ids, real = pad_rows(batch.sentences, narrator.language.pad_id, batch.logits.device)
    memory, class_logits = narrator.token_memory(batch.inputs), None
    if narrator.has_reader and recipe.leak == "leaky" and not phi_alone:
        logits = narrator.token_logits(batch.inputs, ids, memory)  # both terms are of one pass, with one dropout
        losses = {"phi": F.cross_entropy(logits[real], ids[real])}
        states = narrator.aggregate_sentence(logits, real)
        losses["ts"] = state_loss(batch.logits, narrator.c2(states), soft=recipe.soft)
    else:
        losses = {}
        losses["phi"], class_logits = narrator.sentence_loss(batch.inputs, ids, real, memory)
    if phi_alone:
        return {**losses, "total": losses["phi"]}
    if narrator.has_reader and recipe.leak != "leaky":
        if class_logits is None:
            class_logits = narrator.class_token_logits(batch.inputs, memory)
        states = reconstruction.reconstruct(narrator, batch.inputs, class_logits)
        losses["ts"] = state_loss(batch.logits, narrator.c2(states), soft=recipe.soft)
        if recipe.words:
            losses["ts"] = losses["ts"] + class_name_loss(batch.logits, class_logits, classifier.names)
    if recipe.losses == "cause":
        losses["iit"] = interchange_loss(recipe, narrator, classifier.head, batch, states, generator)
        if recipe.exchanges_in_state:
            losses["iit"] = losses["iit"] + input_interchange_loss(recipe, narrator, classifier, batch, generator)
        losses["match"] = match_loss(classifier.head, narrator.c2)
    return {**losses, "total": torch.stack(list(losses.values())).sum()}


def state_loss(model_logits: Tensor, reader_logits: Tensor, *, soft: bool) -> Tensor:
    """L_TS of logits (B, C): KL to the model's probabilities, or cross-entropy with the model's class."""
    return divergence(model_logits, reader_logits) if soft else F.cross_entropy(reader_logits, model_logits.argmax(1))


def class_name_loss(model_logits: Tensor, class_logits: Tensor, names: Tensor) -> Tensor:
    """Cross-entropy of φ's next token, logits (B, V), with the name of the model's class, from logits (B, C)."""
    return F.cross_entropy(class_logits, names[model_logits.argmax(1)])


def divergence(first: Tensor, second: Tensor) -> Tensor:
    """KL(softmax(first) ‖ softmax(second)), mean over rows; both (B, C) logits."""
    return F.kl_div(second.log_softmax(-1), first.log_softmax(-1), log_target=True, reduction="batchmean")


def interchange_loss(
    recipe: NarratorRecipe,
    narrator: Narrator,
    head: nn.Sequential,
    batch: NarratorBatch,
    states: Tensor,
    generator: torch.Generator,
) -> Tensor:
    """L_IIT for one draw of neurons of one hidden layer, exchanged inside C1 and C2 alike.

    The source of every item is its neighbour in the batch.
    """
    width, base = interchange.layer_sizes(head), batch.inputs.states
    layer = int(torch.randint(1, len(width), (1,), generator=generator))
    neurons = interchange.draw_neurons(width[layer], recipe.share, generator)
    with torch.no_grad():
        target = interchange.run_with_exchange(head, base, base.roll(-1, 0), layer, neurons)
    return divergence(target, interchange.run_with_exchange(narrator.c2, states, states.roll(-1, 0), layer, neurons))


def input_interchange_loss(
    recipe: NarratorRecipe,
    narrator: Narrator,
    classifier: Classifier,
    batch: NarratorBatch,
    generator: torch.Generator,
) -> Tensor:
    """L_IIT for an exchange that φ reads, of 20 % to all neurons, so that it often changes the model's class.

    Neurons of the head's first hidden layer, exchanged in the state c itself. For a narrator that reads tokens in every
    second step those of the layer that φ reads, exchanged in the means over its tokens.
    """
    share = recipe.share + (1 - recipe.share) * float(torch.rand(1, generator=generator))
    exchange: Callable[[], narrator_input.NarratorInput] = partial(
        _exchange_in_state, classifier.head, batch.inputs, share, generator
    )
    if classifier.continued is not None and float(torch.rand(1, generator=generator)) < 0.5:
        exchange = partial(token_states.exchange_in_layer, batch.inputs, share, generator, classifier.continued)
    with torch.no_grad():
        mixed = exchange()
        target = interchange.activations(classifier.head, mixed.states)[-1]
    class_logits = narrator.class_token_logits(mixed)
    loss = divergence(target, narrator.c2(reconstruction.reconstruct(narrator, mixed, class_logits)))
    return loss + class_name_loss(target, class_logits, classifier.names) if recipe.words else loss


def _exchange_in_state(
    head: nn.Sequential, inputs: narrator_input.NarratorInput, share: float, generator: torch.Generator
) -> narrator_input.NarratorInput:
    neurons = interchange.draw_neurons(interchange.layer_sizes(head)[1], share, generator)
    return inputs.with_states(interchange.realise_in_state(head, inputs.states, inputs.states.roll(-1, 0), neurons))


def match_loss(head: nn.Sequential, c2: nn.Sequential) -> Tensor:
    """R_match: squared distances of weights and biases, each divided by the number of layers."""
    pairs = list(zip(interchange.linear_layers(head), interchange.linear_layers(c2), strict=True))
    apart = [((one.weight - other.weight) ** 2).sum() + ((one.bias - other.bias) ** 2).sum() for one, other in pairs]
    return torch.stack(apart).sum() / len(pairs)


BINS = 10  # of equal shares of the validation items


def certainties(items: Sequence[NarratorItem]) -> Tensor:
    """The model's probability (n,) of the class that it predicts."""
    return torch.stack([item.logits for item in items]).float().cpu().softmax(1).amax(1)


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


VALIDATED = 200  # items whose sentences are generated after an epoch
LOG_EVERY = 10  # steps


Judge = Callable[[Sequence[str]], Mapping[str, float]]  # of the sentences for the validation items
BY_RULES, BY_SIMILARITY = "right", "BLEU-4 of the reason"  # what a judge may find


@dataclass(frozen=True)
class Parts:
    """What is learned from, what is validated on, and the rest of the frozen model behind the layer that φ sees."""

    training: Sequence[NarratorItem]
    validation: Sequence[NarratorItem]
    judge: Judge = lambda _texts: {}
    continued: token_states.Continued | None = None


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
        optimiser, schedule = reconstruction.new_optimiser(narrator, recipe.learning_rate, steps)
        self.half_precision = recipe.half_precision and computes_in_bfloat16(names.device)
        narrator.half_precision, narrator.points_once = self.half_precision, recipe.point_once
        weights = [weight for weight in narrator.parameters() if weight.requires_grad]
        self.loop = TrainingLoop(folder, weights, optimiser, schedule, seed=recipe.seed, steps=steps)
        self.metrics: dict[str, float] = {}
        self.best: dict[str, Any] = {}  # metrics and weights of the best epoch

    def losses(self, order: random.Random) -> Iterator[Mapping[str, Tensor]]:
        items = order.choices(self.items, self.weights, k=len(self.items)) if self.weights else self.items
        rows = [self.ids(order.choice(item.sentences)) for item in items]
        tokens = [item.tokens for item in items if item.tokens is not None]
        prefixes = [len(one.units[0]) for one in tokens] if self.narrator.reads_states_as_prefix else ()
        for indices in reconstruction.batches([len(row) for row in rows], self.recipe.batch, order, prefixes):
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
        batch = NarratorBatch(stack_inputs(items), torch.stack([item.logits for item in items]), sentences)
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
            "states a class": sum(label is not None for label in stated) / len(items),
            "states the model's": agreement(stated, items),
        }
        if self.narrator.has_reader:
            read = reconstruction.readings(self.narrator, inputs, sentences).argmax(1).tolist()
            self.metrics["C2 reads the model's"] = agreement(read, items)
        self.metrics |= self.judge(texts)
        counts = self.recipe.keep == "best" and self.loop.epoch > self.recipe.phi_epochs  # all losses were there
        if counts and self.score(self.metrics) >= self.score(self.best.get("metrics", {})):
            weights = {name: tensor.clone() for name, tensor in self.narrator.kept().items()}
            self.best = {"metrics": {**self.metrics, "epoch": self.loop.epoch}, "narrator": weights}
        self.narrator.train()
        return {"validation": self.metrics}

    @staticmethod
    def score(metrics: Mapping[str, float]) -> float:
        """What chooses the epoch: what the judge finds, weighed by the share that states the model's class."""
        judged = [metrics[name] for name in (BY_RULES, BY_SIMILARITY) if name in metrics]
        return metrics.get("states the model's", -1.0) * (judged[0] if judged else 1.0)

    def keep_best(self) -> None:
        """The weights and metrics of the best epoch take the place of the last one's, if one was kept."""
        if not self.best:
            return
        self.narrator.load_state_dict(self.best["narrator"], strict=False)
        self.metrics = self.best["metrics"]

    def state(self) -> dict[str, Any]:
        return {"narrator": self.narrator.kept(), "metrics": self.metrics, "best": self.best}

    def restore(self, state: Mapping[str, Any]) -> None:
        if state["narrator"].keys() != self.narrator.kept_names:
            raise ExplanationError("The checkpoint is of a narrator with other settings. Start without --resume.")
        self.narrator.load_state_dict(state["narrator"], strict=False)
        self.metrics, self.best = state["metrics"], state.get("best", {})  # an earlier checkpoint has none


def agreement(classes: Sequence[int | None], items: Sequence[NarratorItem]) -> float:
    """The share of items whose class is the model's."""
    return sum(class_name == item.label for class_name, item in zip(classes, items, strict=True)) / len(items)


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
        with frozen_in_half_precision(narrator.phi) if training.half_precision else nullcontext():
            training.loop.run(training, recipe.epochs, header=header, resume=resume, log_every=LOG_EVERY)
        narrator.half_precision = False
    training.keep_best()
    narrator.requires_grad_(False).eval()
    return training
