"""Imports transformers in one thread at a time.

It imports its parts when they are first used, and fails at random where two threads do so at once (`KeyError` or
`ImportError` of a module that is half there). Whatever may run beside another thread calls this first.
"""

from importlib import import_module
from threading import Lock

PARTS = (
    "transformers",
    "transformers.models.bert.modeling_bert",
    "transformers.models.gpt2.modeling_gpt2",
)  # what the embedded models and the narrators are made of
AUTO_PARTS = (
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.auto.image_processing_auto",
)  # what other models are found by; a second more

_importing = Lock()


def import_transformers(*, auto: bool = False) -> None:
    """Imports it with BERT and GPT-2, and with the classes that find other architectures if `auto`."""
    with _importing:
        for part in (*PARTS, *(AUTO_PARTS if auto else ())):
            import_module(part)
