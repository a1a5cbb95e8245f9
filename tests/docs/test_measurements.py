"""The document on measurements comes from stored files."""

import re
from pathlib import Path

import pytest

from explainers.report.quantities import PLACEHOLDER, UnknownQuantity
from explainers.studies.cards import command as module
from explainers.studies.cards.command import (
    DOCUMENT,
    TEMPLATE,
    measurements,
    measurements_differ,
    write_measurements,
)

BY_HAND = {"0.3", "0.99"}  # a setting, and a bound
LINK = re.compile(r"\]\(([^)#]+)")


def test_the_document_is_what_the_stored_files_say() -> None:
    assert not measurements_differ(), "run `python -m explainers study cards`"
    assert "[[" not in DOCUMENT.read_text(encoding="utf-8")


def test_no_number_of_ours_is_written_by_hand() -> None:
    text = re.sub(r"`[^`]+`", "", PLACEHOLDER.sub("", TEMPLATE.read_text(encoding="utf-8")))
    assert set(re.findall(r"[0-9]\.[0-9]+", text)) <= BY_HAND


def test_every_table_that_it_names_is_there() -> None:
    links = LINK.findall(DOCUMENT.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (DOCUMENT.parent / link).is_file()] == []


def test_a_name_without_a_stored_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.md").write_text("It is [[evaluation/sst2/mask/none/aopc_c]].", encoding="utf-8")
    with pytest.raises(UnknownQuantity, match="There is no number 'evaluation/sst2/mask/none/aopc_c'"):
        measurements(tmp_path / "text.md")


def test_it_is_written_where_it_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.md").write_text("It is [[evaluation/sst2/mask/aml/aopc_c|2]].", encoding="utf-8")
    monkeypatch.setattr(module, "measurements", lambda: measurements(tmp_path / "text.md"))
    assert write_measurements(tmp_path / "out.md")
    assert re.search(r"It is 0\.\d\d\.", (tmp_path / "out.md").read_text(encoding="utf-8"))
    assert not write_measurements(tmp_path / "out.md")
