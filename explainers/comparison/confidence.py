"""How likely the consensus finds exactly the decisive units, from what a comparison knows without the truth.

    P(right) = 1 / (1 + exp(-(b₀ + b₁ agreement + b₂ units + b₃ pair + b₄ learned)))

`learned` is 1 where the learned methods are among the methods. If this predicts no better than the share of right
consensuses among inputs of about as many units (`BANDS`), on kinds of shortcuts that it was not fitted to, that share
is the confidence ("rule" in the file).

Measured where the decisive words were planted (`python -m explainers study planted-table`, assets/confidence.json).
"Right" means that the k units of highest consensus are the k planted words. Outside what was measured there is no
confidence.
"""

import json
from bisect import bisect_right
from collections.abc import Collection
from functools import lru_cache
from typing import Any

import numpy as np

from explainers.installation import ASSETS
from explainers.results.answer import Confidence
from explainers.results.attribution import top_count

CONFIDENCE = ASSETS / "confidence.json"
REGRESSION, BASE_RATE = "regression", "base rate"
PREDICTORS = ("intercept", "agreement", "units", "pair", "learned")
BANDS = (1, 16, 31)  # units with which each begins


def band_of(units: int) -> int:
    """Return the number of the band in `BANDS`."""
    return bisect_right(BANDS, units) - 1


@lru_cache(maxsize=1)
def measured() -> dict[str, Any]:
    """Return what was measured: coefficients and their covariance, ranges of the predictors, shares of right ones."""
    content: dict[str, Any] = json.loads(CONFIDENCE.read_text(encoding="utf-8"))
    return content


def confidence(
    agreement: float, units: int, *, texts: int, methods: Collection[str], image: bool = False
) -> Confidence | None:
    """Return that of the consensus of `methods`, which agree by `agreement`, 0…1, on so many texts and units.

    None for images, for other sets of methods, and where agreement or units lie outside the range that was measured
    for inputs about as long.
    """
    form, kind = _form(methods), "image" if image else {1: "text", 2: "pair"}.get(texts, "")
    band = band_of(units)
    by_band = measured()["ranges"].get(f"{kind}, {form}")
    ranges = by_band[band] if by_band else None
    if ranges is None or not _within(ranges["agreement"], agreement) or not _within(ranges["units"], units):
        return None
    bands = measured()["base rate"][form]
    if measured()["rule"] == BASE_RATE:
        share = bands[band]
        return Confidence(*share) if share else None
    x = np.array([1.0, agreement, units, float(texts == 2), float(form == "learned")])
    logit = float(x @ np.asarray(measured()["coefficients"]))
    spread = 1.96 * float(np.sqrt(x @ np.asarray(measured()["covariance"]) @ x))
    number = sum(share[3] for share in bands if share)
    share, low, high = (_logistic(value) for value in (logit, logit - spread, logit + spread))
    return Confidence(share, low, high, number, by_agreement=True)


def compared_count(units: int) -> int:
    """Return of how many first units the agreement is taken."""
    name = str(measured()["top"]).removeprefix("top ")
    return top_count(units, float(name[:-2])) if name.endswith("%") else min(int(name), units)


def _form(methods: Collection[str]) -> str:
    """Return which measured set of methods it is; empty for another one."""
    plain, learned = (set(measured()["methods"][name]) for name in ("unfitted", "learned"))
    return {frozenset(plain): "unfitted", frozenset(plain | learned): "learned"}.get(frozenset(methods), "")


def _within(limits: list[float], value: float) -> bool:
    return limits[0] <= value <= limits[1]


def _logistic(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))
