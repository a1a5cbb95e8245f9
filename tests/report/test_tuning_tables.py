from typing import Any

from explainers.studies.tuning import tuning_markdown


def trial(aopc_c: float, aopc_s: float, variant: str = "") -> dict[str, Any]:
    weights = {"lambda_p": 0.5, "lambda_inv": 0.25, "lambda_a": 1.0, "aopc_c": aopc_c, "aopc_s": aopc_s}
    return {"variant": variant, **weights} if variant else weights


def test_the_best_trials_are_compared_with_the_weights_that_are_shipped() -> None:
    trials = [
        trial(0.3, 0.1, "difference"),
        trial(0.4, 0.3, "comp"),
        trial(0.2, 0.1, "suff"),
        trial(0.375, 0.125),
        trial(0.1, 0.05),
    ]
    table = {"epochs": 2, "texts": 450, "validation": 100, "trials": trials}
    best = {"difference": trials[3], "comp": trials[1], "suff": trials[4]}
    note, rows, gains = tuning_markdown({**table, "best": best}).split("\n\n")
    assert note.startswith("Every trial is a training of 2 epochs on 450 texts, scored on 100 validation texts")
    assert rows.splitlines()[2:] == [
        "| 0: λ of `difference` | 0.50 | 0.25 | 1.00 | 0.300 | 0.100 | 0.200 |  |",
        "| 1: λ of `comp` | 0.50 | 0.25 | 1.00 | 0.400 | 0.300 | 0.100 | AOPC-C |",
        "| 2: λ of `suff` | 0.50 | 0.25 | 1.00 | 0.200 | 0.100 | 0.100 |  |",
        "| 3 | 0.50 | 0.25 | 1.00 | 0.375 | 0.125 | 0.250 | AOPC-C minus AOPC-S |",
        "| 4 | 0.50 | 0.25 | 1.00 | 0.100 | 0.050 | 0.050 | AOPC-S |",
    ]
    assert gains == (
        "The best trial is better than the λ that are shipped for the criterion by 0.050 in AOPC-C minus AOPC-S, "
        "0.000 in AOPC-C, 0.050 in AOPC-S."
    )
