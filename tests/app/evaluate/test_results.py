import pandas as pd
import pytest

from app.evaluate.results import name_of


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ({"columns": {"text": "review"}}, "Line 1,234"),
        ({"columns": {"text": "review", "id": "number"}}, "review 7"),
        ({"format": "eraser", "split": "test"}, "review 7"),
    ],
)
def test_an_input_without_an_id_is_called_by_its_line(data: dict[str, object], name: str) -> None:
    assert name_of(pd.Series({"id": "review 7", "line": 1234}), data) == name
