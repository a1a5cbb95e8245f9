import json
from pathlib import Path
from typing import Any

import pytest

from explainers.api import explain
from explainers.errors import ModelUnavailable
from explainers.models.catalog import load
from explainers.models.foreign.classes import class_names


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"0": "no", "1": "yes"}, ("no", "yes")),
        ({"1": "yes", "0": "no"}, ("no", "yes")),
        ({"0": "same", "1": "same"}, ("same (0)", "same (1)")),
        ({"0": "a", "1": "b", "2": "a"}, ("a (0)", "b", "a (2)")),
        ({"0": "a", "1": "a", "2": "a (0)"}, ("a (0)", "a (1)", "a (0) (2)")),
        ({"0": 1, "1": 2.5}, ("1", "2.5")),
        ({"0": " a ", "1": "\ud800"}, ("a", "?")),
        (None, ("LABEL_0", "LABEL_1")),
    ],
)
def test_every_class_has_a_name_of_its_own(given: dict[str, Any] | None, expected: tuple[str, ...]) -> None:
    names = class_names("x", {"id2label": given}, len(expected))
    assert names == expected
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"0": "no", "2": "yes"}, r"are numbered 0, 2, but its 2 outputs are numbered from 0 to 1"),
        ({"1": "no", "2": "yes"}, "are numbered 1, 2"),
        ({"0": "no"}, "are numbered 0, but its 2 outputs"),
        ({"0": "no", "1": None}, "Class 1 of 'x' .* has no name of 1 to 200 characters"),
        ({"0": ["no"], "1": "yes"}, "Class 0 of 'x'"),
        ({"0": "no", "1": " "}, "Class 1 of 'x'"),
        ({"0": "no", "1": "y" * 201}, "Class 1 of 'x'"),
        ({"a": "no", "b": "yes"}, "are not numbers with names"),
        (["no", "yes"], "are not numbers with names"),
    ],
)
def test_names_that_do_not_fit_the_outputs_are_refused(given: Any, sentence: str) -> None:
    with pytest.raises(ModelUnavailable, match=sentence):
        class_names("x", {"id2label": given}, 2)


def test_two_classes_of_one_name_do_not_overwrite_each_other_in_json(hub_folder: Path) -> None:
    path = hub_folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"id2label": {"0": "a", "1": "b", "2": "a"}}))
    content = json.loads(explain(load(str(hub_folder), device="cpu"), "good film", methods=["occlusion"]).as_json())
    assert sum(content["probabilities"].values()) == pytest.approx(1)
    assert list(content["probabilities"]) == ["a (0)", "b", "a (2)"]


def test_a_gap_in_the_classes_of_a_model_is_a_sentence(hub_folder: Path) -> None:
    path = hub_folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"id2label": {"0": "a", "1": "b", "5": "c"}}))
    with pytest.raises(ModelUnavailable, match="are numbered 0, 1, 5"):
        load(str(hub_folder))
