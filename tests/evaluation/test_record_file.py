from pathlib import Path

import pytest

from explainers.errors import ExplanationError
from explainers.evaluation.record_file import appending, read_records, resume_records


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Holds a signature and the records 0, 1 and 2."""
    path = tmp_path / "run" / "records.jsonl"
    assert resume_records(path, {"seed": 0}) == []
    with appending(path) as append:
        for number in range(3):
            append({"number": number})
    return path


def test_a_run_goes_on_after_the_records_that_are_there(path: Path) -> None:
    assert resume_records(path, {"seed": 0}) == [{"number": 0}, {"number": 1}, {"number": 2}]
    with appending(path) as append:
        append({"number": 3})
        assert len(read_records(path)) == 4  # it is in the file at once


def test_a_torn_last_line_is_dropped(path: Path) -> None:
    path.write_text(path.read_text("utf-8")[:-5], encoding="utf-8")
    assert resume_records(path, {"seed": 0}) == [{"number": 0}, {"number": 1}]
    assert path.read_text("utf-8") == '{"seed": 0}\n{"number": 0}\n{"number": 1}\n'


def test_records_that_are_not_complete_are_dropped(path: Path) -> None:
    assert resume_records(path, {"seed": 0}, lambda record: record["number"] != 1) == [{"number": 0}, {"number": 2}]
    assert read_records(path) == [{"number": 0}, {"number": 2}]


def test_records_of_another_run_are_neither_mixed_nor_lost(path: Path) -> None:
    before = path.read_text("utf-8")
    with pytest.raises(ExplanationError, match=r"records.jsonl belongs to another run, with another value of: "):
        resume_records(path, {"seed": 1})
    assert path.read_text("utf-8") == before


def test_records_that_say_what_they_belong_to_need_no_signature(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"number": 0}\n{"num', encoding="utf-8")
    assert resume_records(path, None) == [{"number": 0}]
    with appending(path) as append:
        append({"number": 1})
    assert read_records(path, signed=False) == [{"number": 0}, {"number": 1}]


def test_a_file_of_something_else_is_left_alone(path: Path) -> None:
    path.write_text("[1, 2]\n", encoding="utf-8")
    with pytest.raises(ExplanationError, match=r"records.jsonl belongs to another run\. Choose another place"):
        resume_records(path, {"seed": 0})
    assert path.read_text("utf-8") == "[1, 2]\n"
