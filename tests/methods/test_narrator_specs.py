from typing import get_args

import pytest

from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS, NarratorSpec, narrator_spec
from explainers.narrative.recipe import Losses


def test_there_is_a_narrator_for_each_training() -> None:
    assert {spec.losses for spec in NARRATORS} == set(get_args(Losses))
    assert len(set(NARRATORS.ids)) == len({spec.name for spec in NARRATORS}) == len(NARRATORS)


@pytest.mark.parametrize("spec", NARRATORS, ids=NARRATORS.ids)
def test_every_narrator_has_an_idea_a_formula_and_a_caution(spec: NarratorSpec) -> None:
    assert narrator_spec(spec.id) is spec
    assert spec.idea
    assert spec.formula
    assert spec.deviations
    assert spec.caution.startswith("Do not")


def test_deviations_of_the_second_classifier_are_listed_only_where_it_exists() -> None:
    for spec in NARRATORS:
        assert any("label leak" in deviation for deviation in spec.deviations) == spec.has_reader


def test_an_unknown_narrator_is_an_error_with_the_ids() -> None:
    with pytest.raises(
        ExplanationError, match=r"Unknown narrator 'lime'\. Choose from: cause_phi, cause_phi_ts, cause_published, "
    ):
        narrator_spec("lime")
