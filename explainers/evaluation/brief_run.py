"""A row explained where means over a set are wanted: as on the Compare page, with about half of the passes.

How far inputs differ decides how well a mean over them is known, not what sampling adds within one. So no input needs
to be settled:

- LIME and KernelSHAP take as many masks as the plan says, half of which are those of the random orders. Some methods
  have settings of their own (`MethodSpec.brief`).
- Curves are asked at the counts of the metrics and two more; metrics that need every count, and the noise of the
  others, are not measured.
- Under other erasure operators the random orders are rotations of one: each is as random as any other, and together
  they erase every unit equally often, so that few have the mean of many.

What an operator is asked goes through the model in one go, after all scores are known.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from explainers.comparison import consensus, measuring, runner
from explainers.evaluation.names import ROTATIONS
from explainers.methods.registry import MethodSpec, applicable, method_spec
from explainers.metrics.erasure import MaskedPredictor, erasure_masks
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import needs_one_window
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import Attribution, metric_counts, ranking
from explainers.results.decision import Decision
from explainers.results.events import Event, Failure, OperatorCheck

Scores = tuple[float, ...]


def brief_run(model: FrozenModel, decision: Decision, specs: Iterable[MethodSpec], meter: Meter) -> Iterator[Event]:
    """Yield the random control, the results or failures of the methods and their consensus, and the operator checks.

    The model has a pool of answers. A method that fails yields `Failure`, and the others go on.
    """
    encoding, label, seed = decision.encoding, decision.label, decision.settings.seed
    metered = model.metered(meter)
    answers = MaskedPredictor(metered, encoding, decision.settings.erasure)
    control = measuring.run_random_control(answers, label, seed, searched=0)
    if control is not None:
        yield control
    explained: list[Attribution] = []
    for spec in applicable(specs, runner.example_of(encoding)):
        if not spec.can_read(encoding):
            yield Failure(spec.id, needs_one_window(spec.name, encoding))
            continue
        try:
            *_, last = runner.estimates(spec.in_brief, metered, decision, meter)
            explained.append(last)
        except Exception as error:  # one method must not end the others
            yield runner.failure(spec.id, error)
    rows = consensus.members(answers, explained, decision.target)
    if len(rows) >= consensus.FEWEST_METHODS:
        explained.append(Attribution(CONSENSUS, encoding, label, consensus.consensus_scores(rows), signed=False))
    counts = brief_counts(len(encoding.units))
    if explained:
        answers.probabilities(np.vstack([erasure_masks(one.scores, counts, kept=True) for one in explained]))
    yield from (measuring.measure_at(answers, one, counts) for one in explained)
    checked = [one for one in explained if runner.is_checked(method_spec(one.method))]
    orders = rotations(measuring.random_orders(encoding, seed)[0], ROTATIONS)
    for erasure in decision.other_erasures if checked else ():
        try:
            yield measuring.check_operator(model, decision, erasure, checked, orders, meter)
        except Exception as error:  # what was measured under the operator of the settings stands
            yield OperatorCheck(erasure, failure=runner.failure(erasure, error).reason)


def brief_counts(units: int) -> tuple[int, ...]:
    """Return the counts at which curves are asked: those of the metrics, three quarters, and all but one, between which
    p often jumps."""
    return tuple(sorted({*metric_counts(units), round(0.75 * units), units - 1}))


def rotations(order: Scores, count: int) -> list[Scores]:
    """Return scores (units,) of so many orders, which begin at equal distances in the one of these scores and go round.

    Fewer where there are fewer units.
    """
    units = len(order)
    places = np.argsort(ranking(order))  # (units,)
    starts = dict.fromkeys(number * units // count for number in range(count))
    return [tuple((-((places - start) % units)).astype(float).tolist()) for start in starts]
