"""The tasks of the embedded text models; readable without torch."""

from functools import partial
from typing import Any

from explainers.datasets import entailment, text_sets
from explainers.datasets.example import Example
from explainers.models.tasks import Task, TrainingOptions
from explainers.models.text.recipe import TextModelRecipe

SENTENCE = Example(
    "A charming and often affecting journey through a small seaside town, although the ending feels rushed "
    "and the villain is never more than a cartoon"
)
PAIR = Example(
    "A woman in a red coat buys apples and pears from an old farmer at a busy market beside the harbour",
    "Somebody pays for fruit outdoors",
)


def _make(name: str, options: TrainingOptions) -> dict[str, Any]:
    from explainers.models.text.training import make_text_bundle  # imports torch

    recipe = options.recipe(TextModelRecipe)
    return make_text_bundle(name, TASKS[name], options.data, recipe, options.out, resume=options.resume)


TASKS = {
    "sst2": Task(
        position=1,
        decides="whether a sentence about a film is positive or negative",
        labels=("negative", "positive"),
        data="SST-2 (Socher et al., 2013), GLUE's phrases; half of the Rotten Tomatoes sentences that are not in SST "
        "(Pang and Lee, 2005); to warm up, Yelp sentences",
        licence="research use",
        split_rule="validation: random training sentences, none of whose phrases is in train; test: the dev sentences",
        read=lambda folder: text_sets.read_sst2(folder),
        make=partial(_make, "sst2"),
        example=lambda: SENTENCE,
    ),
    "nli": Task(
        position=2,
        decides="whether the hypothesis follows from the premise, contradicts it, or neither",
        labels=entailment.LABELS,
        data="e-SNLI (Camburu et al., 2018), its dev file; SNLI pairs with counterfactual revisions (Kaushik et al., "
        "2020), their train and dev files; to learn to explain, unlabelled, e-SNLI-VE (Do et al., 2021)",
        licence="e-SNLI: MIT; counterfactual revisions: Apache-2.0",
        split_rule="validation: the pairs of random pictures of e-SNLI dev, none of which is in train; test: test_a, "
        "no premise of which, nor one that shares seven words in a row with it, is in the counterfactual part of train",
        read=lambda folder: text_sets.read_esnli(folder),
        make=partial(_make, "nli"),
        example=lambda: PAIR,
        input_names=("premise", "hypothesis"),
        reason_source="esnli",
        sentences=lambda folder: list(text_sets.image_sentences(folder)) if folder else [],
    ),
}
