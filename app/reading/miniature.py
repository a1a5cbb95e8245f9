"""A miniature of a story's first figure: p(class) while words are removed, drawn from stored results."""

from typing import TYPE_CHECKING

import numpy as np

from app.compare.stored_results import stored_answer
from app.reading.story import Story, request_of
from explainers.methods.registry import method_spec
from explainers.report.colours import line_of
from explainers.report.text import escaped, join_names, target_name

if TYPE_CHECKING:
    from explainers.results.attribution import Floats
    from explainers.results.comparison import Comparison

WIDTH, HEIGHT = 160, 64
INSET = 3  # of the lines, so that their ends are not cut
MOST = 4  # lines of methods


def miniature(comparison: "Comparison", methods: tuple[str, ...]) -> str:
    """Return an SVG with a line per method over the dashed mean of random orders; empty where none was measured.

    Every text in it is escaped; the random orders and the frame have the colour of the text around it.
    """
    results = [result for result in comparison.displayed_results if result.attribution.method in methods][:MOST]
    if not results:
        return ""
    lines = []
    if comparison.random_control is not None:
        orders = comparison.random_control.curves
        mean = np.mean([order.removed[:, order.label] for order in orders], axis=0)
        points = _points(orders[0].shares, mean)
        lines.append(f'<polyline points="{points}" stroke="currentColor" stroke-dasharray="3 3" opacity="0.6"/>')
    for result in results:
        points = _points(result.curves.shares, result.curves.removed[:, result.curves.label])
        lines.append(f'<polyline points="{points}" stroke="{escaped(line_of(result.attribution.method).colour)}"/>')
    named = join_names([method_spec(result.attribution.method).name for result in results])
    label = f"p({target_name(comparison.decision)}) while words are removed, by {named}; dashed: random orders"
    return (
        f'<svg class="reading-miniature" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escaped(label)}">'
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="4" fill="none" stroke="currentColor" '
        f'opacity="0.25"/><g fill="none" stroke-width="2">{"".join(lines)}</g></svg>'
    )


def _points(shares: "Floats", p: "Floats") -> str:
    width, height = WIDTH - 2 * INSET, HEIGHT - 2 * INSET
    return " ".join(f"{INSET + width * x:.1f},{INSET + height * (1 - y):.1f}" for x, y in zip(shares, p, strict=True))


def story_miniature(story: Story) -> str:
    """Return that of the first live example whose result is stored; empty where there is none."""
    for state in (step.state for step in story.steps if step.state is not None):
        answer = stored_answer(request_of(state))
        drawn = miniature(answer.result.comparison, state.methods) if answer is not None else ""
        if drawn:
            return drawn
    return ""
