"""No study fetches a large model unasked."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import NoReturn

import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.commands.options import ModelName, Yes
from explainers.models import catalog
from explainers.models.foreign.hub_transfer import DownloadSize, check_allowed
from explainers.studies.commands import STUDIES

REQUIRED = {  # beside --model
    "ablate": ("aml",),
    "equal-calls": ("--out", "document.md"),
    "masking": ("folder",),
    "peers": ("--out", "document.md"),
    "plausibility": ("--data", "."),
    "sampling": ("--out", "document.md"),
}


def takes_a_model(command: Callable[..., None]) -> bool:
    model = signature(command).parameters.get("model")
    return model is not None and model.annotation == ModelName


@pytest.mark.parametrize("name", [name for name, command in STUDIES.items() if takes_a_model(command)])
def test_a_study_needs_a_yes_for_a_large_model(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(model: str, *_given: object) -> NoReturn:
        check_allowed(model, DownloadSize(1_340_000_000, 6))
        raise ZeroDivisionError  # it was fetched

    monkeypatch.setattr(catalog, "_loaded", fetched)
    monkeypatch.chdir(tmp_path)
    line = ["study", name, "--model", "owner/large", *REQUIRED.get(name, ())]
    refused = CliRunner().invoke(app, line)
    assert (refused.exit_code, refused.stderr) == (
        2,
        "'owner/large' is not on this machine; fetching it takes 1.3 GB in 6 files. Add --yes to fetch it.\n",
    )
    assert signature(STUDIES[name]).parameters["yes"].annotation == Yes
    assert isinstance(CliRunner().invoke(app, [*line, "--yes"]).exception, ZeroDivisionError)
