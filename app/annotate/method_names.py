"""The name of a method or narrator by its id."""

from explainers.methods.narrator_specs import NARRATORS, narrator_spec
from explainers.methods.registry import method_spec


def method_name(id: str) -> str:
    return narrator_spec(id).name if id in NARRATORS.ids else method_spec(id).name
