"""What a story is made of: the steps in which a group reads a paper, as the files in assets/reading hold them."""

from dataclasses import dataclass
from math import inf
from typing import Literal

from explainers.models.inputs.encoding import Erasure

Kind = Literal["claim", "equation", "live", "bet", "break", "table", "discussion"]
Part = Literal["prediction", "verdict", "sheet", "curves", "sentences", "duel", "marks"]
Pick = Literal["largest", "smallest", "range"]
Outcome = Literal["replicated", "partly", "not"]


@dataclass(frozen=True)
class Symbol:
    """LaTeX without dollar signs, and what it stands for."""

    symbol: str
    meaning: str


@dataclass(frozen=True)
class Equation:
    """LaTeX, its number in the paper, and all its symbols."""

    formula: str
    source: str
    symbols: tuple[Symbol, ...]


@dataclass(frozen=True)
class LiveExample:
    """What the Compare page would be asked. The input is a curated `example` (its title), or `text` with `pair`.

    `removed` are unit numbers; `reversed` is a method whose order is also measured from its end; `duel` are two
    methods; an empty `label` is the predicted class. `show` are the parts that are drawn, in their order.
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


@dataclass(frozen=True)
class Choice:
    """An answer that can be bet on: with the `quantity` that is compared, or the range in which the bet's one lies."""

    text: str
    quantity: str = ""
    at_least: float = -inf
    below: float = inf


@dataclass(frozen=True)
class Bet:
    """A question whose answer is computed: the choice with the largest or smallest quantity, or the range that holds
    `quantity`. `because` explains the answer."""

    question: str
    pick: Pick
    choices: tuple[Choice, ...]
    because: str
    quantity: str = ""


@dataclass(frozen=True)
class PaperRow:
    """The paper's numbers as printed (empty where it has none), and quantities for ours (empty where we have none)."""

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
    """The paper's table beside ours. `source` and `ours` say where the numbers come from."""

    source: str
    ours: str
    columns: tuple[str, ...]
    rows: tuple[PaperRow, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Step:
    """`text` is Markdown, in which `[[quantity]]` stands for one of our numbers; `notes` are for the presenter."""

    kind: Kind
    title: str
    text: str
    notes: str = ""
    equations: tuple[Equation, ...] = ()
    state: LiveExample | None = None
    bet: Bet | None = None
    table: PaperTable | None = None
    questions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Story:
    """`id` is the name of its folder; `source` is the paper, or whom the story is for."""

    id: str
    title: str
    source: str
    minutes: int
    summary: str
    steps: tuple[Step, ...]
