"""Which model names are allowed; readable without torch. Everything that loads a model or starts a job asks here."""

import re
from pathlib import Path

from explainers.errors import ModelUnavailable, did_you_mean
from explainers.models import bundle_cards
from explainers.models import prompt as prompts
from explainers.models.smollm2 import NAME as SMOLLM2

HUB_NAME = re.compile(r"\w[\w.-]{0,95}/\w[\w.-]{0,95}(@[\w.-]{1,95})?", re.ASCII)
MAX_NAME_LENGTH = 300  # characters of a name that an error message repeats

IN_MEMORY = "memory-"  # how versions of models begin that lie in no folder, so that nothing can be fitted to them


def resolve_model_name(name: str, roots: tuple[Path, ...] | None) -> str:
    """The name of a bundle, the real path of a folder, or a hub id (`owner/model[@revision]`); a language model has a
    prompt after it (`MODEL:PROMPT`, also `smollm2:PROMPT`).

    With `roots`, a folder must lie inside one of them, links resolved. Raises `ModelUnavailable` with a sentence, which
    is the same for a folder outside and for none, so that nobody learns which folders exist.
    """
    if name in bundle_cards.bundle_names():
        return name
    folder = prompts.folder_named(name)
    if folder is not None and (roots is None or any(folder.is_relative_to(root.resolve()) for root in roots)):
        return str(folder)
    model, prompt = prompts.split_name(name)
    if prompt:
        prompts.prompt_named(prompt)
        return f"{model if model == SMOLLM2 else _without_prompt(model, roots)}:{prompt}"
    if name == SMOLLM2:
        raise ModelUnavailable(f"{SMOLLM2} is a language model. Give it a prompt, as in {SMOLLM2}:sst2.")
    without_revision = name.partition("@")[0]
    if (
        HUB_NAME.fullmatch(name) and prompts.folder_named(without_revision) is None
    ):  # a folder must not slip past the roots
        return name
    raise ModelUnavailable(
        f"The model {name[:MAX_NAME_LENGTH]!r} is not available.{did_you_mean(name, bundle_cards.bundle_names())} "
        f"Choose one of: {', '.join(bundle_cards.bundle_names())}; "
        f"{SMOLLM2}:PROMPT; or give a hub id such as owner/model, or a folder"
        f"{'' if roots is None else ' that this app may read'}."
    )


def _without_prompt(model: str, roots: tuple[Path, ...] | None) -> str:
    """The resolved name of a language model. Raises `ModelUnavailable`, also for the name of a bundle."""
    if model in bundle_cards.bundle_names():
        raise ModelUnavailable(f"{model!r} is a classifier and reads no prompt. Choose a language model, or {model}.")
    if prompts.split_name(model)[1]:
        raise ModelUnavailable(f"{model[:MAX_NAME_LENGTH]!r} has a prompt already. A model has one prompt.")
    return resolve_model_name(model, roots)
