"""The study of what fits take, with a small model and a pace that is given."""

from pathlib import Path

import pytest

from explainers.learned.fit import FitPace
from explainers.models.frozen_model import FrozenModel
from explainers.studies.speed import sizes


def test_a_fit_to_a_thousand_texts_holds_a_tenth_of_them_out(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pace = FitPace(predicting=0.0, learning=0.5, once=0.0, keeping=0.0, kept=0.0, judging=0.6)
    monkeypatch.setattr(sizes, "encoder", lambda _size: bert)
    monkeypatch.setattr(sizes.fit, "measured_pace", lambda *_args: pace)
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(f"good film {'very ' * number}" for number in range(20)), encoding="utf-8")
    times = sizes.fit_times(file, 0)
    assert times["aml"] == pytest.approx(
        {
            "texts in a step": 20,
            "step, s": 10.0,
            "fit, min": (900 * 5 * 0.5 + 100 * 6 * 0.6) / 60,  # five epochs, and validations after each and of chance
            "of these validations, min": 6.0,
        }
    )
    assert list(times) == ["threads", "mean tokens", "aml", "cimi", "ciem", "ivra", "cxplain"]
