"""What a whole comparison asks of the model, by part: answers that it uses, and passes that nobody has asked before."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from explainers.comparison.runner import Event, run
from explainers.methods.registry import method_spec
from explainers.methods.spec import MethodSpec
from explainers.models.meter import Meter
from explainers.results.attribution import Attribution
from explainers.results.comparison import MethodResult, Question, RandomControl
from explainers.results.operator_check import OperatorCheck

CURVES, CONTROL, OPERATORS, OTHER = (
    "curves, metrics and their noise",
    "random control",
    "other erasure operators",
    "everything else",
)


@dataclass(frozen=True)
class PassCost:
    """Of one part of a comparison; who asks first pays for all."""

    part: str
    used: int
    new: int


def pass_costs(question: Question, specs: Iterable[MethodSpec]) -> tuple[PassCost, ...]:
    """In the order in which the parts begin; together they are all passes."""
    meter = Meter()
    costs: dict[str, PassCost] = {}
    used = new = 0
    for event in run(question, specs, meter):
        part = part_of(event)
        before = costs.get(part, PassCost(part, 0, 0))
        costs[part] = PassCost(part, before.used + meter.used - used, before.new + meter.calls - new)
        used, new = meter.used, meter.calls
    return tuple(_those_that_ask(costs.values()))


def part_of(event: Event) -> str:
    """Which part asked what was asked before this event."""
    if isinstance(event, Attribution):
        return method_spec(event.method).name
    kinds = {MethodResult: CURVES, RandomControl: CONTROL, OperatorCheck: OPERATORS}
    return kinds.get(type(event), OTHER)


def _those_that_ask(costs: Iterable[PassCost]) -> Iterator[PassCost]:
    return (cost for cost in costs if cost.used)
