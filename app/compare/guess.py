"""With "Guess first" a person marks the units that matter to them before any explanation is shown, and is compared.

The marks belong to a model, an input and a kind of unit, and are forgotten when one of these changes.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.compare import heat_maps, score_sheet
from app.compare.runs import Request, Run
from app.compare.state import Guess, compare_state
from app.components import component, newest
from app.session import sent_by
from explainers.datasets.example import Example
from explainers.methods.registry import method_spec
from explainers.metrics.faithfulness import decisive_metrics
from explainers.metrics.spec import MetricSpec
from explainers.report.wording import decimals

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison
    from explainers.results.events import MethodResult

WAITING_FOR_METHODS = "{} compared when all methods are done."
HELP = "Mark what you think matters before you see any explanation. Your order then becomes a row among the methods."
MARK = "Which {0} decide? Mark them, the most important first. Then see what the methods say."
ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def switch() -> None:
    """Draw the toggle. Without its being switched on, no order is asked for or compared."""
    st.toggle("Guess first", help=HELP, **compare_state().widget("guess_first", folded=True))


def order(model: str, example: Example, units: object) -> tuple[int, ...]:
    """The marks about this input, once the explanations are shown; what was marked about another one is forgotten."""
    guess = _guessed((model, example, units))
    return guess.marked if compare_state().controls.guess_first and guess.shown else ()


def waiting(run: Run) -> bool:
    """Return whether the explanations are hidden until the person asks for them."""
    state = compare_state()
    asked = state.guess is not None and state.guess.about == _about(run.request) and state.guess.shown
    return state.controls.guess_first and not asked


def show_guess(run: Run) -> None:
    """The input once, to be marked, and the buttons below it."""
    guess = _guessed(_about(run.request))
    component("guess")(key="guess marks", data=newest("guess", _payload(run, guess)), on_marked_change=_marked)
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Show the explanations", key="guess show", type="primary", disabled=run.whole is None)
        st.button("Clear", key="guess clear", on_click=_clear, disabled=not guess.marked)
    if pressed:  # not in a callback: a fragment would go on without this function, and never run the whole page
        compare_state().guess = replace(guess, shown=True)
        st.rerun(scope="app")  # the request has another row now


def _payload(run: Run, guess: Guess) -> dict[str, Any]:
    """`about` is the guess's id, `marked` in order, `moment` that of the last mark; the others as in the sheet."""
    image = heat_maps.image_data(run)
    what = f"{run.request.settings.name_of_unit}s"

    def make() -> dict[str, Any]:
        return {
            "about": guess.id,
            "labels": score_sheet.labels(run),
            "segments": score_sheet.segments(run),
            "image": image,
            "marked": list(guess.marked),
            "moment": guess.moment,
            "task": MARK.format(f"{what} or patches of the image" if image else what),
        }

    return run.view("guess", (id(run.whole), guess), make)


def _about(request: Request) -> tuple[str, Example, object]:
    return request.model, request.example, request.settings.units


def _guessed(about: tuple[str, Example, object]) -> Guess:
    state = compare_state()
    if state.guess is None or state.guess.about != about:
        state.guess = Guess(about)
    return state.guess


def _marked() -> None:
    """Takes the marks as the component has them. They may be delivered twice, and count once; those of another guess
    came too late."""
    state, marked = compare_state(), sent_by("guess marks", "marked")
    if marked is None or state.guess is None or state.run is None or state.run.whole is None:
        return
    if marked["about"] == state.guess.id and marked["moment"] > state.guess.moment:
        units = range(len(state.run.whole.encoding.units))
        numbers = dict.fromkeys(int(number) for number in marked["units"])
        kept = tuple(number for number in numbers if number in units)
        state.guess = replace(state.guess, marked=kept, moment=marked["moment"])


def _clear() -> None:
    state = compare_state()
    if state.guess is not None:
        state.guess = replace(state.guess, marked=())


def place(run: Run) -> str:
    """Return how a person's order and people's marks compare, as soon as the methods are done; empty without them."""
    if not any(column.spec.is_given for column in run.columns.values()):
        return ""
    done = run.decision is not None and not run.active
    return (guess_sentence(run.comparison()) if done else "") or WAITING_FOR_METHODS.format(
        "Your order is" if run.request.guess else "People's marks are"
    )


def guess_sentence(comparison: "Comparison") -> str:
    """Its metrics and its places among the methods that may lead; empty without an order, or without its metrics."""
    given = [result for result in comparison.results if method_spec(result.attribution.method).is_given]
    return " ".join(filter(None, (_sentence(comparison, result) for result in given)))


def _sentence(comparison: "Comparison", guess: "MethodResult") -> str:
    name = method_spec(guess.attribution.method).name
    metrics = [metric for metric in decisive_metrics() if _defined(metric, guess)]
    places = [_place(metric, guess, _rivals(comparison, metric)) for metric in metrics]
    return f"{name}: {'; '.join(places)}." if places else ""


def _defined(metric: MetricSpec, result: "MethodResult") -> bool:
    return not math.isnan(result.metrics.get(metric.id, math.nan))


def _rivals(comparison: "Comparison", metric: MetricSpec) -> list["MethodResult"]:
    """Those that may lead and answered for the explained class; a single random order is none."""
    specs = {result.attribution.method: method_spec(result.attribution.method) for result in comparison.results}
    return [
        result
        for result in comparison.results
        if (spec := specs[result.attribution.method]).comparable
        and not spec.is_random
        and result.attribution.label == comparison.decision.label
        and _defined(metric, result)
    ]


def _place(metric: MetricSpec, guess: "MethodResult", rivals: list["MethodResult"]) -> str:
    """Shared places count as the better one."""
    value = metric.sign * guess.metrics[metric.id]
    place = 1 + sum(metric.sign * rival.metrics[metric.id] > value for rival in rivals)
    text = f"{metric.name} {decimals(guess.metrics[metric.id])}"
    return f"{text}, {ordinal(place)} of {len(rivals) + 1}" if rivals else text


def ordinal(number: int) -> str:
    """ "1st", "2nd", "3rd", "11th"."""
    ending = "th" if 10 <= number % 100 <= 20 else ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"
