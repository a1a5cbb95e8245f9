"""AvgSen (Yeh et al., 2019; CIMI, A.1.3): how far an explanation moves when a few words of the text change.

AvgSen = 1 - mean overlap of the top ⌈0.3 n⌉ units before and after 5 (at most n/3) random units were replaced by
units of another text; 10 draws
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from explainers.errors import ExplanationError
from explainers.explanation import ranking
from explainers.models.encoding import FIXED, Encoding

REPLACED, SHARE, DRAWS = 5, 0.3, 10
SHORT = 32  # tokens that every model reads


def sensitivity(
    explain: Callable[[Encoding], tuple[float, ...]],
    encoding: Encoding,
    other: Encoding,
    *,
    seed: int,
    draws: int = DRAWS,
) -> float:
    """0: the top units stay the same; about 0.7 for explanations by chance. `other` lends its words.

    Raises `ExplanationError` for texts of one or two units, in which nothing can be replaced.
    """
    units = len(encoding.units)
    replaced, kept = min(REPLACED, units // 3), int(np.ceil(SHARE * units))
    if not replaced or not other.units:
        raise ExplanationError("The text is too short to replace some of its words.")
    chance, before = np.random.default_rng(seed), set(ranking(explain(encoding))[:kept].tolist())
    overlaps = []
    for _ in range(draws):
        places = chance.choice(units, replaced, replace=False)
        lent = chance.choice(len(other.units), replaced)
        asked = zip(places.tolist(), lent.tolist(), strict=True)
        loans = {place: of_the_same_text(encoding, other, place, loan) for place, loan in asked}
        changed = replace_units(encoding, other, loans)
        after = set(ranking(explain(changed))[:kept].tolist())
        overlaps.append(len(before & after) / kept)
    return 1 - float(np.mean(overlaps))


def of_the_same_text(encoding: Encoding, other: Encoding, place: int, loan: int) -> int:
    """A loan for a premise comes from the other premise, one for a hypothesis from the other hypothesis."""
    segment = encoding.units[place].segment
    pool = [number for number, unit in enumerate(other.units) if unit.segment == segment]
    name = encoding.units[place].text
    if encoding.units[place].kind == "patch":  # the same place of the other picture
        pool = [number for number in pool if other.units[number].text == name] or pool
    return pool[loan * len(pool) // len(other.units)] if pool else loan


def replace_units(encoding: Encoding, other: Encoding, lent: dict[int, int]) -> Encoding:
    """The encoding in which the tokens of some units are those of units of another text: unit → the other's unit.

    Beyond `SHORT` tokens it does not grow: a loan is cut to the tokens that it replaces, so that the model can read it.
    """
    growing = max(0, SHORT - len(encoding.ids))
    owners: list[int] = []
    segments: list[int] = []
    done: set[int] = set()
    rows: list[int] = []  # where each token comes from; the other's are counted on from the own ones
    for place, (owner, segment) in enumerate(zip(encoding.owners, encoding.segments, strict=True)):
        if owner == FIXED or owner not in lent:
            new = [place]
        elif owner in done:
            continue
        else:
            done.add(owner)
            new = [len(encoding.ids) + at for at, its in enumerate(other.owners) if its == lent[owner]]
            own = encoding.owners.count(owner)
            new = new[: own + growing]
            growing -= max(0, len(new) - own)
        rows += new
        owners += [owner] * len(new)
        segments += [segment] * len(new)
    both = (*encoding.ids, *other.ids)
    return replace(
        encoding,
        ids=tuple(both[row] for row in rows),
        segments=tuple(segments),
        owners=tuple(owners),
        zeroed=frozenset(new for new, row in enumerate(rows) if row in encoding.zeroed),
        seen=encoding.seen and other.seen and encoding.seen.lent(other.seen, rows),
        canvas=encoding.canvas and other.canvas and encoding.canvas.lent(other.canvas, lent),
    )
