from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.compare import row_order, runs, verdicts
from app.compare.drawing_options import USUAL
from app.compare.row_order import RowOrder
from app.compare.runs import Run
from explainers.comparison.verdict import Verdict
from explainers.methods.registry import METHODS as METHODS_KNOWN

Ran = Callable[..., Run]
METHODS = ("integrated_gradients", "lime", "kernel_shap", "occlusion", "gradient_x_input", "random")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    state: dict[str, object] = {}
    monkeypatch.setattr(row_order.st, "session_state", state)
    return state


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """KernelSHAP leads, and gradient × input disagrees with it."""
    order = ("kernel_shap", "lime", "occlusion", "integrated_gradients", "gradient_x_input", "random")
    verdict = Verdict("clear", ("kernel_shap",), order=order, dissenter="gradient_x_input")
    monkeypatch.setattr(row_order, "verdict_of", lambda _run: verdict)


@pytest.mark.usefixtures("session", "judged")
def test_rows_stand_by_evidence_and_open_with_winner_dissenter_and_random(ran: Ran) -> None:
    methods, featured = row_order.row_order(ran(methods=METHODS), "")
    assert methods[:2] == ("kernel_shap", "lime")
    assert featured == {"kernel_shap", "gradient_x_input", "lime", "random"}


@pytest.mark.usefixtures("session", "judged")
def test_the_usual_order_and_a_metric_can_be_chosen(ran: Ran) -> None:
    run = ran(methods=METHODS)
    assert row_order.row_order(run, USUAL).methods == METHODS
    by_metric = row_order.row_order(run, "aopc_c").methods
    values = [run.columns[name].result.metrics["aopc_c"] for name in by_metric]  # type: ignore[union-attr]
    assert values == sorted(values, reverse=True)


@pytest.mark.usefixtures("judged")
def test_the_order_stays_while_words_are_removed_and_follows_when_asked(
    ran: Ran, session: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = row_order.row_order(ran(methods=METHODS), "")
    other = Verdict("clear", ("occlusion",), order=("occlusion", *METHODS[:3], *METHODS[4:]))
    monkeypatch.setattr(row_order, "verdict_of", lambda _run: other)
    run = ran(methods=METHODS, removed=(1,))
    assert row_order.row_order(run, "") == before
    assert not row_order.is_sorted(run, "")
    row_order.sort_again()
    assert row_order.row_order(run, "").methods[0] == "occlusion"
    assert row_order.is_sorted(run, "")


def test_before_all_methods_are_done_the_order_is_the_usual_one_and_not_kept(
    ran: Ran, session: dict[str, object]
) -> None:
    run = ran(methods=METHODS)
    run.status = "running"
    order: RowOrder = row_order.row_order(run, "")
    assert order.methods == METHODS
    assert len(order.featured) == row_order.FEATURED + 1
    assert session == {}


def test_a_verdict_is_made_once_per_state_of_the_results(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []

    def counted(_comparison: object, *, finished: bool) -> Verdict:
        calls.append(finished)
        return Verdict("pending")

    monkeypatch.setattr(runs, "verdict", counted)
    run = ran(methods=("occlusion",))
    assert verdicts.verdict_of(run) is verdicts.verdict_of(run)
    assert calls == [True]


def test_weights_that_a_person_has_picked_are_shown_in_full() -> None:
    specs = [METHODS_KNOWN.get(name) for name in ("integrated_gradients", "lime", "kernel_shap", "aml", "random")]
    specs.insert(4, METHODS_KNOWN.get("aml").variant("mine"))
    run = cast(Any, SimpleNamespace(columns={spec.id: SimpleNamespace(spec=spec) for spec in specs}))
    shown = row_order.featured(run, ["lime"], tuple(run.columns))
    assert shown == {"lime", "aml:mine", "integrated_gradients", "random"}
