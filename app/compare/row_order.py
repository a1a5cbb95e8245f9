"""The order of the rows: by evidence as soon as all methods are done, and from then on the same, so that nothing jumps.

The order belongs to a question (model, input, class, methods); words that are removed do not change it.
"""

from typing import NamedTuple

import streamlit as st

from app.compare.drawing_options import EVIDENCE
from app.compare.runs import Column, Run
from app.compare.verdicts import verdict_of
from explainers.methods.spec import MethodSpec
from explainers.metrics.faithfulness import METRICS

FEATURED = 3  # rows in full besides those of a person and of the random order
SORTED = "row order"  # its name in the session


class RowOrder(NamedTuple):
    """All methods, and those that are shown in full at first."""

    methods: tuple[str, ...]
    featured: frozenset[str]


def row_order(run: Run, sort: str) -> RowOrder:
    """The order that was fixed for this question; before all methods are done, the usual one."""
    key = question_key(run, sort)
    fixed: tuple[object, RowOrder] | None = st.session_state.get(SORTED)
    if fixed is not None and fixed[0] == key:
        return fixed[1]
    order = current_order(run, sort)
    if run.status == "done":
        st.session_state[SORTED] = (key, order)
    return order


def question_key(run: Run, sort: str) -> tuple[object, ...]:
    request = run.request
    return request.model, request.example, request.label, request.settings.unit, tuple(run.columns), sort


def current_order(run: Run, sort: str) -> RowOrder:
    """By the results so far."""
    verdict = verdict_of(run)
    methods = tuple(run.columns)
    if sort in METRICS.ids:
        methods = tuple(sorted(methods, key=lambda name: _by_metric(run.columns[name], sort)))
    elif sort == EVIDENCE and run.status == "done":
        methods = tuple(sorted(methods, key=lambda name: _position(name, verdict.order)))
    candidates = [*verdict.best[:1], *filter(None, [verdict.dissenter])] if run.status == "done" else []
    return RowOrder(methods, featured(run, candidates, methods))


def featured(run: Run, first: list[str], methods: tuple[str, ...]) -> frozenset[str]:
    """The winner and the dissenter if there are any, a learned method, and then whatever comes first."""
    specs = [run.columns[name].spec for name in methods]
    explaining = [spec for spec in specs if spec.explains and not spec.is_control and not spec.is_given]
    chosen = [name for name in first if name in methods]
    chosen += [spec.id for spec in explaining if _picked_weights(spec)]  # a person has asked for them
    learned = [spec.id for spec in explaining if spec.learns and not spec.optimised]
    if not set(chosen) & set(learned):
        chosen += learned[:1]
    chosen += [spec.id for spec in (*explaining, *specs) if spec.id not in chosen and not spec.is_random]
    always = [spec.id for spec in specs if spec.is_random or spec.group == "Given"]
    return frozenset([*dict.fromkeys(chosen)][:FEATURED] + always)


def _picked_weights(spec: MethodSpec) -> bool:
    """Whether it has other weights than the method's own."""
    return any(name == "variant" for name, _ in spec.fixed)


def sort_again() -> None:
    """Forgets the order, so that it follows the present results."""
    st.session_state.pop(SORTED, None)


def is_sorted(run: Run, sort: str) -> bool:
    """Whether the rows stand as the present results would have them."""
    return run.status != "done" or row_order(run, sort).methods == current_order(run, sort).methods


def _position(name: str, order: tuple[str, ...]) -> tuple[int, int]:
    return (0, order.index(name)) if name in order else (1, 0)


def _by_metric(column: Column, metric: str) -> tuple[bool, float]:
    if column.result is None or column.spec.optimised or metric not in column.result.metrics:
        return True, 0.0  # what was optimised on the metrics is not ranked by them
    return False, -METRICS.get(metric).sign * column.result.metrics[metric]
