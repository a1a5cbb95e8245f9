"""Items of a file or folder on disk, whatever its format."""

from collections.abc import Sequence
from pathlib import Path

from explainers.annotations.formats.eraser import read_eraser_folder
from explainers.annotations.formats.imported import Imported
from explainers.errors import DataUnavailable


def read_items(path: Path, split: str, classes: Sequence[str]) -> Imported:
    """Of the folder of an ERASER data set. Raises `DataUnavailable` if it cannot be used."""
    if path.is_dir():
        return read_eraser_folder(path, split, classes)
    raise DataUnavailable(f"{path} does not exist.")
