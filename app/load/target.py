"""What is put under load: an app that is started or runs already, and the model that its sessions ask for."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from app.load.one_layer import write_one_layer
from app.load.scenario import Query
from app.load.server import Watched, started
from explainers.errors import ExplanationError

ONE_LAYER = "one-layer"
LOCAL = ("127.0.0.1", "localhost", "::1")
ROOTS_VARIABLE = "CROSSLIGHT_MODELS"
WITHOUT_FITTED: Query = {"learned": ""}  # in the address: none of the methods that need fitted weights
NOT_LOCAL = "The load test only runs against an app on this machine. Give its address as 127.0.0.1, or use --start."
ONE_TARGET = "Give either the address of a running app (--url), or --start."


@contextmanager
def target(
    url: str, model: str, pid: int = 0, store: Path | None = None
) -> Iterator[tuple[str, Query, Watched | None]]:
    """The app's address, the query of a tab, and the process where it is known. Without `url` an app is started.

    Raises `ExplanationError` with a sentence.
    """
    if url and urlsplit(url).hostname not in LOCAL:
        raise ExplanationError(NOT_LOCAL)
    with ExitStack() as stack:
        environment: dict[str, str] = {}
        query: Query = {"model": model}
        if model == ONE_LAYER:
            root = Path(os.environ.get(ROOTS_VARIABLE, ".").split(os.pathsep)[0]) if url else None
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="crosslight-model-", dir=root))
            query = {"model": str(write_one_layer(Path(folder).resolve() / ONE_LAYER)), **WITHOUT_FITTED}
            environment[ROOTS_VARIABLE] = folder
        if url:
            yield url, query, Watched(pid, store) if pid else None
        else:
            address, process = stack.enter_context(started(environment))
            yield address, query, process
