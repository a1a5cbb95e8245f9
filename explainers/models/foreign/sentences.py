"""The errors of libraries as sentences for people."""

from collections.abc import Iterator
from contextlib import contextmanager

from explainers.errors import ExplanationError, ModelUnavailable, without_folders

LONGEST = 200  # characters of a library's message


@contextmanager
def load_errors(name: str, expected: str) -> Iterator[None]:
    """During the block every error of the libraries becomes `ModelUnavailable`; `expected` is the kind of model.

    Also those that are no `Exception`, such as Rust's panics; only what ends the program itself passes.
    """
    try:
        yield
    except (ExplanationError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise ModelUnavailable(
            f"The model {name!r} could not be loaded: {first_sentence(error)} "
            f"Give the id of {expected} on the Hugging Face hub or a folder with its files."
        ) from error


def first_sentence(error: BaseException) -> str:
    """The first line of a library's message, without the folders of this machine; a sentence of ours as it is."""
    if isinstance(error, ExplanationError) and str(error):
        return str(error)
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return without_folders(lines[0]).rstrip(".: ")[:LONGEST] + "."
