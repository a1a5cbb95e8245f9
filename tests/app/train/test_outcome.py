"""What the page Train draws of a training's validations."""

import pytest
from streamlit.testing.v1 import AppTest


def page(metrics: dict[str, float]) -> None:
    from app.store import Job
    from app.train.log import Epoch, Log
    from app.train.outcome import curves

    log = Log(steps=2, terms={"total": {1: 0.5, 2: 0.4}}, epochs=[Epoch(1, 2, 1.0, metrics, ())])
    curves(Job(id=1, method="ivra"), log)


@pytest.mark.parametrize("cons", [True, False])
def test_consistency_is_drawn_where_weights_are_selected_by_it(cons: bool) -> None:
    metrics = {"aopc_c": 0.25, "aopc_s": 0.125, **({"cons": 0.5} if cons else {})}
    app = AppTest.from_function(page, kwargs={"metrics": metrics}).run()
    assert not app.exception
    (caption,) = app.caption
    joint = ", " if cons else " and "
    assert f"AOPC-C (higher is better){joint}AOPC-S (lower is better)" in caption.value
    assert ("CONS (higher is better)" in caption.value) == cons
    drawn = [chart.proto.spec for chart in app.get("plotly_chart")]
    assert ("CONS" in drawn[1]) == cons
