"""Where the files of the program and those of the person lie, and the version.

a checkout      explainers/  app/  pages/  assets/  streamlit_app.py
site-packages   explainers/  crosslight/{app, pages, assets, streamlit_app.py}
"""

import os
from pathlib import Path

VERSION = "0.1.0"  # pyproject.toml reads it from here
IMPORTED_FROM = Path(__file__).parents[1]  # the folder on `sys.path` that holds `explainers`


def files_beside(folder: Path) -> Path:
    """Return the folder that holds assets/, pages/ and streamlit_app.py where `explainers` lies in `folder`."""
    packaged = folder / "crosslight"
    return packaged if (packaged / "streamlit_app.py").exists() else folder


def limit_spinning() -> None:
    """Have OpenMP's threads wait for each other in a loop only briefly; of use before torch is imported.

    By default they spin for so long that, where other programs keep the cores busy, training on small batches (fAML,
    fits) takes many times as long; on idle cores it is not slower with few spins.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")


HOME = files_beside(IMPORTED_FROM)
ASSETS, ENTRY = HOME / "assets", HOME / "streamlit_app.py"

STORE_VARIABLE = "CROSSLIGHT_STORE"
PRIVATE = 0o700  # rights of the store's folder: for its owner alone


def store() -> Path:
    return Path(os.environ.get(STORE_VARIABLE, "store"))


def make_store() -> Path:
    """Returns the folder of the store, made where it is missing, which no other account of the machine may enter.

    Raises `OSError` if it cannot be made.
    """
    folder = store()
    folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    keep_private(folder, PRIVATE)
    return folder


def keep_private(path: Path, mode: int) -> bool:
    """Takes the rights of other accounts, whatever the umask was. Returns whether they have none now."""
    try:
        if path.stat().st_mode & 0o077:
            path.chmod(mode)
        return not path.stat().st_mode & 0o077
    except OSError:  # it belongs to another account, or has just been removed
        return not path.exists()
