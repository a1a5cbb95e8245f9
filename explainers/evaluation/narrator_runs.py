"""Narrators on unseen inputs over several seeds: what to read, what to compare with, and what comes out.

What is checked about generated sentences on each input: truth, topic, and whether the model uses their words.
"""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from explainers.datasets.example import Example
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.evaluation import narrator_metrics, narrator_weights, narrators
from explainers.evaluation.tournament import check_competitors, run_tournament
from explainers.methods.narrator_specs import narrator_spec
from explainers.metrics.erasure import MaskedPredictor
from explainers.models import internals, tasks
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.narrative import checks, reason_sources, sentences, text_metrics
from explainers.narrative.content_words import content, reason_of
from explainers.narrative.narrate import mentions, read_narrator
from explainers.narrative.narrator import Narrator
from explainers.training.artifacts import Artifact, available_artifacts, runnable_narrators

Runs = dict[str, list[narrators.NarratorRun]]
DRAWS = 10  # sets of random words per sentence
ERASURE: Erasure = "mask"


def checked_runs(model: FrozenModel, inputs: Sequence[Example], predicted: Sequence[int], runs: Runs) -> Runs:
    """The runs with all that can be checked about their sentences."""
    return with_word_effects(model, inputs, predicted, with_truths(runs, inputs, predicted, model.name))


def can_judge(model: str) -> bool:
    """Return whether rules can tell if a reason is true."""
    task = tasks.TASKS.get(model)
    return task is not None and task.check_reason is not None


def with_truths(runs: Runs, inputs: Sequence[Example], predicted: Sequence[int], model: str) -> Runs:
    """The runs with the truth of every reason, about its own input and about the next one, and whether it is on topic.

    Unchanged where no rules can tell it. The topic is that of the given reasons, if they are about the model's class.
    """
    if not can_judge(model):
        return runs
    elsewhere = [*inputs[1:], inputs[0]]
    given = [
        example.explanations if example.label == label else () for example, label in zip(inputs, predicted, strict=True)
    ]

    def checked(run: narrators.NarratorRun) -> narrators.NarratorRun:
        reasons = [reason_of(sentence) for sentence in run.sentences]
        return replace(
            run,
            truths=tuple(tasks.reason_truth(model, *judged).true for judged in zip(reasons, inputs, strict=True)),
            truths_of_other=tuple(
                tasks.reason_truth(model, *judged).true for judged in zip(reasons, elsewhere, strict=True)
            ),
            topics=tuple(tasks.reason_on_topic(model, *judged) for judged in zip(reasons, given, strict=True)),
        )

    return {method: [checked(run) for run in mine] for method, mine in runs.items()}


def with_word_effects(model: FrozenModel, inputs: Sequence[Example], predicted: Sequence[int], runs: Runs) -> Runs:
    """The runs with the effects of the words that every sentence names on the class that it states."""
    everything = [run for mine in runs.values() for run in mine]
    effects: list[list[narrators.WordEffect]] = [[] for _ in everything]
    for number, example in enumerate(inputs):  # one at a time: encoded images are large
        encoding = model.encode(Example(example.text, example.pair, image=example.image))
        answers = MaskedPredictor(model, encoding, ERASURE)
        for run, mine in zip(everything, effects, strict=True):
            mine.append(word_effect(answers, run.sentences[number], predicted[number], seed=number))
    ready = iter(effects)
    return {method: [replace(run, word_effects=tuple(next(ready))) for run in mine] for method, mine in runs.items()}


def word_effect(answers: MaskedPredictor, text: str, predicted: int, *, seed: int) -> narrators.WordEffect:
    """The effect of the named words on the stated class, or the predicted one where the sentence states none."""
    model, encoding = answers.model, answers.encoding
    stated = sentences.stated_class(text, model.labels)
    label = predicted if stated is None else stated
    named = mentions(text, encoding, model.labels)
    words = [number for number, unit in enumerate(encoding.units) if unit.kind == "word"]
    content_words = [number for number in words if content(encoding.units[number].text)]
    against_words, against_content = (
        checks.named_word_effect(answers, named, among, label, draws=DRAWS, seed=seed)
        for among in (words, content_words)
    )
    return narrators.WordEffect(bool(named), against_words, against_content)


@dataclass(frozen=True)
class NarratorEvaluation:
    """The table, a record per input, and what is needed to repeat the evaluation."""

    model: FrozenModel
    inputs: tuple[Example, ...]
    rows: list[dict[str, Any]]
    baselines: list[dict[str, Any]]  # random training sentences and the given reasons, by the same metrics
    items: list[dict[str, Any]]
    about: dict[str, Any]
    generated: bool  # whether a generator gave the reasons, and not people
    tournament: dict[str, Any]  # empty where none was asked for


