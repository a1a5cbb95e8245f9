"""How likely the consensus finds exactly the decisive units, from what a comparison knows without the truth.

    P(right) = 1 / (1 + exp(-(b₀ + b₁ agreement + b₂ units + b₃ pair + b₄ learned)))

`learned` is 1 where the learned methods are among the methods. If this predicts no better, on kinds of shortcuts that
it was not fitted to, than the share of right consensuses among texts, or pairs, of about as many units, that share is
the confidence ("rule" in the file).

Measured where the decisive words were planted (`python -m explainers study planted-table`, assets/confidence.json).
"Right" means that the k units of highest consensus are the k planted words. Outside what was measured there is no
confidence.
"""

import json
from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from explainers.installation import ASSETS
from explainers.results.answer import Confidence
from explainers.results.attribution import top_count

OTHER_INPUTS = "it was measured for texts and pairs of texts only"
OTHER_METHODS = "it was not measured for {} with this set of methods"
OTHER_LENGTH = "it was measured for {} of {:.0f} to {:.0f} words, and this input has {}, punctuation included"
AGREE_LESS = (
    "the methods agree less about the first words than on nearly all inputs of about this length for which it was "
    "measured"
)
CONFIDENCE = ASSETS / "confidence.json"
REGRESSION, BASE_RATE = "regression", "base rate"
KINDS = {1: "text", 2: "pair"}  # of an input, by its number of texts
PREDICTORS = ("intercept", "agreement", "units", "pair", "learned")


def band_of(units: int, bands: Sequence[int]) -> int:
    """Return the number of the band, of those that begin with so many units each."""
    return bisect_right(bands, units) - 1


@lru_cache(maxsize=1)
def measured() -> dict[str, Any]:
    """Return what was measured: coefficients and their covariance, and for every kind of input, methods and length the
    ranges of the predictors and the share of right ones."""
    content: dict[str, Any] = json.loads(CONFIDENCE.read_text(encoding="utf-8"))
    return content


def confidence(
    agreement: float, units: int, *, texts: int, methods: Collection[str], image: bool = False
) -> Confidence | str:
    """Return that of the consensus of `methods`, which agree by `agreement`, 0…1, on so many texts and units; or, as a
    clause, why there is none: for images, for other sets of methods, for other lengths, and where the methods agree
    less than was measured for inputs about as long. More agreement than was measured counts as the most."""
    if image or texts not in KINDS:
        return OTHER_INPUTS
    form, kind = _form(methods), KINDS[texts]
    by_band = measured()["cells"].get(f"{kind}, {form}")
    if not by_band:
        return OTHER_METHODS.format(f"{kind}s")
    cell = by_band[band_of(units, measured()["bands of units"])]
    if cell is None or not cell["units"][0] <= units <= cell["units"][1]:
        ends = [end for known in by_band if known for end in known["units"]]
        return OTHER_LENGTH.format(f"{kind}s", min(ends), max(ends), units)
    least, most = cell["agreement"]
    if agreement < least:
        return AGREE_LESS
    agreement = min(agreement, most)
    if measured()["rule"] == BASE_RATE:
        return Confidence(*cell["right"])
    x = np.array([1.0, agreement, units, float(texts == 2), float(form == "learned")])
    logit = float(x @ np.asarray(measured()["coefficients"]))
    spread = 1.96 * float(np.sqrt(x @ np.asarray(measured()["covariance"]) @ x))
    number = measured()["inputs with learned methods" if form == "learned" else "inputs"]
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


def _logistic(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))
