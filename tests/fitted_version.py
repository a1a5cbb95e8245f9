"""The version of a language model with a prompt, where what was fitted to it is here and the model itself is not."""

from explainers.training.artifacts import available_artifacts


def fitted_version(model: str) -> str:
    """In the place of `version_on_card`: the version on the cards of what comes with the prompt."""
    return str(available_artifacts(model, "")[0].card["model"]["version"]) if ":" in model else ""
