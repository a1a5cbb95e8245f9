"""The erasure curves of all methods as plain data, and the component that draws them (assets/curves.js).

titles, axes  of the two plots
percent       where the vertical line stands; 0 for none
reverse       whether the curves of the reverse order are drawn too
random        shares, and per experiment mean, low and high of the random orders; None before they are there
lines         id, name, colour, dash, featured, shares, removed, kept, and reverse with shares and values
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from app.compare.row_numbers import curve_values, random_values, rounded
from app.components import component, newest
from explainers.methods.registry import method_spec
from explainers.report.colours import line_of
from explainers.report.text import one_line

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison, MethodResult

LONGEST_LABEL = 30  # characters of the class


def show(data: dict[str, Any]) -> None:
    component("curves")(key="curves", data=newest("curves", data))


def payload(
    comparison: "Comparison", *, featured: Collection[str], percent: int, reverse: bool, units: str
) -> dict[str, Any]:
    """Of what is finished; the random order is drawn as the mean of several."""
    erasure, control = comparison.question.settings.erasure, comparison.random_control
    label = one_line(comparison.label, LONGEST_LABEL)
    return {
        "titles": [f"p({label}) without the most important", f"p({label}) with only the most important"],
        "axes": [f"% of the {units} removed ({erasure})", f"% of the {units} kept (others: {erasure})"],
        "percent": percent,
        "reverse": reverse,
        "random": random_values(control) if control is not None else None,
        "lines": [_line(result, result.attribution.method in featured) for result in comparison.displayed_results],
    }


def _line(result: "MethodResult", featured: bool) -> dict[str, Any]:
    spec, line = method_spec(result.attribution.method), line_of(result.attribution.method)
    shares, values = result.curves.reverse
    return {
        "id": spec.id,
        "name": spec.name,
        "colour": line.colour,
        "dash": line.dash,
        "featured": featured,
        **curve_values(result.curves),
        "reverse": {"shares": rounded(shares), "values": rounded(values)},
    }
