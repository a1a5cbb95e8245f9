from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.compare import runs, sheet_rows
from app.compare.drawing_options import USUAL
from app.compare.runs import Run
from app.compare.state import CompareState, RowOrder
from explainers.methods.registry import METHODS as METHODS_KNOWN
from explainers.results.answer import CONSENSUS, Answer
from explainers.results.comparison import Comparison

Ran = Callable[..., Run]
METHODS = ("integrated_gradients", "lime", "kernel_shap", "occlusion", "gradient_x_input", "random")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> CompareState:
    state = CompareState()
    monkeypatch.setattr(sheet_rows, "compare_state", lambda: state)
    return state


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """KernelSHAP and LIME are supported, and gradient × input differs."""
    answer = Answer(
        "supported",
        supported=("kernel_shap", "lime"),
        differs=(("gradient_x_input", (1,)),),
        random=("occlusion", "integrated_gradients"),
    )
    monkeypatch.setattr(sheet_rows, "answer_of", lambda _run: answer)


@pytest.mark.usefixtures("session", "answered")
def test_rows_stand_by_groups_and_open_with_consensus_supported_differing_and_random(ran: Ran) -> None:
    methods, featured, titles, _ = sheet_rows.row_order(ran(methods=METHODS), "")
    groups = ("kernel_shap", "lime", "gradient_x_input", "occlusion", "integrated_gradients")
    assert methods == (CONSENSUS, *groups, "random")
    assert featured == {CONSENSUS, "kernel_shap", "gradient_x_input", "lime", "random"}
    assert titles["kernel_shap"]["group"] == titles["lime"]["group"] != titles["gradient_x_input"]["group"]


@pytest.mark.usefixtures("session", "answered")
def test_the_usual_order_and_a_metric_can_be_chosen(ran: Ran) -> None:
    run = ran(methods=METHODS)
    assert sheet_rows.row_order(run, USUAL).methods == (CONSENSUS, *METHODS)
    by_metric = sheet_rows.row_order(run, "aopc_c").methods[1:]
    values = [run.result(name).metrics["aopc_c"] for name in by_metric]  # type: ignore[union-attr]
    assert values == sorted(values, reverse=True)


@pytest.mark.usefixtures("answered")
def test_the_order_stays_while_words_are_removed_and_follows_when_asked(
    ran: Ran, session: CompareState, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sheet_rows.row_order(ran(methods=METHODS), "")
    other = Answer("supported", supported=("occlusion", *METHODS[:3], METHODS[4]))
    monkeypatch.setattr(sheet_rows, "answer_of", lambda _run: other)
    run = ran(methods=METHODS, removed=(1,))
    kept = sheet_rows.row_order(run, "")
    assert (kept.methods, kept.featured) == (before.methods, before.featured)
    assert kept.groups["lime"]["title"] == f"{before.groups['lime']['title']}, in the earlier answer"
    assert {name for name, group in kept.groups.items() if not group["title"]} == {
        name for name, group in before.groups.items() if not group["title"]
    }
    assert CONSENSUS in kept.groups
    assert not sheet_rows.is_sorted(run, "")
    sheet_rows.sort_again()
    assert sheet_rows.row_order(run, "").methods[1] == "occlusion"
    assert sheet_rows.is_sorted(run, "")


def test_before_all_methods_are_done_the_order_is_the_usual_one_and_not_kept(ran: Ran, session: CompareState) -> None:
    run = ran(methods=METHODS)
    run.status = "running"
    order: RowOrder = sheet_rows.row_order(run, "")
    assert order.methods == (CONSENSUS, *METHODS)
    assert len(order.featured) == sheet_rows.FEATURED + 2
    assert session.row_order is None


@pytest.mark.usefixtures("session")
def test_rows_do_not_change_places_while_a_metric_comes_in(ran: Ran) -> None:
    run = ran(methods=METHODS)
    run.status = "running"
    assert sheet_rows.row_order(run, "aopc_c").methods == (CONSENSUS, *METHODS)


@pytest.mark.usefixtures("answered", "session")
def test_an_order_without_all_methods_stays_too_until_the_rest_is_done(
    ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, without, rest = ran(methods=METHODS), ran(methods=METHODS, removed=(1,)), ran(methods=METHODS)
    with monkeypatch.context() as patch:
        patch.setattr(Comparison, "lacks_methods", property(lambda _comparison: True))
        before = sheet_rows.row_order(short, "")
        assert before.methods[1] == "kernel_shap"
    other = Answer("supported", supported=("occlusion", *METHODS[:3], METHODS[4]))
    monkeypatch.setattr(sheet_rows, "answer_of", lambda _run: other)
    for status in ("running", "done"):
        without.status = cast(Any, status)
        assert sheet_rows.row_order(without, "").methods == before.methods
    rest.status = "running"
    assert sheet_rows.row_order(rest, "") == before
    rest.status = "done"
    assert sheet_rows.row_order(rest, "").methods[1] == "occlusion"
    assert sheet_rows.row_order(without, "").methods[1] == "occlusion"


def test_an_answer_is_made_once_per_state_of_the_results(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []

    def counted(comparison: Comparison, *, finished: bool) -> Comparison:
        calls.append(finished)
        return replace(comparison, answer=Answer("pending"))

    monkeypatch.setattr(runs, "answered", counted)
    run = ran(methods=("occlusion",))
    assert calls == [False] * 4 + [True]  # a result, the control, two operators; and the end
    assert runs.answer_of(run) is runs.answer_of(run)
    assert len(calls) == 5


def test_weights_that_a_person_has_picked_are_shown_in_full() -> None:
    specs = [METHODS_KNOWN.get(name) for name in ("integrated_gradients", "lime", "kernel_shap", "aml", "random")]
    specs.insert(4, METHODS_KNOWN.get("aml").variant("mine"))
    run = cast(Any, SimpleNamespace(columns={spec.id: SimpleNamespace(spec=spec) for spec in specs}))
    shown = sheet_rows.featured(run, ["lime"], tuple(run.columns))
    assert shown == {"lime", "aml:mine", "integrated_gradients", "random"}
