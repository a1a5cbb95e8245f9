"""One decision in words, by every narrator that was fitted to the model, from its file to a module that generates.

Beside the weights of a narrator with a small language model lies its vocabulary, <method>.words.json.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from explainers.errors import ModelUnavailable
from explainers.methods.narrator_specs import narrator_spec
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.narrative import content_words, generation, reconstruction
from explainers.narrative.sentences import read_inputs, stated_class, without_label
from explainers.results.events import Narrative
from explainers.training.artifacts import (
    Artifact,
    Untrained,
    find_artifact,
    load_artifact,
    read_artifact,
    runnable_narrators,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from explainers.narrative.language import Language
    from explainers.narrative.narrator import Narrator
    from explainers.narrative.recipe import NarratorRecipe


def load_narrator(model: "FrozenModel", method: str) -> "tuple[NarratorRecipe, Narrator]":
    """Recipe and trained module, read once per model and file. Raises `ExplanationError` for an unknown narrator."""
    artifact = find_artifact(model.name, model.version, narrator_spec(method).id)
    return load_artifact(artifact, model, untrained)


def read_narrator(artifact: Artifact, model: "FrozenModel") -> "tuple[NarratorRecipe, Narrator]":
    """As `load_narrator`, from any folder and without keeping it."""
    return read_artifact(artifact, model, untrained)


def untrained(artifact: Artifact, model: "FrozenModel") -> "Untrained[NarratorRecipe, Narrator]":
    """The recipe of the card and a fresh module."""
    from explainers.models.internals import classifier_head
    from explainers.narrative.narrator import Narrator
    from explainers.narrative.recipe import NarratorRecipe

    recipe = NarratorRecipe(**artifact.card["recipe"])
    phi, language = language_model(recipe, artifact.path)
    module = Narrator(classifier_head(model), phi, language, recipe.losses, recipe.leak, recipe.layer, recipe.reads)
    module.points_once = recipe.point_once
    return Untrained(recipe, module, module.kept_names)


def language_model(recipe: "NarratorRecipe", path: Path) -> "tuple[PreTrainedModel, Language]":
    """An untrained small language model with the vocabulary beside `path`, or a pretrained one by name."""
    from tokenizers import Tokenizer

    from explainers.narrative.language import (
        LANGUAGE_MODELS,
        language_of,
        new_language_model,
    )
    from explainers.narrative.pretrained import pretrained_language_model

    name, reads_tokens = recipe.language, recipe.layer > 0
    if name not in LANGUAGE_MODELS:
        return pretrained_language_model(name, reads_tokens=reads_tokens, rank=recipe.adapter_rank)
    vocabulary = path.with_suffix(".words.json")
    try:
        language = language_of(Tokenizer.from_file(str(vocabulary)))
    except Exception as error:  # tokenizers raises nothing more precise
        raise ModelUnavailable(f"{vocabulary.name}, its vocabulary, is missing or damaged. Fit it again.") from error
    return new_language_model(language.size, name, reads_tokens=reads_tokens), language


def narrators(model: FrozenModel) -> tuple[str, ...]:
    """Ids of the narrators that were fitted to this model and can run on this machine, in the order of display."""
    return runnable_narrators(model.name, model.version)


def narrate(model: FrozenModel, encoding: Encoding, method: str) -> Narrative:
    """The likeliest sentence, given what the narrator reads of the model."""
    _, narrator = load_narrator(model, method)
    began, waited = time.perf_counter(), model.meter.waited
    inputs, _ = read_inputs(model, [encoding], narrator.layer)
    sentences = generation.generate(narrator, inputs)
    text = narrator.language.text(sentences[0])
    read: tuple[float, ...] = ()
    if narrator.has_reader:
        read = tuple(reconstruction.readings(narrator, inputs, sentences).softmax(-1)[0].tolist())
    return Narrative(
        method,
        text,
        stated_class(text, model.labels),
        read,
        mentions(text, encoding, model.labels),
        time.perf_counter() - began - (model.meter.waited - waited),
    )


def mentions(text: str, encoding: Encoding, labels: Sequence[str]) -> tuple[int, ...]:
    """Indices of the units whose word stands in the sentence, in any form."""
    stems = {content_words.stem(word) for word in content_words.content(without_label(text, labels))}
    return tuple(
        number
        for number, unit in enumerate(encoding.units)
        if unit.kind == "word" and any(content_words.stem(word) in stems for word in content_words.content(unit.text))
    )
