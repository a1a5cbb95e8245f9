"""The file comes through Streamlit's uploader; the rows are those of tests/app/compare/test_file_rows.py."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.compare.file_rows import NONE_HERE

pytestmark = pytest.mark.usefixtures("small")
TEXT = "the film was not good"
SCORES = {"text": TEXT, "method": "my shap", "tokens": [[4, 8], [17, 21]], "scores": [1.5, -1.0]}
MARKS = {"text": TEXT, "label": [[13, 21, "evidence"]]}


def given(page: Any, *rows: object) -> Any:
    content = "\n".join(map(json.dumps, rows)).encode()
    page.at.file_uploader(key="row file 0").set_value(("rows.jsonl", content, "application/jsonl"))
    return page.settle()


def ids(page: Any) -> set[str]:
    return set(page.state.run.columns)


def test_a_file_brings_its_input_and_its_row_and_removing_it_takes_the_row(opened: Callable[..., Any]) -> None:
    page = given(opened(text="another text").settle(), SCORES, {"text": "bad"})
    assert NONE_HERE in page.captions
    assert "given:my shap" not in ids(page)
    assert any("Row 2: The field" in bullet for bullet in page.plain("bullets"))
    page.press("explain row input").settle()
    assert page.text == TEXT
    assert "given:my shap" in ids(page)
    assert NONE_HERE not in page.captions
    page.press("remove row file").settle()
    assert "given:my shap" not in ids(page)
    assert page.text == TEXT


def test_marks_are_a_row_with_the_agreement_of_every_method(opened: Callable[..., Any]) -> None:
    page = given(opened(text=TEXT).settle(), MARKS)
    assert "people" in ids(page)
    (table,) = [frame.value for frame in page.at.dataframe if "AUPRC" in frame.value]
    assert list(table["method"])[-1] == "Random order, expected"
    assert len(table) == len({"consensus", *ids(page)})  # without people, with the chance values


def test_a_broken_file_is_a_sentence(opened: Callable[..., Any]) -> None:
    page = given(opened(text=TEXT).settle(), {"nothing": 1})
    assert any("The file has no scores, and no texts with marks." in sentence for sentence in page.sentences)


def test_the_json_export_opens_the_page_that_it_was_saved_from(opened: Callable[..., Any]) -> None:
    view = {"text": "the plot was very dull", "seed": 3, "budget": 0, "samples": 50, "removed": [1]}
    page = opened(text=TEXT).settle()
    page.at.file_uploader(key="row file 0").set_value(
        ("crosslight.json", json.dumps({"view": view}).encode(), "application/json")
    )
    page.settle()
    assert page.text == "the plot was very dull"
    assert (page.address["seed"], page.address["removed"]) in (("3", "1"), (["3"], ["1"]))
    assert page.state.run.request.removed == (1,)
    assert page.sentences == []
