"""How often random orders in the place of the methods got a verdict, from the measurement behind the document."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from explainers.report.text import one_line

RATES = Path(__file__).parents[2] / "assets" / "verdicts.json"  # assets/docs/verdicts.md is made from it


@dataclass(frozen=True)
class Luck:
    """`share` of `inputs` of `model` on which `orders` random orders got a verdict, 0…1."""

    share: float
    orders: int
    inputs: int
    model: str

    @property
    def sentence(self) -> str:
        return (
            f"{self.orders} random orders in the place of the methods got a verdict too on {100 * self.share:.0f} % of "
            f"{self.inputs} inputs of {one_line(self.model)}."
        )


@cache
def luck() -> Luck:
    """From `RATES`, which `python -m explainers verdicts` writes."""
    rates = json.loads(RATES.read_text(encoding="utf-8"))
    share, *_ = rates["random orders as methods"]["verdict"]
    return Luck(share, len(rates["methods"]), rates["inputs"], rates["about"]["model"])
