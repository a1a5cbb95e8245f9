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
    cells = {cell["narrator"]: cell for cell in overview_cells({"nli": NO_RULES, "scenes": RULES})}
    assert list(cells) == [spec.name for spec in NARRATORS]
    tokens = cells["CAuSE (tokens)"]
    assert (tokens["picks its input of ten, nli"], tokens["right, scenes"]) == ("96 %", "92 %")
    assert tokens["reads"] == "the states of all tokens too"
    assert (cells["φ"]["picks its input of ten, nli"], cells["φ"]["right, scenes"]) == ("", "5 %")
    assert cells["φ"]["ties its sentence to the model"] == "nothing"
    assert cells["φ (words)"]["reads"] == "the words"


def test_the_best_are_named_with_those_that_may_be_as_good() -> None:
    first, second = advice({"scenes": RULES, "nli": NO_RULES})
    assert first == (
        "On scenes reasons are right most often from CAuSE (tokens) (92 %), of the unseen inputs that the model "
        "classified correctly."
    )
    assert second.endswith("come most often from φ (tokens) (97 %) and CAuSE (tokens) (96 %).")
    assert advice({"mine": [{"method": "cause"}]}) == []
