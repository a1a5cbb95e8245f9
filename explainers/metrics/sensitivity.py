"""AvgSen (Yeh et al., 2019; CIMI, A.1.3): how much an explanation changes when a few words of the text are replaced.

AvgSen = 1 - mean overlap of the top ⌈0.3 n⌉ units before and after 5 (at most n/3) random units are replaced by units
of another text, over 10 draws.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from explainers.errors import ExplanationError
from explainers.models.inputs.encoding import NO_UNIT, Encoding
from explainers.results.attribution import ranking

REPLACED, SHARE, DRAWS = 5, 0.3, 10
SHORT = 32  # tokens, which every model reads


def sensitivity(
    explain: Callable[[Encoding], tuple[float, ...]],
    encoding: Encoding,
    other: Encoding,
    *,
    seed: int,
    draws: int = DRAWS,
) -> float:
    """0 if the top units never change, about 0.7 for random explanations. The replacements are units of `other`.

    Raises `ExplanationError` for texts of one or two units, which are too short for a replacement.
    """
    units = len(encoding.units)
    replaced, top = min(REPLACED, units // 3), int(np.ceil(SHARE * units))
    if not replaced or not other.units:
        raise ExplanationError("The text is too short to replace some of its words.")
    rng, before = np.random.default_rng(seed), set(ranking(explain(encoding))[:top].tolist())
    overlaps = []
    for _ in range(draws):
        positions = rng.choice(units, replaced, replace=False)
        sources = rng.choice(len(other.units), replaced)
        pairs = zip(positions.tolist(), sources.tolist(), strict=True)
        replacements = {unit: matching_unit(encoding, other, unit, source) for unit, source in pairs}
        after = set(ranking(explain(replace_units(encoding, other, replacements)))[:top].tolist())
        overlaps.append(len(before & after) / top)
    return 1 - float(np.mean(overlaps))


def matching_unit(encoding: Encoding, other: Encoding, unit: int, source: int) -> int:
    """A unit of `other` from the same input of a pair, and for a patch from the same position; `source` selects it."""
    replaced = encoding.units[unit]
    pool = [number for number, unit in enumerate(other.units) if unit.segment == replaced.segment]
    if replaced.kind == "patch":
        pool = [number for number in pool if other.units[number].text == replaced.text] or pool
    return pool[source * len(pool) // len(other.units)] if pool else source


def replace_units(encoding: Encoding, other: Encoding, replacements: Mapping[int, int]) -> Encoding:
    """The encoding with the tokens of some units replaced by those of units of `other`: unit → unit of `other`.

    Beyond `SHORT` tokens it does not grow: a replacement is cut to the tokens that it replaces. Nor does a window: what
    stands in several of them is replaced token by token.
    """
    room = 0 if encoding.windows else max(0, SHORT - len(encoding.ids))
    used: dict[int, int] = {}  # tokens of each replacement that have a place in a window
    owners: list[int] = []
    segments: list[int] = []
    rows: list[int] = []  # the source of each token: a position in `encoding`, or after its end one in `other`
    places: list[int] = []  # the position in `encoding` at which each token stands
    done: set[int] = set()
    for position, (owner, segment) in enumerate(zip(encoding.owners, encoding.segments, strict=True)):
        if owner == NO_UNIT or owner not in replacements:
            tokens = [position]
        elif encoding.windows:
            at = used[owner] = used.get(owner, -1) + 1
            tokens = _tokens_of(other, replacements[owner], len(encoding.ids))[at : at + 1]
        elif owner in done:
            continue
        else:
            done.add(owner)
            replaced = encoding.owners.count(owner)
            tokens = _tokens_of(other, replacements[owner], len(encoding.ids))[: replaced + room]
            room -= max(0, len(tokens) - replaced)
        rows += tokens
        places += [position] * len(tokens)
        owners += [owner] * len(tokens)
        segments += [segment] * len(tokens)
    both, patches = (*encoding.ids, *other.ids), encoding.patch_embeddings
    return replace(
        encoding,
        ids=tuple(both[row] for row in rows),
        segments=tuple(segments),
        owners=tuple(owners),
        zeroed=frozenset(position for position, row in enumerate(rows) if row in encoding.zeroed),
        patch_embeddings=patches and other.patch_embeddings and patches.combined(other.patch_embeddings, rows),
        canvas=encoding.canvas and other.canvas and encoding.canvas.with_patches_of(other.canvas, replacements),
        windows=encoding.windows_from(places),
    )


def _tokens_of(encoding: Encoding, unit: int, first: int) -> list[int]:
    """Positions of the tokens of a unit, where the encoding begins at `first`."""
    return [first + at for at, owner in enumerate(encoding.owners) if owner == unit]
