"""The table of fused attention, on an encoder that is small enough for a test."""

import pytest

from explainers.models import states
from explainers.studies import attention
from explainers.studies.attention import attention_document


def test_every_row_is_measured_and_the_threshold_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "SIZES", (attention.Size("small", 24, 1, 2),))
    monkeypatch.setattr(attention, "TOKENS", (8, 16))
    monkeypatch.setattr(attention, "AT_ONCE", 64)
    before = states.LONG
    rows = list(attention.rows())
    assert before == states.LONG
    assert [(row["tokens"], row["erasure"], row["masks"]) for row in rows] == [
        (8, "mask", 8), (8, "delete", 8), (16, "mask", 4), (16, "delete", 4),
    ]  # fmt: skip
    assert all(row["plain"] > 0 and row["fused"] > 0 and row["ratio"] > 0 for row in rows)
    text = attention_document(rows, before)
    assert f"from {before} tokens" in text
    assert "| small | 16 | `delete` | 4 |" in text
