from explainers.comparison.decision import decide
from explainers.comparison.runner import run
from explainers.methods.registry import select
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.results.decision import Settings
from explainers.studies.sampling.measure import (
    CONTROL,
    CURVES,
    OPERATORS,
    pass_costs,
)

TEXT = "the film was not unwatchable , but a very dull plot !"
METHODS = ("occlusion", "lime", "kernel_shap")


def test_the_parts_are_all_passes_and_who_asks_first_pays(bert: FrozenModel) -> None:
    decision, _ = decide(bert, TEXT, settings=Settings(samples=100))
    meter = Meter()
    list(run(bert, decision, select(METHODS), meter))
    costs = {cost.part: cost for cost in pass_costs(bert, decision, select(METHODS))}
    assert sum(cost.new for cost in costs.values()) == meter.calls
    assert sum(cost.used for cost in costs.values()) == meter.used
    assert set(costs) == {"Occlusion", "LIME", "KernelSHAP", CURVES, CONTROL, OPERATORS}
    assert costs["Occlusion"].used == len(decision.encoding.units) + 1
    assert costs["Occlusion"].new < costs["Occlusion"].used  # the control removes first units, too
    assert costs["LIME"].new < costs["LIME"].used == 100  # the control has asked a part of these masks
    assert costs["KernelSHAP"].new < costs["KernelSHAP"].used
