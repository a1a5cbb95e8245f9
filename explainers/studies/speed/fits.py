"""What a fit of each learned method takes for a model of BERT-base's size, by the pace that `fit` measures."""

from pathlib import Path
from typing import Any

import torch

from explainers.datasets.user_texts import read_texts
from explainers.learned.fit import held_out
from explainers.learned.fit_pace import measured_pace
from explainers.learned.recipes import RECIPES, recipe_of
from explainers.studies.attention import SIZES, encoder

TEXTS = 1000


def fit_times(file: Path, threads: int) -> dict[str, Any]:
    """By method, with its usual settings: seconds of a step, and minutes of a fit to 1,000 texts as in the file, the
    held-out ones among them, of which validations take a part. The weights are random."""
    if threads:
        torch.set_num_threads(threads)
    model, texts = encoder(SIZES[-1]), read_texts(file)
    model.module.eval().requires_grad_(False)
    lengths = [len(model.encode(text).ids) for text in texts[:TEXTS]]
    results: dict[str, Any] = {"threads": torch.get_num_threads(), "mean tokens": sum(lengths) / len(lengths)}
    judged = held_out(TEXTS)
    for method in RECIPES:
        recipe = recipe_of(method, {})
        pace = measured_pace(recipe, model, texts)
        results[method] = {
            "texts in a step": recipe.batch,
            "step, s": pace.learning * recipe.batch,
            "fit, min": pace.seconds(recipe, TEXTS - judged, judged) / 60,
            "of these validations, min": pace.validations(recipe, TEXTS - judged, judged) / 60,
        }
    return results
