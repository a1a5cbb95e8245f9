import json
from pathlib import Path
from typing import Any

from explainers.report.narrator_overview import narrator_evaluation
from explainers.report.narrator_tables import COLUMNS, TEXTS, TITLE, tournament_parts, tournament_tables


def tournament() -> dict[str, Any]:
    value = {"mean": 1.25, "low": 1.0, "high": 1.5}
    rows = [
        {"method": method, **dict.fromkeys(("points", "chance", "above_chance", "overlap"), value)}
        for method in ("cause_phi", "cause_phi_ts", "cause")
    ]
    tables = [
        {"judge": judge, "narrators": narrators, "tied": 0.4, "rows": rows}
        for judge, narrators in (("lime", "paper"), ("kernel_shap", "all"))
    ]
    return {"inputs": 100, "settings": {"erasure": "mask", "samples": 500, "seed": 0}, "tables": tables}


def test_points_stand_beside_chance_under_the_judge_and_the_note_says_that_it_is_a_stand_in() -> None:
    note, first, table, second, _ = tournament_parts(tournament())
    assert note.startswith("A stand-in for the paper's tournament")
    assert "on 100 inputs" in note
    assert "by LIME and KernelSHAP for the model's class (with 500 samples, operator mask)" in note
    assert first == "Judged by LIME, among φ, φ + TS and CAuSE + word losses (all equal on 40% of the inputs):"
    assert second == "Judged by KernelSHAP, among all 3 narrators (all equal on 40% of the inputs):"
    header, _, *lines = table.splitlines()
    assert header == "| method | points, 0 to 2 ↑ | by chance | above chance ↑ | F1 with the top words ↑ |"
    assert lines[0] == "| φ | 1.250 ± 0.250 | 1.250 ± 0.250 | +1.250 [+1.000, +1.500] | 1.250 ± 0.250 |"


def test_an_evaluation_without_a_tournament_has_no_part_about_it() -> None:
    assert tournament_parts({}) == []
    assert tournament_tables({}) == {}


def test_the_model_card_has_the_tournament_where_it_was_run(tmp_path: Path) -> None:
    value = {"mean": 0.5, "low": 0.4, "high": 0.6}
    measured = {name: value for name, _ in COLUMNS} | {name: 0.5 for name, _ in TEXTS}
    row = {"method": "cause", "seeds": 1, **measured, "constraint_met": value}
    table = {"rows": [row], "data": {"pairs": 300, "split": "test"}, "command": "python -m explainers study narratives"}
    for given, there in ((table, False), (table | {"tournament": tournament()}, True)):
        (tmp_path / "evaluation.json").write_text(json.dumps(given))
        parts = list(narrator_evaluation(tmp_path))
        assert (f"### {TITLE}" in parts) == there
        assert all((part in parts) == there for part in tournament_parts(tournament()))


def test_narrators_that_were_measured_apart_have_a_table_and_a_command_of_their_own(tmp_path: Path) -> None:
    value = {"mean": 0.5, "low": 0.4, "high": 0.6}
    measured = {name: value for name, _ in COLUMNS} | {name: 0.5 for name, _ in TEXTS} | {"constraint_met": value}
    for name, method, command in (("evaluation", "cause", "first"), ("evaluation-more", "cause_tokens", "second")):
        row = {"method": method, "seeds": 1, **measured}
        table = {"rows": [row], "data": {"pairs": 300, "split": "test"}, "command": command}
        (tmp_path / f"{name}.json").write_text(json.dumps(table))
    parts = list(narrator_evaluation(tmp_path))
    places = [parts.index(part) for part in ("## Explanations in words", "### CAuSE (tokens)")]
    assert ["first" in parts[places[0] + 1], "second" in parts[places[1] + 1]] == [True, True]
    assert places[0] < places[1]
