"""Two comparisons of one input, method by method below each other: in words, as lines for a terminal, and as HTML."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from explainers.comparison.two_models import MethodPair, ModelPair
from explainers.methods.registry import method_spec
from explainers.report import summary, wording
from explainers.report.answer import heading
from explainers.report.heatmap import heatmap

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

Names = tuple[str, str]
RHO = (
    "ρ compares the two rows by rank: 1 the same order, 0 no relation, −1 the opposite. After the consensus the least "
    "alike come first."
)
STYLE = """<style>
.two-models { display: flex; flex-direction: column; gap: 0.9rem; max-width: 80rem; }
.two-models h3 { font-size: 1rem; font-weight: 600; margin: 0; padding: 0; overflow-wrap: anywhere; }
.two-models h3 small { font-weight: 400; opacity: 0.85; margin-inline-start: 0.6rem; }
.two-models .line { display: grid; grid-template-columns: 9rem minmax(0, 1fr); gap: 0 0.8rem; align-items: baseline; }
.two-models .line > small { opacity: 0.8; overflow-wrap: anywhere; }
@media (max-width: 640px) { .two-models .line { grid-template-columns: minmax(0, 1fr); } }
</style>"""
LONGEST_UNIT = 24  # characters of it in a column


def row_names(pair: ModelPair, models: Names) -> Names:
    """Return what the rows are called: by the names of the models, and by what is explained where that differs."""
    if pair.same_target:
        return models
    first, second = (wording.target_name(comparison.decision) for comparison in (pair.first, pair.second))
    return f"{models[0]}, {first}", f"{models[1]}, {second}"


def prediction_line(comparison: "Comparison", *, finished: bool = True) -> str:
    """Return what the model predicts, and the answer to its comparison where that is `finished`."""
    label = comparison.decision.card.labels[comparison.predicted]
    p = wording.decimals(comparison.probabilities[comparison.predicted])
    answer = comparison.answer if finished else None
    told = "" if answer is None else ". ".join(filter(None, [heading(answer, comparison, brief=True), answer.refusal]))
    return f"predicts {wording.one_line(label)} ({p}). {told}".strip()


def difference(pair: ModelPair, method: MethodPair) -> str:
    """Such as: ρ = 0.71; furthest apart: “dull”, rank 1 and 5 of 8."""
    if len(pair.units) < 2:
        return "one unit, so there is no order"
    if method.ranks_nothing:
        return "all scores of one row are equal, so there is no order"
    rho, apart = f"ρ = {wording.decimals(method.agreement)}", method.apart
    if apart is None:
        return f"{rho}; all ranks are equal"
    word = wording.quoted_among(pair.first, pair.units[apart.unit][0])
    return f"{rho}; furthest apart: {word}, rank {apart.first} and {apart.second} of {len(pair.units)}"


def about_rows(pair: ModelPair) -> str:
    """Return what the rows are for, and what ρ is."""
    return f"For {wording.target_name(pair.first.decision)}. {RHO}" if pair.same_target else RHO


def class_note(pair: ModelPair, models: Names, explained: str = "") -> str:
    """Return that the second model lacks the class `explained`, by default that of the first; empty where it has it."""
    explained = explained or pair.first.label
    if explained in pair.second.decision.card.labels:
        return ""
    return (
        f"{models[1]} has no class {wording.one_line(explained)} and explains the one that it predicts, so the rows "
        "answer different questions."
    )


def units_note(pair: ModelPair) -> str:
    """Return how many units are compared; empty where it is all of them."""
    units = len(pair.first.decision.encoding.units)
    return (
        f"Compared are the {len(pair.units)} of {units} units that both models have." if len(pair.units) < units else ""
    )


def alone_notes(pair: ModelPair, names: Names) -> Iterator[str]:
    """Yield the methods and narrators that only one of the models has a result of, without those that failed for the
    other, or had no time."""
    for name, methods, other in zip(names, pair.alone, (pair.second, pair.first), strict=True):
        missing = {*other.postponed, *(failure.method for failure in other.failures)}
        alone = [summary.part_name(method) for method in methods if method not in missing]
        if alone:
            yield f"Only for {name}: {wording.join_names(alone)}."


def failure_notes(comparison: "Comparison", name: str) -> Iterator[str]:
    """Yield which methods failed for the model of this name, and why."""
    for failure in comparison.failures:
        yield f"{summary.part_name(failure.method)} failed for {name}: {failure.reason}"


def sentences(pair: ModelPair, names: Names) -> Iterator[str]:
    """Yield what the narrators say of either model."""
    for name, comparison in zip(names, (pair.first, pair.second), strict=True):
        for narrative in comparison.narratives:
            yield f"{summary.part_name(narrative.method)} for {name}: “{narrative.text}”"


def run_notes(pair: ModelPair, names: Names) -> Iterator[str]:
    """Yield of either comparison what is wrong with its input, what failed, and what did not fit into the budget."""
    for name, comparison in zip(names, (pair.first, pair.second), strict=True):
        if comparison.decision.encoding.warning:
            yield f"{name}: {comparison.decision.encoding.warning}"
        yield from failure_notes(comparison, name)
        if short := summary.budget_sentence(comparison):
            yield f"{name}: {short}"


def pair_lines(pair: ModelPair) -> Iterator[str]:
    """Yield either prediction, what is not compared, and per method two rows whose scores stand below their units."""
    models = wording.one_line(pair.first.decision.card.name), wording.one_line(pair.second.decision.card.name)
    names = row_names(pair, models)
    yield from (f"{name} {prediction_line(one)}" for name, one in zip(names, (pair.first, pair.second), strict=True))
    yield from filter(None, [class_note(pair, models), units_note(pair)])
    yield from ("", about_rows(pair))
    wide = max(map(len, names))
    words = [
        wording.one_line(wording.visible(pair.first.decision.encoding.units[at].text), LONGEST_UNIT)
        for at, _ in pair.units
    ]
    for method in pair.methods:
        yield from ("", f"{method_spec(method.method).display_name}: {difference(pair, method)}")
        rows = [[f"{score:.3g}" for score in scores] for scores in (method.first, method.second)]
        widths = [max(map(len, column)) for column in zip(words, *rows, strict=True)]
        for name, row in zip(("", *names), (words, *rows), strict=True):
            cells = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            yield f"{name:{wide}}  {cells}"
    closing = [*sentences(pair, names), *run_notes(pair, names), *alone_notes(pair, names)]
    yield from ("", *closing) if closing else ()


def pair_fragment(pair: ModelPair) -> str:
    """HTML for a notebook, in the colours of the surrounding page."""
    models = wording.one_line(pair.first.decision.card.name), wording.one_line(pair.second.decision.card.name)
    names = row_names(pair, models)
    notes = *sentences(pair, names), *run_notes(pair, names), *alone_notes(pair, names)
    said = [class_note(pair, models), units_note(pair), *notes]
    return pair_html(pair, names, notes=filter(None, said))


def pair_html(
    pair: ModelPair,
    names: Names,
    *,
    finished: tuple[bool, bool] = (True, True),
    preset: str = "safe",
    percent: float = 0,
    notes: Iterable[str] = (),
) -> str:
    """HTML of what either model predicts, and of each method for both, with the notes below. What is not `finished` has
    no answer yet; `preset` and `percent` are those of `heatmap`."""
    heads = [
        _line(name, f'<span dir="auto">{wording.escaped(prediction_line(comparison, finished=over))}</span>')
        for name, comparison, over in zip(names, (pair.first, pair.second), finished, strict=True)
    ]
    blocks = (_rows(pair, method, names, preset=preset, percent=percent) for method in pair.methods)
    return (
        f'{STYLE}<div class="two-models"><div>{"".join(heads)}</div><small>{wording.escaped(about_rows(pair))}</small>'
        f"{''.join(blocks)}{''.join(f'<small>{wording.escaped(note)}</small>' for note in notes)}</div>"
    )


def _line(name: str, content: str) -> str:
    """HTML of a row: its name, and beside it what is HTML already."""
    return f'<div class="line"><small>{wording.escaped(name)}</small><div>{content}</div></div>'


def _rows(pair: ModelPair, method: MethodPair, names: Names, *, preset: str, percent: float) -> str:
    maps = []
    for comparison in (pair.first, pair.second):
        result = comparison.result(method.method)
        assert result is not None
        label, inputs = wording.target_name(comparison.decision), tuple(comparison.names)
        maps.append(heatmap(result.attribution, label, preset=preset, percent=percent, names=inputs))
    title, apart = method_spec(method.method).display_name, difference(pair, method)
    heading = f"<h3>{wording.escaped(title)}<small>{wording.escaped(apart)}</small></h3>"
    return f"<section>{heading}{''.join(map(_line, names, maps))}</section>"
