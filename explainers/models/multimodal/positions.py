"""Several images with texts as one padded sequence of words and patches, for the methods that learn.

The patches that are units of an explanation are cut independently of the model's own. In place of the model's T tokens
the learned methods see L positions: every token of the text, one for each patch that is a unit, and every other token,
such as an image token. With a_ut, the share of own patch t that unit u covers,

    state of u  = Σ_t a_ut · state of t / Σ_t a_ut                    pooled
    state of t += Σ_u a_ut · (what u is to become - state of u)       changed

so that states which are put back as they are change nothing. States that are narrower than others are filled up with
zeros.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from explainers.models.inputs.encoding import NO_UNIT, Encoding
from explainers.models.inputs.padded_batch import PaddedBatch
from explainers.models.internals import Internals
from explainers.models.multimodal.network import Block, Stream
from explainers.models.multimodal.preprocessing import Size


@dataclass(frozen=True)
class UnitBatch(PaddedBatch):
    """L positions: other tokens, patches, and last the words, unless the model reads these last anyway."""

    encodings: tuple[Encoding, ...]
    areas: tuple[Tensor, ...]  # per row (patches of the image, own patches)


@dataclass(frozen=True)
class Layout:
    """Where the blocks of a sequence stand."""

    words: slice
    patches: slice
    others: tuple[int, ...]
    length: int


def layout(order: Sequence[Block], words: int, patches: int) -> Layout:
    """Return where the blocks of a sequence with so many words and patches lie."""
    places, others, at = {"words": slice(0, 0), "patches": slice(0, 0)}, [], 0
    for block in order:
        size = {"words": words, "patches": patches, "other": 1}[block]
        if block == "other":
            others.append(at)
        else:
            places[block] = slice(at, at + size)
        at += size
    return Layout(places["words"], places["patches"], tuple(others), at)


def own_order(streams: Sequence[Stream]) -> tuple[Block, ...]:
    """The blocks of all streams, one behind the other."""
    return tuple(block for stream in streams for block in stream.order)


def _position_order(streams: Sequence[Stream]) -> tuple[Block, ...]:
    """Words come last, so that patches of different inputs stand at the same positions."""
    return (*(block for block in own_order(streams) if block != "words"), "words")


def unit_batch(
    streams: Sequence[Stream],
    encodings: Sequence[Encoding],
    areas: Sequence[Mapping[int, Tensor]],
    pad_token: int,
    like: Tensor,
) -> UnitBatch:
    """`areas` are those of `unit_areas`, for every encoding."""
    order, count = _position_order(streams), max(len(encoding.units) for encoding in encodings)
    rows: dict[str, list[Tensor]] = {name: [] for name in ("ids", "segments", "owners", "nonzero", "is_patch")}
    for encoding, own in zip(encodings, areas, strict=True):
        places = layout(order, len(encoding.ids), len(own))
        owners = [count if owner == NO_UNIT else owner for owner in encoding.owners]
        row = {
            "ids": torch.full((places.length,), pad_token),
            "segments": torch.ones(places.length, dtype=torch.long),
            "owners": torch.full((places.length,), count),
            "nonzero": torch.ones(places.length, dtype=torch.bool),
            "is_patch": torch.zeros(places.length, dtype=torch.bool),
        }
        row["ids"][places.words] = torch.tensor(encoding.ids)
        row["segments"][places.words] = torch.tensor(encoding.segments)
        row["owners"][places.words] = torch.tensor(owners)
        row["owners"][places.patches] = torch.tensor(list(own), dtype=torch.long)
        row["nonzero"][places.words] = torch.tensor([at not in encoding.zeroed for at in range(len(encoding.ids))])
        row["is_patch"][places.patches] = True
        for name, values in row.items():
            rows[name].append(values)
    padding = {"ids": pad_token, "segments": 0, "owners": count, "nonzero": True, "is_patch": False}
    whole = {
        name: pad_sequence(values, batch_first=True, padding_value=float(padding[name])).to(like.device)
        for name, values in rows.items()
    }
    lengths = torch.tensor([len(row) for row in rows["ids"]], device=like.device)
    counts = torch.tensor([len(encoding.units) for encoding in encodings], device=like.device)
    nothing = like.new_zeros(*whole["ids"].shape, 0)  # patches have no embeddings in the words' table
    return UnitBatch(
        **whole,
        attention=torch.arange(whole["ids"].shape[1], device=like.device) < lengths[:, None],
        units=torch.arange(count, device=like.device) < counts[:, None],
        patch_embeddings=nothing,
        patch_replacements=nothing,
        encodings=tuple(encodings),
        areas=tuple(torch.stack([*own.values()]) if own else like.new_zeros(0, 1) for own in areas),
    )


@dataclass(frozen=True, eq=False)
class Positions:
    """How the positions of B inputs and the model's own T tokens belong together."""

    pool: Tensor  # (B, L, T)
    spread: Tensor  # (B, T, L)
    own: Layout  # of the T tokens
    streams: tuple[slice, ...]  # where the tokens of each stream stand

    def factors(self, scale: Tensor, grid: Size) -> tuple[Tensor, Tensor]:
        """Factors of positions (B, L) as those of the text's tokens and of own patches, (B, rows, columns)."""
        factors = 1 - torch.einsum("btl,bl->bt", self.spread, 1 - scale)
        return factors[:, self.own.words], factors[:, self.own.patches].view(-1, *grid)

    def of(self, states: Tensor, stream: int = 0) -> Tensor:
        """The states of a stream's tokens as those of their positions, (B, L, d); 0 at other positions."""
        return self.pool[:, :, self.streams[stream]] @ states.float()

    def changed(self, states: Tensor, stream: int, target: Tensor | None) -> Tensor:
        """The states of a stream's tokens, so that their positions have those of `target`, (B, L, d or more)."""
        if target is None:
            return states
        difference = target[..., : states.shape[-1]] - self.of(states, stream)
        return states + (self.spread[:, self.streams[stream]] @ difference).to(states)


