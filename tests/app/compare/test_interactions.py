import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.compare import follow_ups
from app.compare.engine import Engine
from app.compare.follow_ups import (
    INTERACTIONS,
    MOST_UNITS,
    interactions_of,
    known_interactions,
    samples_for,
    units_among,
)
from app.compare.measurements import ROW, SHOWN, interactions_html
from app.compare.runs import FollowUp, Run
from explainers.attribution.interactions import PairInteractions, coefficient_count
from explainers.models.calls import Meter

PAIRS = {(0, 1): 0.3, (0, 2): -0.1, (1, 4): 0.01}


@pytest.fixture
def run_over(engine: Engine, request_for: Callable[..., Any], over: Callable[[Run], Run]) -> Run:
    """A run about "a good film but dull"."""
    return over(engine.submit(request_for(methods=("kernel_shap", "random"))))


def asked(engine: Engine, run: Run) -> FollowUp[PairInteractions]:
    follow_up = interactions_of(engine, run)
    end = time.monotonic() + 20
    while follow_up.active and time.monotonic() < end:
        time.sleep(0.002)
    assert not follow_up.active
    return follow_up


def drawing(run: Run, pairs: dict[tuple[int, int], float], spread: float = 0.02) -> str:
    result = PairInteractions(0, tuple(range(5)), (0.0,) * 5, pairs, dict.fromkeys(pairs, spread), 32)
    return interactions_html(run.comparison(), result, Meter(calls=3))


def test_they_are_computed_once_from_what_is_known(engine: Engine, run_over: Run) -> None:
    state = asked(engine, run_over)
    assert (state.error, state.meter.calls) == ("", 0)  # five words: KernelSHAP has asked all 32 masks
    assert state.result is not None
    assert len(state.result.pairs) == 10
    assert max(state.result.spreads.values()) == pytest.approx(0, abs=1e-9)
    assert interactions_of(engine, run_over) is known_interactions(run_over) is state
    assert not follow_ups.pending(run_over)


def test_of_many_units_those_with_the_largest_scores_are_asked(
    engine: Engine, run_over: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert units_among(run_over) == (None, "")
    monkeypatch.setattr(follow_ups, "MOST_UNITS", 4)
    monkeypatch.setattr(follow_ups, "FEATURED_UNITS", 3)
    among, method = units_among(run_over)
    assert method == "kernel_shap"  # not the random order
    scores = next(
        result.attribution.scores for result in run_over.comparison().results if result.attribution.method == method
    )
    assert among is not None
    left_out = max(abs(score) for unit, score in enumerate(scores) if unit not in among)
    assert min(abs(scores[unit]) for unit in among) >= left_out
    result = asked(engine, run_over).result
    assert result is not None
    assert (result.units, len(result.pairs)) == (among, 3)
    html = interactions_html(run_over.comparison(), result, Meter())
    assert html.count("<li>") == 3
    assert "The other 2 stay in place." in html


def test_there_are_always_enough_samples_for_as_many_units() -> None:
    for units in range(2, MOST_UNITS + 1):
        assert samples_for(units) >= min(2**units, 2 * coefficient_count(units))
    assert samples_for(3) == 8


def test_stopping_the_run_stops_them(engine: Engine, run_over: Run) -> None:
    state = run_over.follow_ups[INTERACTIONS] = FollowUp()
    run_over.stop()
    assert state.meter.cancel.is_set()


def test_strong_pairs_have_arcs_between_the_rows_of_their_words(run_over: Run) -> None:
    html = drawing(run_over, PAIRS)
    arc = r'<i class="(\w+)" style="top: (\d+)px; height: (\d+)px; width: (\d+)px; border-width: (\d+)px;'
    arcs = re.findall(arc, html)
    assert [(kind, int(top), int(height)) for kind, top, height, _, _ in arcs] == [
        ("support", ROW // 2, ROW),
        ("oppose", ROW // 2, 2 * ROW),
    ]  # the third is within 1.96 standard deviations
    assert int(arcs[0][3]) < int(arcs[1][3])  # the nearer words have the narrower arc
    assert int(arcs[0][4]) > int(arcs[1][4])  # the stronger pair has the thicker line


def test_the_table_says_all_that_the_drawing_says(run_over: Run) -> None:
    html = drawing(run_over, PAIRS)
    rows = re.findall(r'<th scope="row">(.*?)</th><td class="number">(.*?)</td>', html)
    assert rows == [
        ("“a” × “good”", "+0.30 ± 0.02"),
        ("“a” × “film”", "−0.10 ± 0.02"),
        ("“good” × “dull”", "+0.01 ± 0.02"),
    ]
    assert 'aria-hidden="true"' in html
    assert "32 masks, 3 of them new" in html
    assert "2 of the pairs" in html


def test_without_a_strong_pair_there_is_no_arc(run_over: Run) -> None:
    html = drawing(run_over, PAIRS, spread=1.0)
    assert "<i class" not in html
    assert "there is no arc" in html


def test_no_more_pairs_are_shown_than_can_be_read(run_over: Run) -> None:
    many = {(first, last): 0.1 for first in range(5) for last in range(first + 1, 5)}
    assert drawing(run_over, many).count('<th scope="row">') == SHOWN < len(many)


def test_words_are_escaped(run_over: Run) -> None:
    comparison = run_over.comparison()
    decision = comparison.decision
    units = tuple(replace(unit, text="<img src=x>") for unit in decision.encoding.units)
    card = replace(decision.card, labels=("<b>", "<b>"))
    decision = replace(decision, encoding=replace(decision.encoding, units=units), card=card)
    given = replace(comparison, decision=decision)
    result = PairInteractions(0, tuple(range(5)), (0.0,) * 5, PAIRS, dict.fromkeys(PAIRS, 0.01), 32)
    html = interactions_html(given, result, Meter())
    assert "<img" not in html
    assert "<b>" not in html
