import pytest

from explainers.comparison.budget import expected_passes, seconds_left
from explainers.comparison.decision import decide
from explainers.comparison.runner import run, with_pool
from explainers.methods.registry import default_methods, select
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.results.decision import Settings

WORDS = "the film was not good but the plot and a dull story"


@pytest.mark.parametrize("samples", [0, 50])
@pytest.mark.parametrize("count", [5, 9, 12, 40])
def test_a_comparison_without_sentences_takes_no_more_passes_than_expected(
    bert: FrozenModel, count: int, samples: int
) -> None:
    text = " ".join((WORDS.split() * 4)[:count])
    settings, meter, model = Settings(samples=samples, steps=10), Meter(), with_pool(bert)
    decision, _ = decide(model, text, settings=settings)
    specs = select(default_methods())
    for _event in run(model, decision, specs, meter, narrators=()):
        pass
    expected = expected_passes(specs, settings, len(decision.encoding.units), len(model.erasures))
    assert meter.calls <= meter.used <= expected
    assert count < 9 or expected <= 6 * meter.used  # and it is not without meaning


def test_what_is_left_follows_from_the_pace_so_far() -> None:
    assert seconds_left(1000, Meter(calls=5, pooled=500), 2.0) is None
    assert seconds_left(1000, Meter(calls=60), 0.5) is None
    assert seconds_left(1000, Meter(calls=60, pooled=40), 2.0) == pytest.approx(30.0)
    assert seconds_left(1000, Meter(calls=1200), 2.0) == 0.0
