import pytest

from explainers.errors import Cancelled
from explainers.models.calls import Meter


def test_rows_that_went_through_are_counted() -> None:
    meter = Meter()
    for rows in (3, 5):
        with meter.batch(rows):
            pass
    assert meter.calls == 8
    assert meter.seconds > 0


def test_a_batch_that_broke_is_not_counted() -> None:
    meter = Meter()
    with pytest.raises(RuntimeError, match="injected"), meter.batch(3):
        raise RuntimeError("injected")
    assert meter.calls == 0


def test_a_stopped_meter_lets_no_batch_begin() -> None:
    meter, entered = Meter(), []
    meter.cancel.set()
    with pytest.raises(Cancelled), meter.batch(3):
        entered.append(True)
    assert (entered, meter.calls) == ([], 0)
