import pandas as pd
import pytest

from app.evaluate.results import name_of
from explainers.datasets.labelled_rows import text_id


@pytest.mark.parametrize(("pair", "image"), [(None, None), ("a second text", None), (None, "one.png")])
def test_an_input_without_an_id_is_called_by_its_line(pair: str | None, image: str | None) -> None:
    id = text_id("a text", pair, image or "")
    row = pd.Series({"id": id, "line": 1234, "text": "a text", "pair": pair, "image": image})
    assert name_of(row) == "Line 1,234"
    assert name_of(row.replace(id, "review 7")) == "review 7"
    assert name_of(row.replace(1234, 0)) == id  # of no file
