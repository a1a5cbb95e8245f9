import pytest

from explainers.datasets.cells import parsed_rationale
from explainers.errors import DataUnavailable


def test_the_spans_of_one_person_or_of_several_are_read() -> None:
    assert parsed_rationale("[[0, 4], [9, 12]]", "good film was", None) == ((((0, 4), (9, 12)), ()),)
    two = '[{"spans_of_text": [[0, 4]], "spans_of_pair": [[0, 3]]}, {"spans_of_text": []}]'
    assert parsed_rationale(two, "good", "bad") == ((((0, 4),), ((0, 3),)), ((), ()))
    assert parsed_rationale("[]", "good", None) == ()


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("good", "It is not JSON"),
        ("3", "A rationale is a list of spans"),
        ("[1, 2]", "A rationale is a list of spans"),
        ("[[0, 4.5]]", "A rationale is a list of spans"),
        ("[[0, 1], {}]", "A rationale is a list of spans"),
        ("[[2, 2]]", "The span 2 to 2 is not within the text of 4 characters"),
        ("[[0, 5]]", "The span 0 to 5 is not within the text of 4 characters"),
        ('[{"spans_of_pair": [[0, 1]]}]', "The span 0 to 1 is not within the text of 0 characters"),
    ],
)
def test_another_form_is_a_sentence(cell: str, sentence: str) -> None:
    with pytest.raises(DataUnavailable, match=sentence):
        parsed_rationale(cell, "good", None)
