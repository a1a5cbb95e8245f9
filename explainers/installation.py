"""Where the files of the program lie, and its version.

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
