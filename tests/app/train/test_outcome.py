"""What the page Train draws of a training's validations."""

import pytest
from streamlit.testing.v1 import AppTest

from app.train.outcome import kept_weights


def page(metrics: dict[str, float], epochs: int = 2, steps: int = 2) -> None:
    from app.store import Job
    from app.train.outcome import Epoch, Log, curves

    terms = {name: {step: 0.5 / step for step in range(1, steps + 1)} for name in ("L_p", "total")}
    log = Log(steps=2, terms=terms, epochs=[Epoch(number, 2, 1.0, metrics, ()) for number in range(1, epochs + 1)])
    curves(Job(id=1, method="ivra", folder="missing"), log)


@pytest.mark.parametrize("cons", [True, False])
def test_consistency_is_drawn_where_weights_are_selected_by_it(cons: bool) -> None:
    metrics = {"aopc_c": 0.25, "aopc_s": 0.125, **({"cons": 0.5} if cons else {})}
    app = AppTest.from_function(page, default_timeout=60, kwargs={"metrics": metrics}).run()
    assert not app.exception
    (caption,) = app.caption
    joint = ", " if cons else " and "
    assert f"AOPC-C (higher is better){joint}AOPC-S (lower is better)" in caption.value
    assert ("CONS (higher is better)" in caption.value) == cons
    drawn = [chart.proto.spec for chart in app.get("plotly_chart")]
    assert ("CONS" in drawn[1]) == cons


def test_what_has_one_point_is_told_in_words() -> None:
    app = AppTest.from_function(
        page, default_timeout=60, kwargs={"metrics": {"aopc_c": 0.25, "aopc_s": 0.125}, "epochs": 1, "steps": 1}
    )
    first, held_out = (element.proto.body for element in app.run().get("html"))
    assert ">After the first step: total 0.500, L_p 0.500.<" in first
    assert ">On held-out texts after epoch 1: AOPC-C 0.250, AOPC-S 0.125.<" in held_out
    assert not app.get("plotly_chart")


def test_a_finished_training_says_which_weights_it_kept() -> None:
    kept = kept_weights({"steps": {"kept": 8, "all": 1032}})
    assert kept == "The weights after step 8 of 1,032 are kept; the card has their figures."
    assert kept_weights({}) == kept_weights({"steps": 1032}) == ""
