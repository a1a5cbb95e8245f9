"""What a story is made of: the steps in which a group reads a paper, as the files in assets/reading hold them.

A step's live example says what the Compare page's engine is asked.

Whatever does not fit these dataclasses is refused.
"""

import json
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from app.compare import runs, stored_results
from explainers.datasets.example import Example
from explainers.errors import ExplanationError, refused_fields
from explainers.installation import ASSETS
from explainers.methods.registry import method_spec
from explainers.models.inputs.encoding import Erasure
from explainers.results.attribution import ranking
from explainers.results.decision import Settings

Kind = Literal["claim", "equation", "live", "bet", "break", "table", "discussion"]
Part = Literal["prediction", "answer", "sheet", "curves", "sentences", "duel", "marks"]
Pick = Literal["largest", "smallest", "range"]
Outcome = Literal["replicated", "partly", "not"]
FOLDER = ASSETS / "reading"
FILE = "story.toml"
ORDER = ("newcomers", "aml", "cimi", "ciem", "ivra", "cause", "five")  # of the list on the page
NEEDS: dict[Kind, str] = {  # the part without which a step of this kind is nothing
    "equation": "equations",
    "live": "state",
    "bet": "bet",
    "break": "state",
    "table": "table",
    "discussion": "questions",
}


@dataclass(frozen=True)
class Symbol:
    """A symbol in LaTeX without dollar signs, and what it stands for."""

    symbol: str
    meaning: str


@dataclass(frozen=True)
class Equation:
    """A formula in LaTeX, its number in the paper, and all its symbols."""

    formula: str
    source: str
    symbols: tuple[Symbol, ...]


@dataclass(frozen=True)
class Expectation:
    """What the text of a step leads one to expect of its figure: that `above` is the larger of two quantities.

    `text` is the middle of a sentence, "Expected: …. Here: 0.485 against 0.388, as expected."
    """

    text: str
    above: str
    below: str


@dataclass(frozen=True)
class LiveExample:
    """What the Compare page would be asked. The input is a curated `example` (its title), or `text` with `pair`.

    `removed` are unit numbers; `reversed` is a method whose order is also measured from its end; `duel` are two
    methods; an empty `label` is the predicted class. `show` are the parts that are drawn, in their order; `expected` is
    compared with their numbers in the sentences below.
    """

    model: str
    methods: tuple[str, ...] = ()
    example: str = ""
    text: str = ""
    pair: str = ""
    narrators: tuple[str, ...] = ()
    erasure: Erasure = "mask"
    label: str = ""
    removed: tuple[int, ...] = ()
    reversed: str = ""
    duel: tuple[str, ...] = ()
    show: tuple[Part, ...] = ("prediction", "sheet", "curves")
    expected: tuple[Expectation, ...] = ()


@dataclass(frozen=True)
class Choice:
    """An answer that can be bet on: with the `quantity` that is compared, or the range in which the bet's one lies."""

    text: str
    quantity: str = ""
    at_least: float = -inf
    below: float = inf


@dataclass(frozen=True)
class Bet:
    """A question whose answer is computed; `because` explains the answer.

    It is the choice with the largest or smallest quantity, or the range that holds `quantity`.
    """

    question: str
    pick: Pick
    choices: tuple[Choice, ...]
    because: str
    quantity: str = ""


@dataclass(frozen=True)
class PaperRow:
    """The paper's numbers as printed (empty without one), and quantities for ours (empty without one)."""

    name: str
    paper: tuple[str, ...]
    ours: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """A claim of the paper as `checks` on our numbers: all hold (replicated), some (partly), or none (not)."""

    claim: str
    outcome: Outcome
    checks: tuple[str, ...]
    because: str