def evaluate_narrators(
    spec: narrator_weights.NarratorEvaluationSpec, model: FrozenModel, progress: narrator_weights.Progress
) -> NarratorEvaluation:
    """Fits narrators that are missing, and measures all on the test split."""
    for method in spec.once:
        if narrator_spec(method).id not in spec.methods:
            raise ExplanationError(f"{method} is to be measured once, but is not among the narrators.")
    if spec.tournament:
        check_competitors(spec.methods)
    source = reason_sources.reason_source(model, spec.data, spec.images)
    shuffled = list(source.test)
    random.Random(0).shuffle(shuffled)
    inputs = shuffled[: spec.n] if spec.n > 0 else shuffled
    judged = (
        inputs if spec.reasons is None else shuffled[: max(spec.reasons, len(inputs))] if spec.reasons else shuffled
    )
    if len(inputs) < 2:
        raise ExplanationError("Counterfactuals need at least two examples. Give a larger --n.")
    data = _with_counterfactuals(model, inputs, sentences.narrator_items(model, inputs))
    weights = {
        method: [
            narrator_weights.narrator_artifact(spec, model, method, seed, progress) for seed in spec.seeds_of(method)
        ]
        for method in spec.methods
    }
    runs = checked_runs(model, inputs, data.predicted, _run_all(weights, model, inputs, data, progress))
    training_sentences = _all_sentences(_learned_from(source, weights), model.labels)
    scorer = _scorer(progress)
    reasons = _judged_reasons(weights, model, judged, source, progress) if len(judged) > len(inputs) else None
    return NarratorEvaluation(
        model,
        tuple(inputs),
        narrator_metrics.narrator_rows(data, runs, training_sentences, scorer, reasons),
        _baseline_rows(model, inputs, data, source, training_sentences, scorer, reasons),
        narrators.item_records(inputs, data.predicted, runs, model.labels),
        _about(spec, model, len(inputs), len(judged) if reasons is not None else 0),
        generated=source.generated,
        tournament=run_tournament(model, inputs[: spec.tournament], data.predicted, runs, progress)
        if spec.tournament
        else {},
    )


def _baseline_rows(
    model: FrozenModel,
    inputs: Sequence[Example],
    data: narrators.CounterfactualItems,
    source: reason_sources.ReasonSource,
    training_sentences: Sequence[str],
    scorer: text_metrics.TokenScorer | None,
    reasons: narrator_metrics.JudgedReasons | None,
) -> list[dict[str, Any]]:
    """A row for random training sentences and, where every input has one, a row for the given reasons."""
    given_data, _ = narrators.given_reasons(data, inputs)
    runs = checked_runs(model, inputs, data.predicted, _baselines(model, inputs, data, source))
    rows = [
        narrator_metrics.baseline_row(
            name, given_data if name == narrators.GIVEN else data, mine, training_sentences, scorer, reasons
        )
        for name, mine in runs.items()
    ]
    names = {
        narrators.RANDOM: "random training sentence",
        narrators.COPY: "the hypothesis as the reason" if inputs[0].pair else "the text as the reason",
        narrators.GIVEN: "the generator's reason" if source.generated else "people's reason",
    }
    return [{"name": names[row["method"]], **row} for row in rows]


def _baselines(
    model: FrozenModel,
    inputs: Sequence[Example],
    data: narrators.CounterfactualItems,
    source: reason_sources.ReasonSource,
) -> dict[str, list[narrators.NarratorRun]]:
    unchecked = {
        narrators.RANDOM: narrators.random_sentences(source.training, data.predicted, model.labels),
        narrators.COPY: narrators.copies(inputs, data.predicted, model.labels),
        narrators.GIVEN: narrators.given_reasons(data, inputs)[1],
    }
    return {name: mine for name, mine in unchecked.items() if mine}


def _judged_reasons(
    weights: Mapping[str, Sequence[Artifact]],
    model: FrozenModel,
    inputs: Sequence[Example],
    source: reason_sources.ReasonSource,
    progress: narrator_weights.Progress,
) -> narrator_metrics.JudgedReasons | None:
    """What rules say of the reasons for these inputs, of narrators and baselines; None where no rules can tell."""
    if not can_judge(model.name):
        return None
    data = _with_counterfactuals(model, inputs, sentences.narrator_items(model, inputs))
    by_layer, runs = {0: data}, _baselines(model, inputs, data, source)
    for method, artifacts in weights.items():
        progress(f"{method}: {len(inputs):,} reasons are judged")
        for artifact in artifacts:
            _, narrator = read_narrator(artifact, model)
            likeliest = narrators.likeliest_sentences(narrator, _with_tokens(narrator, model, inputs, by_layer))
            runs.setdefault(method, []).append(likeliest)
    return narrator_metrics.JudgedReasons(data, with_truths(runs, inputs, data.predicted, model.name))


