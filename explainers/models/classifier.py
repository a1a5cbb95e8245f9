"""A frozen text classifier, and the one door through which every method and metric asks it.

`probabilities` takes many hard masks of one input; `soft` takes differentiable ones; `states` shows what is inside.
The model is the same after every call: it is never trained, no gradient is stored, no hook stays. Any number of
threads may ask at the same time; the lock is held for one batch, so that nobody waits for a whole explanation.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.batching import in_batches, memory_explained, rows_per_batch
from explainers.models.encoding import ERASURES, FIXED, Encoding, Erasure, UnitKind, encode
from explainers.models.erasing import erased, present
from explainers.models.meter import Meter

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class States:
    """What is inside the model for one input: L tokens, H heads, d dimensions."""

    hidden: tuple[Tensor, ...]  # embedding output, then every layer's output: (L, d) each
    attentions: tuple[Tensor, ...]  # per layer (H, L, L): row = the token that attends
    pooled: bool  # whether the class is read from the mean over tokens rather than from the first one


@dataclass
class FrozenModel:
    """`module(input_ids | inputs_embeds, attention_mask, token_type_ids)` gives logits (B, C) or an object with them.

    `base_model` below it has word embeddings (`get_input_embeddings`) and an `embeddings` module.
    """

    name: str
    labels: tuple[str, ...]
    module: nn.Module = field(repr=False)
    tokenizer: Tokenizer = field(repr=False)
    filler: int  # the id of [MASK], or of the unknown token where there is no mask token
    padding: int
    version: str  # checksum or commit
    asks: tuple[str, ...] = ()  # names of the texts it reads; empty where nobody knows: one or two
    unknown: int | None = None  # the id of the token for what is not in the vocabulary
    english: bool = False  # whether it has learned from English only
    pooled: bool = False
    segmented: bool = True  # whether it takes token_type_ids
    multi_label: bool = False
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    meter: Meter = field(default_factory=Meter, repr=False)
    lock: RLock = field(default_factory=RLock, repr=False)
    fitted: dict[object, object] = field(default_factory=dict, repr=False)  # what learned to explain it, once loaded

    def __post_init__(self) -> None:
        self.module.to(self.device).requires_grad_(False).eval()

    @property
    def erasures(self) -> tuple[Erasure, ...]:
        """How it can be asked without some units."""
        return ERASURES

    @property
    def pictured(self) -> bool:
        """Whether it reads a picture with its text."""
        return False

    def metered(self, meter: Meter) -> "FrozenModel":
        """The same model, whose use is counted by `meter` and stops when it says so."""
        other = copy.copy(self)
        other.meter = meter
        return other

    def encode(self, example: str | Example, unit: UnitKind = "word") -> Encoding:
        given = Example(example) if isinstance(example, str) else example
        with self.lock:  # a tokenizer's truncation is its state
            return encode(self.tokenizer, (given.text, given.pair) if given.pair is not None else (given.text,), unit)

    def without(self, encoding: Encoding, removed: Sequence[int], erasure: Erasure) -> Encoding:
        """The encoding with some units erased for good."""
        return encoding.without(removed, erasure, self.filler)

    def probabilities(self, encoding: Encoding, keeps: ArrayLike, erasure: Erasure = "mask") -> Floats:
        """p(class) for each mask: keeps (B, units), true = kept → (B, C). Equal masks are computed once.

        `erasure`: "mask" puts the mask token in a removed token's place, "delete" drops it and closes the gap,
        "zero" multiplies its embedding (after LayerNorm) by 0. Special tokens are never removed.
        """
        masks = np.atleast_2d(np.asarray(keeps, dtype=bool))
        if masks.ndim != 2 or masks.shape[1] != len(encoding.units):
            raise ValueError(f"keeps must be (B, {len(encoding.units)}), one column per unit, not {np.shape(keeps)}")
        if erasure not in self.erasures:
            raise ExplanationError(f"There is no erasure {erasure!r}. Choose one of: {', '.join(self.erasures)}.")
        unique, back = np.unique(masks, axis=0, return_inverse=True)
        if not len(masks):
            return np.zeros((0, len(self.labels)))
        lengths = encoding.tokens_kept(unique).sum(axis=1) if erasure == "delete" else np.zeros(len(unique))
        order = np.argsort(lengths, kind="stable").tolist()  # (U,): rows of about equal length go together
        found = np.zeros((len(unique), len(self.labels)))
        answer = self._answering(encoding, erasure)
        for rows, result in in_batches(order, self.rows_at_once(encoding), lambda rows: answer(unique[rows])):
            found[rows] = result.double().cpu().numpy()
        return found[back.reshape(-1)]

    def soft(self, encoding: Encoding, mask: Tensor, erasure: Erasure = "mask") -> Tensor:
        """Logits for differentiable masks in [0, 1]: (B, units) → (B, C).

        "mask" blends each word embedding with the mask token's, m·e + (1-m)·e_[MASK]; "zero" multiplies the embedding
        after LayerNorm by m. "delete" cannot be soft; it is read as "mask".
        """
        owners = torch.tensor(encoding.owners, device=self.device)
        wide = torch.cat([mask.to(self.device), mask.new_ones(len(mask), 1).to(self.device)], dim=1)
        multiplier = wide[:, owners]  # (B, L); fixed tokens read the last column, which is 1
        gone = self._scale(present(encoding))
        multiplier = multiplier if gone is None else multiplier * gone
        with self._batch(len(mask)):
            if erasure == "zero":
                ids = torch.tensor(encoding.ids, device=self.device).expand(len(mask), -1)
                with self._scaled_embeddings(multiplier):
                    return self._logits(input_ids=ids, segments=self._segments(encoding, len(mask)))
            blend = multiplier[:, :, None]  # (B, L, 1)
            words, filler = self._word_embeddings(encoding)
            blended = blend * words + (1 - blend) * filler
            return self._logits(inputs_embeds=blended, segments=self._segments(encoding, len(mask)))

    def soft_probabilities(self, encoding: Encoding, mask: Tensor, erasure: Erasure = "mask") -> Tensor:
        """`soft` as probabilities (B, C)."""
        return self._normalised(self.soft(encoding, mask, erasure))

    def of_class(self, encoding: Encoding, label: int, erasure: Erasure) -> Callable[[Tensor], Tensor]:
        """p(label) as a function of masks (B, units) in a tensor, the form in which Captum asks."""
        return lambda masks: torch.from_numpy(self.probabilities(encoding, masks.bool().numpy(), erasure)[:, label])

    def rows_at_once(self, encoding: Encoding) -> int:
        """How many masks of this input go through the model in one batch."""
        return rows_per_batch(len(encoding.ids), self.device.type)

    def received(self, encoding: Encoding, *, last_layer: bool) -> Floats:
        """The attention that each unit's tokens receive, (units,): the mean over layers, heads and attending tokens.

        With `last_layer` only there, and only from the token from which the class is read, where it is one.
        """
        states = self.states(encoding)
        if not states.attentions:
            raise ExplanationError(f"{self.name} does not show its attention.")
        if last_layer and not states.pooled:
            found = states.attentions[-1].mean(dim=0)[0]  # (L,): the first token's view
        else:
            layers = states.attentions[-1:] if last_layer else states.attentions
            found = torch.stack(layers).mean(dim=(0, 1, 2))  # (L,)
        owners = np.asarray(encoding.owners)
        weights = found.cpu().numpy()[owners != FIXED]
        return np.bincount(owners[owners != FIXED], weights, minlength=len(encoding.units)).astype(float)

    def states(self, encoding: Encoding) -> States:
        """Hidden states and attentions of the unmasked input; no gradient."""
        with (
            memory_explained(),
            self._batch(1),
            torch.inference_mode(),
            self._scaled_embeddings(self._scale(present(encoding))),
        ):
            ids = torch.tensor([encoding.ids], device=self.device)
            found = self.base(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                output_hidden_states=True,
                output_attentions=True,
                **self._segments(encoding, 1),
            )
        attentions = tuple(layer[0] for layer in found.attentions or ())
        return States(tuple(layer[0] for layer in found.hidden_states), attentions, self.pooled)

    def logits(self, ids: Tensor, segments: Sequence[int]) -> Tensor:
        """For whole inputs, (B, L) ids without padding and the text (L) of each token → (B, C); nothing is masked."""
        with self._batch(len(ids)):
            kinds = torch.tensor(segments, device=self.device).expand(len(ids), -1)
            return self._logits(input_ids=ids, segments=self._kinds(kinds))

    @property
    def base(self) -> nn.Module:
        return cast(nn.Module, self.module.base_model)

    def _answering(self, encoding: Encoding, erasure: Erasure) -> Callable[[NDArray[np.bool_]], Tensor]:
        """From masks over units (B, units) to probabilities (B, C), with what all masks share done once."""
        return lambda keeps: self._hard(encoding, keeps, erasure)

    def _hard(self, encoding: Encoding, keeps: NDArray[np.bool_], erasure: Erasure) -> Tensor:
        kept = encoding.tokens_kept(keeps)  # (B, L)
        given = erased(encoding, kept, erasure, filler=self.filler, padding=self.padding)
        with self._batch(len(kept)), torch.inference_mode(), self._scaled_embeddings(self._scale(given.scale)):
            logits = self._logits(
                input_ids=self._tensor(given.ids),
                attention=None if given.attention is None else self._tensor(given.attention),
                segments=self._kinds(self._tensor(given.segments)),
            )
            return self._normalised(logits)

    def _normalised(self, logits: Tensor) -> Tensor:
        return logits.sigmoid() if self.multi_label else logits.softmax(dim=-1)

    @contextmanager
    def _batch(self, rows: int) -> Iterator[None]:
        with self.lock, self.meter.batch(rows):
            yield

    @contextmanager
    def _scaled_embeddings(self, multiplier: Tensor | None) -> Iterator[None]:
        """During the block the embedding output is multiplied, (B, L) onto (B, L, d)."""
        if multiplier is None:
            yield
            return
        embeddings = getattr(self.base, "embeddings", None)
        if not isinstance(embeddings, nn.Module):
            raise ExplanationError(f"The operator “zero” needs an embedding layer that {self.name} does not have.")
        scale = multiplier[:, :, None]
        handle = embeddings.register_forward_hook(lambda _module, _args, output: output * scale.to(output.dtype))
        try:
            yield
        finally:
            handle.remove()

    def _scale(self, kept: NDArray[np.bool_] | None) -> Tensor | None:
        return None if kept is None else torch.from_numpy(kept).to(self.device)

    def _word_embeddings(self, encoding: Encoding) -> tuple[Tensor, Tensor]:
        """The input's word embeddings (1, L, d) and the mask token's (1, 1, d), without position and LayerNorm."""
        table = cast(nn.Module, self.base.get_input_embeddings())  # type: ignore[operator]
        ids = torch.tensor([*encoding.ids, self.filler], device=self.device)
        with torch.no_grad():
            both = table(ids)[None]
        return both[:, :-1], both[:, -1:]

    def _logits(
        self,
        *,
        segments: dict[str, Tensor],
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        attention: Tensor | None = None,
    ) -> Tensor:
        inputs = {"input_ids": input_ids} if inputs_embeds is None else {"inputs_embeds": inputs_embeds}
        found = self.module(attention_mask=attention, **inputs, **segments)
        return cast(Tensor, found if isinstance(found, Tensor) else found.logits)

    def _segments(self, encoding: Encoding, rows: int) -> dict[str, Tensor]:
        return self._kinds(torch.tensor(encoding.segments, device=self.device).expand(rows, -1))

    def _kinds(self, kinds: Tensor) -> dict[str, Tensor]:
        return {"token_type_ids": kinds} if self.segmented else {}

    def _tensor(self, array: NDArray[np.generic]) -> Tensor:
        return torch.tensor(array, device=self.device, dtype=torch.long)