@dataclass(frozen=True)
class PaperTable:
    """The paper's table beside ours; `source` and `ours` say where the numbers come from."""

    source: str
    ours: str
    columns: tuple[str, ...]
    rows: tuple[PaperRow, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Step:
    """A step; `text` is Markdown in which `[[quantity]]` is one of our numbers, `notes` are for the presenter."""

    kind: Kind
    title: str
    text: str
    notes: str = ""
    equations: tuple[Equation, ...] = ()
    state: LiveExample | None = None
    bet: Bet | None = None
    table: PaperTable | None = None
    questions: tuple[str, ...] = ()


@with_config(ConfigDict(extra="forbid", strict=True, str_strip_whitespace=True))
@dataclass(frozen=True)
class Story:
    """A story; `id` is the name of its folder, `source` is the paper, or whom the story is for."""

    id: str
    title: str
    source: str
    minutes: int
    summary: str
    steps: tuple[Step, ...]


def request_of(state: LiveExample, removed: tuple[int, ...] = (), order: tuple[int, ...] = ()) -> runs.Request:
    """Return what the Compare page's engine is asked for a step.

    `removed` are units that the person has erased besides the step's own, `order` is a given one. Where all is stored,
    the methods that the step does not show are asked for as well, after its own. Raises
    `ExplanationError` if there is no such example.
    """
    gone = tuple(sorted(set(state.removed) ^ set(removed)))
    settings = Settings(erasure=state.erasure)
    asked = runs.Request(
        state.model, example_of_state(state), state.label or None, state.methods, settings, gone, state.narrators, order
    )
    return asked if order else replace(asked, methods=(*state.methods, *_stored_besides(asked)))


def _stored_besides(asked: runs.Request) -> tuple[str, ...]:
    """Return the other methods that are stored for the same question, none where any of its own is not: the stored
    consensus is that of all, so that with them nothing has to be computed."""
    answer = stored_results.stored_answer(asked)
    if answer is None or any(answer.outcome(method) is None for method in asked.methods):
        return ()
    methods = (result.attribution.method for result in answer.result.comparison.results)
    return tuple(method for method in methods if method not in asked.methods and not method_spec(method).is_joint)


def curated(state: LiveExample) -> stored_results.CuratedExample | None:
    return next(
        (
            example
            for example in stored_results.curated_examples()
            if (example.model, example.title) == (state.model, state.example)
        ),
        None,
    )


def example_of_state(state: LiveExample) -> Example:
    """Return the input; raises `ExplanationError` if there is no such example."""
    if state.text:
        return Example(state.text, state.pair or None)
    example = curated(state)
    if example is None:
        raise ExplanationError(f"There is no example {state.example!r} for the model {state.model!r}.")
    return replace(stored_results.example_of(example), label=None, explanations=(), evidence=None)


def reversed_order(run: runs.Run, method: str) -> tuple[int, ...]:
    """Return all units from the method's last to its first, by number; empty before the method is done."""
    column = run.columns.get(method)
    if column is None or column.attribution is None:
        return ()
    total = len(run.whole.encoding.units) if run.whole is not None else 0
    left = [number for number in range(total) if number not in run.request.removed]
    return tuple(left[int(unit)] for unit in ranking(column.attribution.scores)[::-1])


STORY = TypeAdapter(Story)


class StoryUnreadable(ExplanationError):
    """A story's file has a fault; the sentence names file and field."""


@cache
def stories() -> tuple[Story, ...]:
    """Return all stories of the project, in the order of the list; raises `StoryUnreadable`."""
    return tuple(read_story(FOLDER / id / FILE) for id in ORDER if (FOLDER / id / FILE).is_file())


def story_of(id: str) -> Story | None:
    return next((story for story in stories() if story.id == id), None)


def read_story(path: Path) -> Story:
    """Return the story of a file; raises `StoryUnreadable`."""
    name = f"{path.parent.name}/{path.name}"
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoryUnreadable(f"{name} cannot be read: {error}") from error
    try:
        story = STORY.validate_json(json.dumps({"id": path.parent.name, **values}, default=str))
    except ValidationError as error:
        raise StoryUnreadable(f"{name}: {refused_fields(error)}") from error
    if not story.steps:
        raise StoryUnreadable(f"{name}: the story has no steps.")
    for number, step in enumerate(story.steps):
        _check(step, f"{name}, steps.{number}")
    return story


def _check(step: Step, where: str) -> None:
    """Check what the types do not say."""
    needed = NEEDS.get(step.kind, "")
    if needed and not getattr(step, needed):
        raise StoryUnreadable(f"{where}: a step of the kind {step.kind!r} needs the field {needed!r}.")
    state = step.state
    if state is not None and bool(state.example) == bool(state.text):
        raise StoryUnreadable(f"{where}.state needs an example or a text, and not both.")
    if step.bet is not None and step.bet.pick == "range" and not step.bet.quantity:
        raise StoryUnreadable(f"{where}.bet: a bet on a range needs the field 'quantity'.")
    for row in step.table.rows if step.table is not None else ():
        if not len(row.paper) == len(row.ours) == len(step.table.columns if step.table else ()):
            raise StoryUnreadable(f"{where}.table: the row {row.name!r} has not one number for each column.")