def _about(
    spec: narrator_weights.NarratorEvaluationSpec, model: FrozenModel, inputs: int, judged: int
) -> dict[str, Any]:
    return {
        "model": {"name": model.name, "version": model.version},
        "data": {"split": "test", "pairs": inputs, "seed": 0, **({"reasons": judged} if judged else {})},
        "settings": dict(spec.settings),
        "command": spec.command(model.name),
        "torch": torch.__version__,
    }


def _all_sentences(training: Sequence[Example], labels: Sequence[str]) -> list[str]:
    reasons = {"", *(sentences.shortened(reason) for example in training for reason in example.explanations)}
    return [sentences.sentence(label, reason) for reason in reasons for label in labels]


def _scorer(progress: narrator_weights.Progress) -> text_metrics.TokenScorer | None:
    try:
        return text_metrics.minilm_scorer()
    except ModelUnavailable as error:
        progress(f"BERTScore is left out. {error}")
        return None


def evaluate_fitted_narrators(
    model: FrozenModel, inputs: Sequence[Example], progress: narrator_weights.Progress, draws: int = 3
) -> list[dict[str, Any]]:
    """The table of the narrators that were fitted to the model; empty if there are none or only one class is predicted.

    Seeds are those of the sampled sentences. The training data are not known here, so no sentence counts as copied.
    """
    runnable = runnable_narrators(model.name, model.version)
    artifacts = [one for one in available_artifacts(model.name, model.version, "narrative") if one.method in runnable]
    items = sentences.narrator_items(model, inputs) if artifacts and len(inputs) > 1 else []
    if len({item.label for item in items}) < 2:  # a counterfactual needs another class
        return []
    data = _with_counterfactuals(model, inputs, items)
    runs: Runs = {}
    by_layer = {0: data}
    for number, artifact in enumerate(artifacts):
        progress(f"narrator {number + 1} of {len(artifacts)}, {artifact.method}")
        narrator = read_narrator(artifact, model)[1]
        given = _with_tokens(narrator, model, inputs, by_layer)
        runs[artifact.method] = [narrators.run_narrator(narrator, given, seed) for seed in range(draws)]
    progress("what erasing the named words changes")
    return narrator_metrics.narrator_rows(data, checked_runs(model, inputs, data.predicted, runs), ())


def _with_counterfactuals(
    model: FrozenModel, inputs: Sequence[Example], items: Sequence[sentences.NarratorItem]
) -> narrators.CounterfactualItems:
    texts = [narrators.input_text(example) for example in inputs]
    return narrators.counterfactual_items(internals.classifier_head(model), items, texts, model.labels)


def _learned_from(source: reason_sources.ReasonSource, weights: Mapping[str, Sequence[Artifact]]) -> Sequence[Example]:
    """The training examples, with those that a generator has drawn besides for one of the narrators."""
    more = max(artifact.card["recipe"].get("more_examples", 0) for weight in weights.values() for artifact in weight)
    return (*source.training, *source.further_training(more)) if more else source.training


def _run_all(
    weights: Mapping[str, Sequence[Artifact]],
    model: FrozenModel,
    inputs: Sequence[Example],
    data: narrators.CounterfactualItems,
    progress: narrator_weights.Progress,
) -> Runs:
    """A run per seed for every narrator."""
    runs: Runs = {}
    by_layer = {0: data}
    for method, artifacts in weights.items():
        for seed, artifact in enumerate(artifacts):
            started = time.monotonic()
            _, narrator = read_narrator(artifact, model)
            given = _with_tokens(narrator, model, inputs, by_layer)
            runs.setdefault(method, []).append(narrators.run_narrator(narrator, given, seed))
            progress(f"{method}, seed {seed}: {len(data.items)} pairs in {time.monotonic() - started:.0f} s")
    return runs


def _with_tokens(
    narrator: Narrator,
    model: FrozenModel,
    inputs: Sequence[Example],
    by_layer: dict[int, narrators.CounterfactualItems],
) -> narrators.CounterfactualItems:
    """The items with the tokens that a narrator reads; those of a layer are read once."""
    if narrator.layer not in by_layer:
        items = tuple(sentences.narrator_items(model, inputs, narrator.layer))
        by_layer[narrator.layer] = replace(by_layer[0], items=items)
    return by_layer[narrator.layer]
