import json
from pathlib import Path

from explainers.studies.cards.weights import learned_weights

CARD = {
    "method": "ciem",
    "variant": "last",
    "recipe": {"method": "ciem", "epochs": 3},
    "command": "python -m explainers fit ciem",
    "texts": {"learned from": 100, "watched": 20},
    "validation": {"aopc_c": 0.25, "aopc_s": 0.125},
    "warnings": [],
    "parameters": 1234,
    "machine": {"device": "cpu", "threads": 1},
}


def test_consistency_has_a_column_where_weights_were_selected_by_it(tmp_path: Path) -> None:
    consistent = {**CARD, "variant": "consistent", "validation": {"aopc_c": 0.25, "aopc_s": 0.125, "cons": 0.5}}
    for card in (CARD, consistent):
        (tmp_path / f"ciem-{card['variant']}.json").write_text(json.dumps(card), encoding="utf-8")
    table = next(part for part in learned_weights(tmp_path) if "ciem:consistent" in part).splitlines()
    assert [cell.strip() for cell in table[0].split("|")][2:5] == [
        "AOPC-C, validation",
        "AOPC-S, validation",
        "CONS, validation",
    ]
    assert sorted(row.split("|")[4].strip() for row in table[2:]) == ["0.500", "–"]


def test_weights_are_listed_with_the_step_that_was_kept_and_the_number_of_seeds(tmp_path: Path) -> None:
    several = {**CARD, "steps": {"kept": 54, "all": 162}, "seeds": [{"seed": 0}, {"seed": 1}]}
    once = {**CARD, "variant": "middle", "steps": {"kept": 81, "all": 162}}
    for card in (several, once, {**CARD, "variant": "old"}):
        (tmp_path / f"ciem-{card['variant']}.json").write_text(json.dumps(card), encoding="utf-8")
    table = next(part for part in learned_weights(tmp_path) if "ciem:middle" in part).splitlines()
    steps = [cell.strip() for cell in table[0].split("|")].index("steps")
    assert [row.split("|")[steps].strip() for row in table[2:]] == [
        "54 of 162, the best of 2 seeds",
        "81 of 162",
        "–",
    ]
