from collections.abc import Callable
from contextlib import suppress
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import pytest

from app.compare.computation import OperatorMemory, ResultMemory
from app.compare.engine import Engine
from app.compare.runs import Request, Run
from explainers.datasets.example import Example
from explainers.results.decision import Settings
from explainers.results.events import OperatorCheck

Ran = Callable[..., Run]
Ask = Callable[..., Request]
ANY: Any = ("1", "bag", Request("bag", Example("a text"), None, (), Settings()))


def methods_of(run: Run) -> dict[str, set[str]]:
    return {check.erasure: set(check.metrics) for check in run.comparison().operator_checks}


def test_a_run_ends_with_the_other_operators(ran: Ran) -> None:
    run = ran()
    assert methods_of(run) == {erasure: {"lime", "occlusion", "consensus"} for erasure in ("delete", "zero")}
    assert [check.erasure for check in run.comparison().operator_checks] == ["delete", "zero"]
    assert all(check.random and not check.failure for check in run.comparison().operator_checks)


def test_another_choice_of_methods_asks_only_about_the_new_ones(ran: Ran) -> None:
    one = ran(methods=("occlusion",))
    both = ran()
    assert methods_of(both) == {erasure: {"lime", "occlusion", "consensus"} for erasure in ("delete", "zero")}
    assert both.comparison().operator_checks[0].random == one.comparison().operator_checks[0].random
    fewer = ran(methods=("lime",))
    assert fewer.meter.calls == 0
    assert methods_of(fewer) == {"delete": {"lime"}, "zero": {"lime"}}
    assert fewer.comparison().operator_checks[0].metrics["lime"] == both.comparison().operator_checks[0].metrics["lime"]


def test_fresh_asks_again(engine: Engine, request_for: Ask, ran: Ran, over: Callable[[Run], Run]) -> None:
    first = ran()
    again = over(engine.submit(request_for(), fresh=True))
    assert again.meter.calls == first.meter.calls
    assert methods_of(again) == methods_of(first)


def test_other_weights_are_not_recalled() -> None:
    memory, check = ResultMemory(), OperatorCheck("zero", {"aml": {"aopc_c": 0.5}}, {"aopc_c": (0.1,)})
    OperatorMemory(memory, ANY, {"aml": "old weights"}).note(check)
    assert OperatorMemory(memory, ANY, {"aml": "old weights"}).recall() == (check,)
    assert OperatorMemory(memory, ANY, {"aml": "new weights"}).recall() == (
        OperatorCheck("zero", {}, {"aopc_c": (0.1,)}),
    )
    assert OperatorMemory(memory, ("2", *ANY[1:]), {"aml": "old weights"}).recall() == ()


@pytest.mark.parametrize("method", ["aml", "lime"])
def test_what_is_stored_joins_what_is_remembered(method: str) -> None:
    memory, keys = ResultMemory(), {"aml": 1, "lime": 2}
    OperatorMemory(memory, ANY, keys).note(OperatorCheck("zero", {"aml": {"aopc_c": 0.5}}, {"aopc_c": (0.1,)}))
    stored = OperatorCheck("zero", {"lime": {"aopc_c": 0.4}}, {"aopc_c": (0.1,)})
    (check,) = OperatorMemory(memory, ANY, keys).recall([stored])
    assert check.metrics[method] == {"aopc_c": {"aml": 0.5, "lime": 0.4}[method]}


def test_a_failure_is_not_remembered() -> None:
    memory = ResultMemory()
    OperatorMemory(memory, ANY, {}).note(OperatorCheck("zero", failure="There is not enough memory."))
    assert not memory.results


def test_a_persons_order_is_not_remembered() -> None:
    memory, keys = ResultMemory(), {"lime": "lime", "guess": "an order"}
    check = OperatorCheck("zero", {"lime": {"aopc_c": 0.5}, "guess": {"aopc_c": 0.1}}, {"aopc_c": (0.1,)})
    OperatorMemory(memory, ANY, keys).note(check)
    ((_, by_key),) = memory.results.values()  # type: ignore[misc]
    assert by_key == {"lime": {"aopc_c": 0.5}}


def test_two_runs_that_end_at_once_are_both_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, keys, both = ResultMemory(), {"aml": 1, "lime": 2}, Barrier(2)
    original = ResultMemory.recall

    def slow(memory: ResultMemory, key: Any) -> object | None:
        remembered = original(memory, key)
        with suppress(BrokenBarrierError):  # with the lock the second run has not read yet
            both.wait(0.1)
        return remembered

    monkeypatch.setattr(ResultMemory, "recall", slow)
    checks = [OperatorCheck("zero", {method: {"aopc_c": 0.5}}, {"aopc_c": (0.1,)}) for method in keys]
    threads = [Thread(target=OperatorMemory(memory, ANY, keys).note, args=(check,)) for check in checks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ((_, by_key),) = memory.results.values()  # type: ignore[misc]
    assert set(by_key) == {1, 2}
