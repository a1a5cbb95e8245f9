import pytest

from explainers.errors import ExplanationError
from explainers.methods.registry import default_methods
from explainers.methods.selection import Selection, selection


def test_nothing_chosen_is_every_default_method_and_every_fitted_narrator() -> None:
    assert selection(None) == Selection(default_methods(), None)


@pytest.mark.parametrize(
    ("ids", "methods", "narrators"),
    [
        (["lime", "random"], ("lime", "random"), ()),
        (["cause", "aml:comp", "cause_phi"], ("aml:comp",), ("cause_phi", "cause")),
        (["cause", "cause"], (), ("cause",)),
        ([], (), ()),
    ],
)
def test_narrators_are_chosen_like_methods(
    ids: list[str], methods: tuple[str, ...], narrators: tuple[str, ...]
) -> None:
    assert selection(ids) == Selection(methods, narrators)


@pytest.mark.parametrize("id", ["", "cause:comp", "shap", "lime:comp"])
def test_an_unknown_id_is_an_error_with_the_ids_of_both(id: str) -> None:
    with pytest.raises(ExplanationError, match=r"Choose from: aml, .*random") as error:
        selection(["random", id])
    assert ("cause_phi, cause_phi_ts, cause_published, " in str(error.value)) == (id != "lime:comp")
