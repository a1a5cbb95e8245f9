"""Against which sentences those of narrators are held, to count the copied ones."""

from types import SimpleNamespace
from typing import Any

from explainers.datasets.example import Example
from explainers.evaluation.narrator_runs import _learned_from
from explainers.narrative.reason_sources import ReasonSource

OWN = (Example("a", explanations=("own",)),)


def source(drawn: list[int]) -> ReasonSource:
    def more(number: int) -> tuple[Example, ...]:
        drawn.append(number)
        return tuple(Example(f"{i}") for i in range(number))

    return ReasonSource("generated", OWN, (), (), lambda: (), more_training=more)


def weights(**recipe: int) -> Any:
    return SimpleNamespace(card={"recipe": recipe})


def test_what_one_narrator_learned_from_counts_for_all() -> None:
    drawn: list[int] = []
    learned = _learned_from(source(drawn), {"a": [weights(), weights(more_examples=2)], "b": [weights()]})
    assert [example.text for example in learned] == ["a", "0", "1"]
    assert drawn == [2]


def test_nothing_is_drawn_where_no_narrator_learned_from_more() -> None:
    drawn: list[int] = []
    assert _learned_from(source(drawn), {"a": [weights(), weights(more_examples=0)]}) == OWN
    assert not drawn
