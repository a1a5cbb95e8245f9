from typing import get_args

import pytest

from explainers.errors import ExplanationError
from explainers.narrative.cause import Losses
from explainers.narrative.entries import IDS, NARRATORS, narrator


def test_there_is_a_narrator_for_each_training_once() -> None:
    assert [entry.losses for entry in NARRATORS] == list(get_args(Losses))
    assert len(set(IDS)) == len({entry.name for entry in NARRATORS}) == len(NARRATORS)


@pytest.mark.parametrize("entry", NARRATORS, ids=IDS)
def test_every_narrator_says_what_it_is_and_when_not_to_believe_it(entry) -> None:
    assert narrator(entry.id) is entry
    assert entry.idea
    assert entry.formula
    assert entry.differs
    assert entry.caution.startswith("Do not believe")


def test_only_where_there_is_a_second_classifier_its_differences_are_named() -> None:
    leak = [any("label leak" in each for each in entry.differs) for entry in NARRATORS]
    assert leak == [False, True, True]


def test_an_unknown_narrator_gets_a_sentence() -> None:
    with pytest.raises(ExplanationError, match=r"no narrator 'lime'\. Choose one of: cause_phi, cause_phi_ts, cause\."):
        narrator("lime")