def positions(streams: Sequence[Stream], batch: UnitBatch, rows: Sequence[int], grid: Size) -> Positions:
    """Return the positions in some rows of a batch, which have one grid of own patches and texts of one length."""
    sizes = max(len(batch.encodings[row].ids) for row in rows), grid[0] * grid[1]
    own = layout(own_order(streams), *sizes)
    ends = list(accumulate((layout(stream.order, *sizes).length for stream in streams), initial=0))
    spread = torch.zeros(len(rows), own.length, batch.ids.shape[1], device=batch.ids.device)
    for at, row in enumerate(rows):
        count = len(batch.encodings[row].ids)
        mine = layout(_position_order(streams), count, len(batch.areas[row]))
        spread[at, own.words.start : own.words.start + count, mine.words] = torch.eye(count).to(spread)
        spread[at, list(own.others), list(mine.others)] = 1
        spread[at, own.patches, mine.patches] = batch.areas[row].T  # none where all are erased for good
    pool = spread.mT / spread.sum(1)[:, :, None].clamp(min=1e-6)  # a unit that is cut off has no patches
    return Positions(pool, spread, own, tuple(slice(*pair) for pair in pairwise(ends)))


@dataclass(frozen=True)
class Changes:
    """What `forward_with_internals` and `forward_with_soft_mask` change in a pass; None: nothing."""

    mask: Tensor | None = None  # (B, U)
    scale: Tensor | None = None  # (B, L)
    embedding_output: Tensor | None = None  # (B, L, d)
    layer_output: tuple[int, Tensor] | None = None  # the layer's number and (B, L, d)

    @property
    def is_empty(self) -> bool:
        return all(change is None for change in vars(self).values())

    def of(self, rows: list[int]) -> "Changes":
        """For some rows of the batch."""
        mask, scale, embeddings = (
            None if change is None else change[rows] for change in (self.mask, self.scale, self.embedding_output)
        )
        layer = None if self.layer_output is None else (self.layer_output[0], self.layer_output[1][rows])
        return Changes(mask, scale, embeddings, layer)

    def at(self, number: int) -> Tensor | None:
        """What takes the place of this layer's output; 0: of the first layer's input."""
        if number == 0:
            return self.embedding_output
        return None if self.layer_output is None or self.layer_output[0] != number else self.layer_output[1]


@contextmanager
def recorded_streams(
    streams: Sequence[Stream], places: Positions, changes: Changes
) -> Iterator[tuple[list[Tensor], ...]]:
    """During the block a pass is changed, and the states of each stream's tokens are recorded: the input of its layers,
    then the output of each. If one stream has more layers than another, its upper ones count."""
    count = min(len(stream.layers) for stream in streams)
    records: tuple[list[Tensor], ...] = tuple([] for _ in streams)
    with ExitStack() as hooks:
        for number, stream in enumerate(streams):
            keep = partial(_kept, places, changes, number, records[number])
            first, upper = stream.layers[0], stream.layers[len(stream.layers) - count :]
            hooks.callback(first.register_forward_pre_hook(partial(_before, keep)).remove)
            for at, layer in enumerate(upper, start=1):
                hooks.callback(layer.register_forward_hook(partial(_after, partial(keep, at))).remove)
        yield records


def _kept(
    places: Positions, changes: Changes, stream: int, record: list[Tensor], number: int, states: Tensor
) -> Tensor:
    record.append(places.changed(states, stream, changes.at(number)))
    return record[-1]


def _before(keep: Callable[[int, Tensor], Tensor], _layer: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
    return (keep(0, args[0]), *args[1:])


def _after(keep: Callable[[Tensor], Tensor], _layer: nn.Module, _args: object, output: Any) -> Any:
    return (keep(output[0]), *output[1:]) if isinstance(output, tuple) else keep(output)


def position_states(places: Positions, records: Sequence[Sequence[Tensor]], width: int) -> tuple[Tensor, ...]:
    """The recorded states by position: (B, L, width) each."""
    return tuple(
        torch.stack(
            [
                functional.pad(places.of(states, stream), (0, width - states.shape[-1]))
                for stream, states in enumerate(layer)
            ]
        ).sum(0)
        for layer in zip(*records, strict=True)
    )


def joined(passes: Sequence[Internals], groups: Iterable[Sequence[int]]) -> Internals:
    """The internals of all rows, from those of groups of rows."""
    back = torch.tensor([row for rows in groups for row in rows]).argsort()

    def ordered(parts: Iterable[Tensor]) -> Tensor:
        whole = torch.cat(tuple(parts))
        return whole[back.to(whole.device)].float()

    layers = (
        tuple(ordered(layer) for layer in zip(*states, strict=True))
        for states in zip(*((part.hidden, part.queries, part.keys) for part in passes), strict=True)
    )
    return Internals(ordered(part.logits for part in passes), *layers)
