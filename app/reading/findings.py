"""What became of a paper's claims on our numbers."""

from app.reading.story import Finding, Outcome
from explainers.report.quantities import UnknownQuantity, holds, stored_quantity
from explainers.report.text import decimals

WITH_INTERVALS = ("evaluation/", "consistency/", "simulatability/", "narrators/")
WORDS: dict[Outcome, str] = {"replicated": "replicated", "partly": "partly replicated", "not": "not replicated"}


def outcome(finding: Finding) -> Outcome:
    """As the checks say: all hold, some, or none. Raises `UnknownQuantity`."""
    results = [holds(check) for check in finding.checks]
    return "replicated" if all(results) else "partly" if any(results) else "not"


def our_number(name: str, places: int = 3) -> str:
    """As text, with the interval's half width where there is one; empty where the story names no number."""
    if not name:
        return ""
    value = decimals(stored_quantity(name), places)
    if not name.startswith(WITH_INTERVALS) or name.endswith(("/low", "/high")):
        return value
    try:
        low, high = (stored_quantity(f"{name}/{bound}") for bound in ("low", "high"))
    except UnknownQuantity:
        return value
    return value if low == high == stored_quantity(name) else f"{value} ± {decimals((high - low) / 2, places)}"
