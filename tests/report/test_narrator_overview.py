"""Which narrator to use, from the evaluations' rows."""

from typing import Any

from explainers.methods.narrator_specs import NARRATORS
from explainers.report.narrator_overview import advice, overview_cells


def row(method: str, column: str, mean: float, width: float = 0.02) -> dict[str, Any]:
    return {"method": method, column: {"mean": mean, "low": mean - width, "high": mean + width}}


RULES = [row("cause_phi", "reason_right", 0.05), row("cause_tokens", "reason_right", 0.92)]
NO_RULES = [
    row("cause", "picked_of_ten", 0.10),
    row("cause_phi_tokens", "picked_of_ten", 0.97),
    row("cause_tokens", "picked_of_ten", 0.96),
]


def test_every_narrator_has_a_row_with_what_is_known_of_it() -> None:
    cells = {each["narrator"]: each for each in overview_cells({"nli": NO_RULES, "scenes": RULES})}
    assert list(cells) == [spec.name for spec in NARRATORS]
    tokens = cells["CAuSE (tokens)"]
    assert (tokens["picks its input of ten, nli"], tokens["right, scenes"]) == ("96 %", "92 %")
    assert tokens["reads"] == "that state and the states of all tokens"
    assert (cells["φ"]["picks its input of ten, nli"], cells["φ"]["right, scenes"]) == ("", "5 %")
    assert cells["φ"]["ties its sentence to the model"] == "nothing"
    assert cells["φ (words)"]["reads"] == "the words"


def test_the_best_is_named_and_the_next() -> None:
    first, second = advice({"scenes": RULES, "nli": NO_RULES})
    assert first == (
        "On scenes the reasons of CAuSE (tokens) are right most often, on 92 % of unseen inputs; φ follows with 5 %."
    )
    assert second == (
        "On nli nothing tells whether reasons are right. Those of φ (tokens) fit their own input best: 97 % share more "
        "words with it than with nine others of its class; CAuSE (tokens) follows with 96 %."
    )
    assert advice({"mine": [{"method": "cause"}]}) == []
