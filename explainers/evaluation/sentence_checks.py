"""What is checked about generated sentences on each input: truth, topic, and whether the model uses their words."""

from collections.abc import Sequence
from dataclasses import replace

from explainers.datasets.example import Example
from explainers.evaluation.narrators import NarratorRun, WordEffect
from explainers.metrics.erasure import Answers
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.models.tasks import TASKS, reason_on_topic, reason_truth
from explainers.narrative.checks import named_word_effect
from explainers.narrative.content_words import content
from explainers.narrative.narrate import mentions
from explainers.narrative.sentences import reason_of, stated_class

Runs = dict[str, list[NarratorRun]]
DRAWS = 10  # sets of random words per sentence
ERASURE: Erasure = "mask"


def checked_runs(model: FrozenModel, inputs: Sequence[Example], predicted: Sequence[int], runs: Runs) -> Runs:
    """The runs with all that can be checked about their sentences."""
    return with_word_effects(model, inputs, predicted, with_truths(runs, inputs, predicted, model.name))


def can_judge(model: str) -> bool:
    """Whether rules can tell if a reason is true."""
    task = TASKS.get(model)
    return task is not None and task.check_reason is not None


def with_truths(runs: Runs, inputs: Sequence[Example], predicted: Sequence[int], model: str) -> Runs:
    """The runs with the truth of every reason, about its own input and about the next one, and whether it is on topic.

    Unchanged where no rules can tell it. The topic is that of the given reasons, if they are about the model's class.
    """
    if not can_judge(model):
        return runs
    elsewhere = [*inputs[1:], inputs[0]]
    given = [each.explanations if each.label == label else () for each, label in zip(inputs, predicted, strict=True)]

    def checked(run: NarratorRun) -> NarratorRun:
        reasons = [reason_of(each) for each in run.sentences]
        return replace(
            run,
            truths=tuple(reason_truth(model, *each).true for each in zip(reasons, inputs, strict=True)),
            truths_elsewhere=tuple(reason_truth(model, *each).true for each in zip(reasons, elsewhere, strict=True)),
            topics=tuple(reason_on_topic(model, *each) for each in zip(reasons, given, strict=True)),
        )

    return {method: [checked(run) for run in mine] for method, mine in runs.items()}


def with_word_effects(model: FrozenModel, inputs: Sequence[Example], predicted: Sequence[int], runs: Runs) -> Runs:
    """The runs with the effects of the words that every sentence names on the class that it states."""
    everything = [run for mine in runs.values() for run in mine]
    effects: list[list[WordEffect]] = [[] for _ in everything]
    for number, example in enumerate(inputs):  # one at a time: encoded images are large
        encoding = model.encode(Example(example.text, example.pair, image=example.image))
        answers = Answers(model, encoding, ERASURE)
        for run, mine in zip(everything, effects, strict=True):
            mine.append(word_effect(answers, run.sentences[number], predicted[number], seed=number))
    ready = iter(effects)
    return {method: [replace(run, word_effects=tuple(next(ready))) for run in mine] for method, mine in runs.items()}


def word_effect(answers: Answers, text: str, predicted: int, *, seed: int) -> WordEffect:
    """Of the stated class, or of the predicted one where the sentence states none."""
    model, encoding = answers.model, answers.encoding
    stated = stated_class(text, model.labels)
    label = predicted if stated is None else stated
    named = mentions(text, encoding, model.labels)
    words = [number for number, unit in enumerate(encoding.units) if unit.kind == "word"]
    content_words = [number for number in words if content(encoding.units[number].text)]
    against_words, against_content = (
        named_word_effect(answers, named, among, label, draws=DRAWS, seed=seed) for among in (words, content_words)
    )
    return WordEffect(bool(named), against_words, against_content)
