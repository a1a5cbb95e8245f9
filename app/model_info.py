"""What is known of a model: from its card before it is loaded, then from itself; and the box to choose one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from app.model_pool import ModelPool, roots
from app.session import PageState
from explainers.errors import ExplanationError
from explainers.models import bundle_cards, model_names, smollm2, tasks
from explainers.models import prompt as prompts
from explainers.models.inputs.encoding import ERASURES, MULTIMODAL_ERASURES, Erasure
from explainers.models.multimodal.head_cards import TOKENIZER, encoder_parts, is_head
from explainers.models.smollm2 import NAME as SMOLLM2
from explainers.report.wording import join_names, one_line

LABELS_NAMED, LONGEST_LABEL = 4, 24  # classes of a foreign model in a sentence, and characters of each


@dataclass(frozen=True)
class ModelInfo:
    """Empty fields are not known before the model is loaded.

    `generator_noun` names the examples of the model's generator, as in "scene 7"; empty where there is no generator.
    """

    labels: tuple[str, ...] = ()
    input_names: tuple[str, ...] = ()
    multimodal: bool = False
    version: str = ""
    erasures: tuple[Erasure, ...] = ERASURES
    generator_noun: str = ""
    default_erasure: Erasure = "mask"

    @property
    def pairs(self) -> bool:
        return len(self.input_names) == 2


def model_info(pool: ModelPool, name: str) -> ModelInfo:
    """Never raises: what is wrong with a model is said when it is loaded."""
    model, on_card = pool.loaded(name), info_on_card(name)
    if model is None:
        return on_card
    return ModelInfo(
        model.labels,
        model.input_names,
        model.multimodal,
        model.version,
        model.erasures,
        on_card.generator_noun,
        model.default_erasure,
    )


def decides_line(name: str, labels: Sequence[str]) -> str:
    """Return what a model decides, in a sentence: of a foreign one its classes, once they are known."""
    task = tasks.task_of(name)
    if task is not None and task.decides:
        return f"{name} decides {task.decides}."
    if not labels:
        return "The classes of this model are named here once it is loaded."
    named = [one_line(label, LONGEST_LABEL) for label in labels[:LABELS_NAMED]]
    others = len(labels) - len(named)
    names = join_names([*named, *([f"{others:,} more"] if others else [])])
    return f"The {'class' if len(labels) == 1 else 'classes'} of this model: {names}."


def is_fetched_first(name: str) -> bool:
    """Return whether whatever loads this model fetches files from the hub first: the cache of this machine lacks some
    of the model's, or of an encoder below a head."""
    try:
        model = prompts.split_name(model_names.resolve_model_name(name, roots()))[0]
        if not model_names.HUB_NAME.fullmatch(model):
            return False
        from explainers.models.foreign.hub_snapshot import complete_folder  # brings torch

        folder = complete_folder(model)
        if folder is None:
            return True
        parts = encoder_parts(folder) if is_head(folder) else {}
        return any(complete_folder(part, weights=role != TOKENIZER) is None for role, part in parts.items())
    except ExplanationError:
        return False


def info_on_card(name: str) -> ModelInfo:
    """The card's facts about a bundle, or a folder with a multimodal head."""
    try:
        if name in bundle_cards.bundle_names():
            return _of_bundle(name)
        if prompts.split_name(name)[1]:
            prompt = prompts.prompt_named(prompts.split_name(name)[1])
            version = smollm2.version_on_card(name)
            return ModelInfo(prompt.labels, prompt.input_names, version=version, default_erasure="delete")
        multimodal = is_head(
            Path(model_names.resolve_model_name(name, roots()))
        )  # heads stand on encoders of images and texts
    except ExplanationError:
        return ModelInfo()
    return ModelInfo(multimodal=multimodal, erasures=MULTIMODAL_ERASURES if multimodal else ERASURES)


def _of_bundle(name: str) -> ModelInfo:
    card = bundle_cards.read_card(bundle_cards.BUNDLES / name)
    multimodal = bool(card.get("pictures"))
    return ModelInfo(
        tuple(card["labels"]),
        bundle_cards.input_names_of(card),
        multimodal,
        str(card["sha256"])[:12],
        MULTIMODAL_ERASURES if multimodal else ERASURES,
        str(card.get("generator", "")) if card.get("generated") else "",
    )


def model_box(state: PageState[Any], *, fetched: bool = False) -> str:
    """Draw the box for the model of a page, and return its name. `fetched`: the page fetches SmolLM2 if missing."""
    offered = offered_models(state.controls.model, fetched=fetched)
    name = st.selectbox(
        "Model",
        offered,
        accept_new_options=True,
        help="An embedded model, the id of a classifier of texts, or of images with text, on the Hugging Face hub "
        "(owner/model or owner/model@revision), a folder below the one in which the app was started, or a language "
        "model with a prompt (owner/model:sst2).",
        **state.widget("model", listed=offered),
    )
    return (name or "").strip()


def offered_models(chosen: str, *, fetched: bool = False) -> list[str]:
    """Return the names of the embedded models, of SmolLM2 with each prompt that comes with the project, where it is on
    this machine or is `fetched`, and of the model that was chosen."""
    here = fetched or smollm2.smollm2_folder() is not None
    prompted = [f"{SMOLLM2}:{prompt}" for prompt in prompts.shipped_prompts()] if here else []
    return list(dict.fromkeys(filter(None, (*bundle_cards.bundle_names(), *prompted, chosen))))
