"""The regression on readings: what it learns, and how it is checked."""

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explainers.models.frozen_model import FrozenModel
from explainers.studies import reliability as study
from explainers.studies.reliability import Judged, Result, auroc, bins, document, fit, left_out, quality


def sentences(telling: bool, n: int = 240) -> list[Judged]:
    """Reasons hold where `a` is positive, or by chance; `b` says nothing."""
    draw = random.Random(3)
    found = []
    for number in range(n):
        a, b = draw.gauss(0, 1), draw.gauss(0, 1)
        holds = float(a > 0) if telling else float(draw.random() < 0.5)
        found.append(Judged(("r", number // 2), "cause", {"a": a, "b": b}, holds))
    return found


def result(telling: bool) -> Result:
    every = sentences(telling)
    return Result("nli", fit("1", {"cause": "abc"}, [one for one in every if one.is_for_fitting]), tuple(every))


def test_it_learns_what_tells_reasons_that_hold() -> None:
    found = result(telling=True)
    assert found.fitted.weights["a"] > 5 * abs(found.fitted.weights["b"])
    assert found.fitted.chance("cause", {"a": 2.0, "b": 0.0}) > 0.8
    assert found.fitted.chance("cause", {"a": -2.0, "b": 0.0}) < 0.2
    assert quality(found).auroc[1] > 0.9
    assert quality(found).brier[0] < quality(found).constant
    assert quality(found).tells
    low, _, high = bins(found)
    assert np.mean(low.holds) < 0.2 < 0.8 < np.mean(high.holds)


def test_where_nothing_tells_it_no_chances_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "BUNDLES", tmp_path)
    (tmp_path / "nli" / "narrative").mkdir(parents=True)
    telling, other = result(telling=True), result(telling=False)
    telling.write("command")
    assert json.loads(telling.path.read_text(encoding="utf-8"))["regression"]["narrators"] == {"cause": "abc"}
    assert "here they are shown" in document(telling, "command")
    assert not quality(other).tells
    other.write("command")
    assert not other.path.exists()
    assert "here they are not shown" in document(other, "command")


def test_each_narrator_has_a_share_of_its_own() -> None:
    draw = random.Random(5)
    every = [
        Judged(("r", n), writer, {"a": draw.gauss(0, 1)}, float(draw.random() < share))
        for n in range(300)
        for writer, share in (("cause", 0.3), ("cause_phi", 0.8))
    ]
    found = Result(
        "nli", fit("1", {"cause": "x", "cause_phi": "y"}, [o for o in every if o.is_for_fitting]), tuple(every)
    )
    assert found.fitted.chance("cause", {"a": 0.0}) == pytest.approx(0.3, abs=0.08)
    assert found.fitted.chance("cause_phi", {"a": 0.0}) == pytest.approx(0.8, abs=0.08)


def test_each_reading_is_checked_by_the_others() -> None:
    one = result(telling=True)
    assert left_out(one) == []
    assert "reading of its own" not in document(one, "command")
    second = [
        replace(other, input=("s", other.input[1]), writer="cause_phi") for other in sentences(telling=True, n=60)
    ]
    turned = [replace(other, features={**other.features, "a": -other.features["a"]}) for other in second]
    for more, tells in ((second, True), (turned, False)):
        every = (*one.sentences, *more)
        both = Result("nli", fit("1", {"cause": "abc", "cause_phi": "def"}, every), every)
        first, last = left_out(both)
        assert (first.name, len(first.sentences), last.name, len(last.sentences)) == ("r", 240, "s", 60)
        assert last.fitted.offsets["cause_phi"] == 0.0  # nobody had read its sentences
        assert first.fitted.narrators == {"cause_phi": "def"}
        assert (last.quality.auroc[1] > 0.9) == tells
        assert (last.quality.auroc[2] < 0.1) != tells
        assert "| s | 60 |" in document(both, "command")


def test_checked_are_other_inputs_than_those_that_were_fitted() -> None:
    found = result(telling=True)
    fitted = {one.input for one in found.sentences if one.is_for_fitting}
    assert fitted
    assert not fitted & {one.input for one in found.checked}


def test_a_share_of_the_readers_counts_as_a_part() -> None:
    chances, truth = np.array([0.9, 0.1, 0.5]), np.array([1.0, 0.0, 0.5])
    # pairs (holds, does not): 1·1 right, 1·½ right, ½·1 right, and the half with itself ¼ a tie
    assert auroc(chances, truth) == pytest.approx((1 + 0.5 + 0.5 + 0.125) / (1 + 0.5 + 0.5 + 0.25))
    assert np.isnan(auroc(chances, np.ones(3)))


def test_sentences_of_other_weights_are_refused(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "FOLDER", tmp_path)
    (tmp_path / "r.items.csv").write_text("id,input,class,reason\n1,PREMISE: a HYPOTHESIS: b,neutral,so\n")
    (tmp_path / "r.key.jsonl").write_text(
        json.dumps({"id": "1", "writer": "cause", "input": 0, "right": True, "references": [], "checked": None})
    )
    from explainers.errors import DataUnavailable
    from explainers.results.events import Narrative

    with pytest.raises(DataUnavailable, match="Nobody has marked"):
        study.judged(bert, "r", print)
    (tmp_path / "r.marks.me.csv").write_text("id,grammatical,true,supports,informative\n1,yes,yes,yes,yes\n")
    other = Narrative("cause", "The answer is neutral because of another.", 1, (), (), 0.1)
    monkeypatch.setattr(study, "narrate", lambda *_: other)
    with pytest.raises(DataUnavailable, match="Sentence 1 of r is another one today"):
        study.judged(bert, "r", print)
