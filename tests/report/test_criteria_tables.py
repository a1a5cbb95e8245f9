import json
from pathlib import Path

from explainers.studies.cards.model_card import criteria_section


def write(
    folder: Path, variants: dict[str, tuple[str, str]], figures: dict[str, tuple[float, float, float, float]]
) -> None:
    """Weights by variant with criterion and norm, and by method id SIM, AOPC-C, AOPC-S and CONS."""
    (folder / "learned").mkdir()
    for variant, (criterion, norm) in variants.items():
        card = {"variant": variant, "recipe": {"criterion": criterion, "norm": norm, "smat": variant == "smat"}}
        (folder / "learned" / f"ivra-{variant}.json").write_text(json.dumps(card), encoding="utf-8")
    tables = {
        "evaluation": [
            {"method": id, "erasure": erasure, "aopc_c": {"mean": comp * scale}, "aopc_s": {"mean": suff}}
            for id, (_, comp, suff, _) in figures.items()
            for erasure, scale in (("mask", 1), ("zero", 9))
        ],
        "consistency": [{"method": id, "cons": {"mean": cons}} for id, (_, _, _, cons) in figures.items()],
        "simulatability": [{"method": id, "accuracy": sim} for id, (sim, *_) in figures.items()],
    }
    for name, rows in tables.items():
        (folder / f"{name}.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")


def test_gains_are_relative_to_weights_for_the_criterion_alone_and_of_the_same_norm(tmp_path: Path) -> None:
    variants = {
        "comp-softmax": ("comp", "softmax"),
        "comp-suff-softmax": ("comp+suff", "softmax"),
        "suff-softmax": ("suff", "softmax"),
        "suff-sparsemax": ("suff", "sparsemax"),
        "smat": ("comp", "softmax"),
    }
    figures = {
        "ivra": (0.5, 0.25, 0.2, -0.1),
        "ivra:comp-suff-softmax": (0.6, 0.5, 0.15, 0.1),
        "ivra:suff-softmax": (0.7, 0.125, 0.1, 0.2),
        "ivra:suff-sparsemax": (0.8, 0.75, 0.3, 0.3),
        "ivra:smat": (0.9, 0.75, 0.3, 0.3),
    }
    write(tmp_path, variants, figures)
    title, table, note = criteria_section(tmp_path)
    assert title == "## Criteria against each other"
    assert table.splitlines()[2:] == [
        "| comp, softmax | 0.500 | 0.250 | 0.200 (-100 %) | -0.100 |",
        "| comp, suff, softmax | 0.600 | 0.500 (+100 %) | 0.150 (-50 %) | 0.100 |",
        "| suff, softmax | 0.700 | 0.125 (-50 %) | 0.100 | 0.200 |",
        "| suff, sparsemax | 0.800 | 0.750 | 0.300 | 0.300 |",
    ]
    assert "`mask`" in note


def test_without_measurements_there_is_no_section(tmp_path: Path) -> None:
    assert list(criteria_section(tmp_path)) == []
    write(tmp_path, {"comp-softmax": ("comp", "softmax")}, {"ivra": (0.5, 0.25, 0.2, -0.1)})
    assert list(criteria_section(tmp_path)) == []
