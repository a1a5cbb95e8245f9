"""The order of the rows: the consensus, and then by the groups of the answer as soon as the run is done.

From then on order and groups stay the same, so that nothing jumps: they belong to a question (model, input, class,
methods), and words that are removed do not change them until somebody sorts again; till then the titles of the groups
say that they are of the earlier answer. What had no time for all methods is ordered once more when the rest of the
whole input is done.
"""

from collections.abc import Mapping

from app.compare.drawing_options import EVIDENCE
from app.compare.runs import Run, answer_of
from app.compare.state import RowOrder, compare_state
from explainers.methods.spec import MethodSpec
from explainers.metrics.faithfulness import METRICS
from explainers.report.answer import group_meaning, group_title
from explainers.results.answer import CONSENSUS

FEATURED = 3  # rows in full besides those of a person and of the random order
OPTIMISED = {
    "group": "",
    "title": "optimised on these metrics, so not compared",
    "meaning": "What was sought for the numbers that judge the methods takes no part in the answer.",
}


def row_order(run: Run, sort: str) -> RowOrder:
    """The order that was fixed for this question; before the run is done, the usual one."""
    key = question_key(run, sort)
    fixed = compare_state().row_order
    whole = run.status == "done" and not run.comparison().lacks_methods
    settled = [(key, True)] if whole and not run.request.removed else [(key, True), (key, False)]
    if fixed is not None and fixed[0] in settled:
        same = fixed[1].removed == run.request.removed or fixed[1].groups == groups(run)
        return fixed[1] if same else _of_earlier(fixed[1])
    order = current_order(run, sort)
    if run.status == "done":
        compare_state().row_order = ((key, whole), order)
    return order


def _of_earlier(order: RowOrder) -> RowOrder:
    """The order with titles that say that its groups are those of the answer before units were removed or came back."""
    groups = {
        method: {**group, "title": f"{group['title']}, in the earlier answer"}
        if group["group"] and group["title"]
        else group
        for method, group in order.groups.items()
    }
    return order._replace(groups=groups)


def question_key(run: Run, sort: str) -> tuple[object, ...]:
    request = run.request
    return (
        request.model,
        request.example,
        request.label,
        request.versus,
        request.settings.units,
        tuple(run.columns),
        sort,
    )


def current_order(run: Run, sort: str) -> RowOrder:
    """Return the order by the results so far."""
    answer, methods = answer_of(run), tuple(run.columns)
    if sort in METRICS.ids and not run.active:
        methods = tuple(sorted(methods, key=lambda name: _by_metric(run, name, sort)))
    elif sort == EVIDENCE and run.status == "done":
        methods = tuple(sorted(methods, key=lambda name: _position(run, name, answer.order)))
    first = [*answer.supported[:1], *(method for method, _ in answer.differs[:1])] if run.status == "done" else []
    shown = featured(run, first, methods) | {CONSENSUS}
    return RowOrder((CONSENSUS, *methods), shown, groups(run), run.request.removed)


def groups(run: Run) -> Mapping[str, Mapping[str, str]]:
    """Return by method its group in the answer with title and meaning; none before the run is done."""
    answer = answer_of(run)
    if run.status != "done" or answer.status == "pending":
        return {}
    comparison = run.comparison()
    tested = {
        method: {
            "group": answer.group(method),
            "title": group_title(answer, comparison, method),
            "meaning": group_meaning(answer, comparison, method),
        }
        for method in answer.order
    }
    return tested | {method: OPTIMISED for method, column in run.columns.items() if column.spec.optimised}


def featured(run: Run, first: list[str], methods: tuple[str, ...]) -> frozenset[str]:
    """Return the first supported and the first differing method, a learned one, and then whatever comes first."""
    specs = [run.columns[name].spec for name in methods]
    explaining = [spec for spec in specs if spec.explains and not spec.is_control and not spec.is_given]
    chosen = [name for name in first if name in methods]
    chosen += [spec.id for spec in explaining if _picked_weights(spec)]  # a person has asked for them
    learned = [spec.id for spec in explaining if spec.learns and not spec.optimised]
    if not set(chosen) & set(learned):
        chosen += learned[:1]
    chosen += [spec.id for spec in (*explaining, *specs) if spec.id not in chosen and not spec.is_random]
    always = [spec.id for spec in specs if spec.is_random or spec.is_supplied]
    return frozenset([*dict.fromkeys(chosen)][:FEATURED] + always)


def _picked_weights(spec: MethodSpec) -> bool:
    """Return whether it has other weights than the method's own."""
    return any(name == "variant" for name, _ in spec.fixed)


def sort_again() -> None:
    """Forgets the order, so that it follows the present results."""
    compare_state().row_order = None


def is_sorted(run: Run, sort: str) -> bool:
    """Return whether the rows stand as the present results would have them."""
    if run.status != "done":
        return True
    fixed, current = row_order(run, sort), current_order(run, sort)
    return (fixed.methods, fixed.groups) == (current.methods, current.groups)


def _position(run: Run, name: str, order: tuple[str, ...]) -> tuple[int, int]:
    return (0, order.index(name)) if name in order else (1 + run.columns[name].spec.optimised, 0)


def _by_metric(run: Run, method: str, metric: str) -> tuple[bool, float]:
    result = run.result(method)
    if result is None or run.columns[method].spec.optimised or metric not in result.metrics:
        return True, 0.0  # what was optimised on the metrics is not ranked by them
    return False, -METRICS.get(metric).sign * result.metrics[metric]
