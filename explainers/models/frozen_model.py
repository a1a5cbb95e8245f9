"""A frozen text classifier, and the one interface through which every method and metric queries it.

`probabilities` takes many hard masks of one input; `soft` takes differentiable ones; `states` returns the internals.
The model is the same after every call: it is never trained, no gradient is stored, no hook stays. Any number of
threads may use it; the lock is held for one batch, so that no thread waits for a whole explanation.
"""

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from threading import RLock
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models import batching
from explainers.models import prompt as prompts
from explainers.models.calls import AskedInput, Meter, PredictionCache
from explainers.models.inputs.encoding import (
    ERASURES,
    Encoding,
    Erasure,
    TextTokenizer,
    UnitKind,
    WindowInput,
    check_windows,
    encode,
)
from explainers.models.inputs.erasure import check_erasure, erased_inputs, nonzero_mask, unit_masks
from explainers.models.inputs.padded_batch import PaddedBatch, pad_batch
from explainers.models.precision import Precision, PrecisionChecks, UsedPrecision, check_bfloat16
from explainers.models.states import States, attention_per_unit, quick_attention, scaled_embeddings
from explainers.models.target import Rows, Target

Floats = NDArray[np.float64]


@dataclass
class FrozenModel:
    """`module(input_ids | inputs_embeds, attention_mask, token_type_ids)` gives logits (B, C) or an object with them;
    `base_model` below it has word embeddings (`get_input_embeddings`) and an `embeddings` module.
    """

    name: str
    labels: tuple[str, ...]
    module: nn.Module = field(repr=False)
    tokenizer: Tokenizer | TextTokenizer = field(repr=False)
    mask_token: int = field(repr=False)  # the id of [MASK], or of the unknown token where there is no mask token
    pad_token: int = field(repr=False)
    version: str  # checksum or commit
    input_names: tuple[str, ...] = ()  # names of the texts it reads; empty where they are not known: one or two
    unknown: int | None = field(default=None, repr=False)  # the id of the unknown token
    english_only: bool = False  # whether it was trained on English only
    mean_pooled: bool = field(default=False, repr=False)  # whether the class is read from all tokens
    last_token: bool = field(default=False, repr=False)  # whether the class is read from it, as in decoders
    replacement: str = field(default="", repr=False)  # what stands for erased words without a mask token
    segmented: bool = field(default=True, repr=False)  # whether it takes token_type_ids
    multi_label: bool = False
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    meter: Meter = field(default_factory=Meter, repr=False)
    lock: RLock = field(default_factory=RLock, repr=False)
    pool: PredictionCache | None = field(default=None, repr=False)
    target: Target | None = None  # what it is asked about; None: all classes
    precision: Precision = "float32"  # that is asked for, of `probabilities`; what else it computes is in float32
    precision_checks: PrecisionChecks = field(default_factory=PrecisionChecks, repr=False)
    rounds: bool = field(default=False, repr=False)  # whether its passes for masks are in bfloat16

    def __post_init__(self) -> None:
        self.module.to(self.device).requires_grad_(False).eval()

    @property
    def erasures(self) -> tuple[Erasure, ...]:
        """The erasure operators of this model."""
        return ERASURES

    @property
    def default_erasure(self) -> Erasure:
        """The operator to begin with: a decoder has never seen a mask token, so its words are deleted."""
        return "delete" if self.replacement else "mask"

    def prompt_card(self) -> prompts.PromptCard | None:
        """Return what is known of the prompt of a language model; None for other models."""
        return None

    def share_of_words(self, encoding: Encoding) -> float | None:
        """Return the probability of all class words of a language model together; None for other models."""
        return None

    @property
    def multimodal(self) -> bool:
        """Return whether it reads an image with its text."""
        return False

    @property
    def causal(self) -> bool:
        """Return whether tokens attend only to themselves and those before them."""
        return self.last_token

    @property
    def takes_embeddings(self) -> bool:
        """Return whether a pass can start from embeddings of all tokens, so that one may be added."""
        return True

    @property
    def layer_config(self) -> Any:
        """The library's configuration of the layers whose states and attention are read."""
        return self.base.config

    def padded(self, encodings: Sequence[Encoding]) -> PaddedBatch:
        """The inputs as one batch. Raises `ExplanationError` for texts in several windows."""
        return pad_batch(encodings, self.pad_token, self.device)

    def metered(self, meter: Meter) -> "FrozenModel":
        """The same model, whose calls are counted and cancelled by `meter`."""
        other = copy.copy(self)
        other.meter = meter
        return other

    def pooled(self, pool: PredictionCache) -> "FrozenModel":
        """The same model, which computes no mask whose answer is in the pool."""
        other = copy.copy(self)
        other.pool = pool
        return other

    def aimed(self, target: Target) -> "FrozenModel":
        """The same model, whose `probabilities` and `soft_probabilities` know the classes of the target only."""
        other = copy.copy(self)
        other.target = target
        return other

    def in_precision(self, precision: Precision) -> "FrozenModel":
        """The same model, which answers masks in this precision where that changes no ranking: see `precision`."""
        other = copy.copy(self)
        other.precision = precision
        return other

    def used_precision(self, encoding: Encoding) -> UsedPrecision:
        """Return in which precision masks of this input are answered. The first call checks it, one unit at a time."""
        if self.precision == "float32" or not encoding.units:
            return UsedPrecision()

        def answers(precision: Precision, masks: NDArray[np.bool_], erasure: Erasure) -> Floats:
            return self._rounding(precision == "bfloat16")._answers(encoding, masks, erasure)

        check = partial(check_bfloat16, answers, len(encoding.units), self.erasures)
        return self.precision_checks.of(encoding.content_key, check)

    def _rounding(self, rounds: bool) -> "FrozenModel":
        other = copy.copy(self)
        other.rounds = rounds
        return other

    def with_module(self, module: nn.Module) -> "FrozenModel":
        """A model of the same kind with other weights, whose answers are shared with no other."""
        other = copy.copy(self)
        other.module, other.lock, other.pool = module, RLock(), PredictionCache()
        other.precision_checks = PrecisionChecks()
        return other

    def encode(self, example: str | Example, unit: UnitKind = "word", *, windows: bool = False) -> Encoding:
        """Return what the model reads. One text that is longer than it reads at once is cut or, with `windows`, read in
        several."""
        if isinstance(example, str):
            example = Example(example)
        return encode(self.tokenizer, example.texts, unit, windows=windows)

    def without(self, encoding: Encoding, removed: Sequence[int], erasure: Erasure) -> Encoding:
        """The encoding with some units erased for good."""
        return encoding.without(removed, erasure, self.mask_token)

    def probabilities(self, encoding: Encoding, keeps: ArrayLike, erasure: Erasure = "mask") -> Floats:
        """p(class) for each mask: keeps (B, units), true = kept → (B, C). Equal masks are computed once.

        Of a model that is aimed at a target, p(class) among the classes of the target.

        `erasure`: "mask" puts the mask token in a removed token's place, "delete" drops it and closes the gap,
        "zero" multiplies its embedding (after LayerNorm) by 0. Special tokens are never removed.
        """
        masks = unit_masks(encoding, keeps)
        check_erasure(erasure, self.erasures)
        if not len(masks):
            return np.zeros((0, len(self.labels)))
        rounds = self.used_precision(encoding).precision == "bfloat16"
        return self.about_target((self._rounding(True) if rounds else self)._answers(encoding, masks, erasure))

    def _answers(self, encoding: Encoding, masks: NDArray[np.bool_], erasure: Erasure) -> Floats:
        """`probabilities` of all classes, whatever the target."""
        if windows := encoding.window_inputs:
            with self.meter.windows(len(np.unique(masks, axis=0))):
                parts = [
                    self._window_answers(part, masks[:, list(part.units)], erasure) * part.share for part in windows
                ]
            return cast(Floats, sum(parts))
        unique, back = np.unique(masks, axis=0, return_inverse=True)
        compute = partial(self._computed, encoding, erasure)
        if self.pool is None:
            rows = compute(unique)
        else:
            asked = AskedInput(
                self.name, self.version, str(self.device), encoding.content_key, erasure, rounded=self.rounds
            )
            rows = self.pool.answers(asked, unique, compute, self.meter)
        return rows[back.reshape(-1)]

    def _window_answers(self, part: WindowInput, masks: NDArray[np.bool_], erasure: Erasure) -> Floats:
        """`_answers` to a window; one of which nothing is left reads what an input does whose words are all deleted."""
        return self._answers(part.encoding, masks, erasure if part.encoding.ids else "delete")

    def about_target(self, rows: Rows) -> Rows:
        """Probabilities of all classes (…, C) as those of the target's classes only, where it is aimed at one."""
        return rows if self.target is None else self.target.rows(rows)

    def _computed(self, encoding: Encoding, erasure: Erasure, unique: NDArray[np.bool_]) -> Floats:
        """`probabilities` of masks that differ from each other, all of them through the model."""
        lengths = encoding.tokens_kept(unique).sum(axis=1) if erasure == "delete" else np.zeros(len(unique))
        answer = self._answering(encoding, erasure)
        result = batching.by_length(lengths, self.rows_of_masks(encoding, erasure), lambda rows: answer(unique[rows]))
        if not np.isfinite(result).all():
            raise ExplanationError(f"{self.name} answers with numbers that are not finite. Choose another model.")
        return result

    def soft(self, encoding: Encoding, mask: Tensor, erasure: Erasure = "mask") -> Tensor:
        """Logits for differentiable masks in [0, 1]: (B, units) → (B, C).

        "mask" blends each word embedding with the mask token's, m·e + (1-m)·e_[MASK]; "zero" multiplies the embedding
        after LayerNorm by m. "delete" cannot be soft; it is read as "mask".
        """
        if encoding.windows:
            least = torch.finfo(mask.dtype).eps
            mean = self._soft_mean(encoding, mask, erasure).clamp(min=least, max=1 - least)
            return mean.logit() if self.multi_label else mean.log()
        owners = torch.tensor(encoding.owners, device=self.device)
        wide = torch.cat([mask.to(self.device), mask.new_ones(len(mask), 1).to(self.device)], dim=1)
        multiplier = wide[:, owners]  # (B, L); fixed tokens read the last column, which is 1
        nonzero = self._scale(nonzero_mask(encoding))
        multiplier = multiplier if nonzero is None else multiplier * nonzero
        with self._batch(len(mask)):
            if erasure == "zero":
                ids = torch.tensor(encoding.ids, device=self.device).expand(len(mask), -1)
                with self._scaled_embeddings(multiplier):
                    return self._logits(input_ids=ids, segments=self._segments(encoding, len(mask)))
            blend, (words, mask_token) = multiplier[:, :, None], self._word_embeddings(encoding)
            blended = blend * words + (1 - blend) * mask_token  # (B, L, d)
            return self._logits(inputs_embeds=blended, segments=self._segments(encoding, len(mask)))

    def soft_probabilities(self, encoding: Encoding, mask: Tensor, erasure: Erasure = "mask") -> Tensor:
        """`soft` as probabilities (B, C), as those of `probabilities`."""
        if encoding.windows:
            return self.about_target(self._soft_mean(encoding, mask, erasure))
        return self.about_target(self._normalised(self.soft(encoding, mask, erasure)))

    def _soft_mean(self, encoding: Encoding, mask: Tensor, erasure: Erasure) -> Tensor:
        """The mean over windows of `soft` as probabilities of all classes (B, C)."""
        answers = []
        with self.meter.windows(len(mask)):
            for part in encoding.window_inputs:
                own = mask[:, list(part.units)]
                if part.encoding.ids:
                    answers.append(part.share * self._normalised(self.soft(part.encoding, own, erasure)))
                else:
                    rows = self._window_answers(part, np.ones((len(mask), 0), dtype=bool), erasure)
                    answers.append(part.share * torch.from_numpy(rows).to(self.device, mask.dtype))
        return torch.stack(answers).sum(dim=0)

    def rows_at_once(self, encoding: Encoding, *, gradient: bool = True) -> int:
        """How many masks of this input go through the model in one batch."""
        return self._rows(len(encoding.ids), gradient=gradient)

    def _rows(self, tokens: int, *, gradient: bool) -> int:
        """How many rows of so many tokens go into one batch on this device, as much memory as it has now."""
        free = batching.free_memory(self.device)
        config = getattr(getattr(self.module, "base_model", None), "config", None)
        size = 0 if free is None else batching.bytes_per_row(config, tokens, gradient=gradient)
        return batching.rows_per_batch(tokens, self.device.type, size, free)

    def rows_of_masks(self, encoding: Encoding, erasure: Erasure) -> int:
        """As `rows_at_once`, where the rows are masks and no gradient is asked for."""
        return self.rows_at_once(encoding, gradient=False)

    def attention_received(self, encoding: Encoding, *, last_layer: bool) -> Floats:
        """The attention that each unit's tokens receive, (units,): the mean over layers, heads and attending tokens.

        With `last_layer` only there, and only from the token from which the class is read, where it is one.
        """
        received = np.zeros(len(encoding.units))
        for part in filter(lambda part: part.encoding.ids, encoding.window_inputs):
            received[list(part.units)] += part.share * self.attention_received(part.encoding, last_layer=last_layer)
        if encoding.windows:
            return received
        states = self.states(encoding)
        if not states.attentions:
            raise ExplanationError(f"{self.name} does not return its attention.")
        return attention_per_unit(states, encoding, last_layer=last_layer)

    def states(self, encoding: Encoding) -> States:
        """Hidden states and attentions of the unmasked input; no gradient. Raises `ExplanationError` for windows."""
        check_windows(encoding)
        with (
            batching.memory_errors(),
            self._batch(1),
            torch.inference_mode(),
            self._scaled_embeddings(self._scale(nonzero_mask(encoding))),
        ):
            ids = torch.tensor([encoding.ids], device=self.device)
            output = self.base(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                output_hidden_states=True,
                output_attentions=True,
                **self._segments(encoding, 1),
            )
        attentions = tuple(layer[0] for layer in output.attentions or ())
        hidden = tuple(layer[0] for layer in output.hidden_states)
        return States(hidden, attentions, self.mean_pooled, self.last_token)

    def logits(self, ids: Tensor, segments: Sequence[int]) -> Tensor:
        """For whole inputs, (B, L) ids without padding and the text (L) of each token → (B, C); nothing is masked."""
        with self._batch(len(ids)):
            rows = self._tensor(segments).expand(len(ids), -1)
            return self._logits(input_ids=ids, segments=self._segment_inputs(rows))

    @property
    def base(self) -> nn.Module:
        return cast(nn.Module, self.module.base_model)

    def _answering(self, encoding: Encoding, erasure: Erasure) -> Callable[[NDArray[np.bool_]], Tensor]:
        """From masks over units (B, units) to probabilities (B, C), with what all masks share done once."""
        return lambda keeps: self._hard(encoding, keeps, erasure)

    def _hard(self, encoding: Encoding, keeps: NDArray[np.bool_], erasure: Erasure) -> Tensor:
        kept = encoding.tokens_kept(keeps)  # (B, L)
        inputs = erased_inputs(encoding, kept, erasure, mask_token=self.mask_token, pad_token=self.pad_token)
        with (
            self._batch(len(kept)),
            torch.inference_mode(),
            self._scaled_embeddings(self._scale(inputs.scale)),
            quick_attention(self.base, inputs.ids.shape[1]),
            self._products(),
        ):
            logits = self._logits(
                input_ids=self._tensor(inputs.ids),
                attention=None if inputs.attention is None else self._tensor(inputs.attention),
                segments=self._segment_inputs(self._tensor(inputs.segments)),
            )
            return self._normalised(logits)

    def _products(self) -> AbstractContextManager[object]:
        """Matrix products within the block are rounded where the model `rounds`; of this thread alone."""
        return torch.autocast(self.device.type, torch.bfloat16) if self.rounds else nullcontext()

    def _normalised(self, logits: Tensor) -> Tensor:
        logits = logits.float() if logits.dtype == torch.bfloat16 else logits
        return logits.sigmoid() if self.multi_label else logits.softmax(dim=-1)

    def _batch(self, rows: int) -> AbstractContextManager[None]:
        return self.meter.locked_batch(self.lock, rows)

    def _scaled_embeddings(self, multiplier: Tensor | None) -> AbstractContextManager[None]:
        return scaled_embeddings(self.base, multiplier, self.name)

    def _scale(self, kept: NDArray[np.bool_] | None) -> Tensor | None:
        return None if kept is None else torch.from_numpy(kept).to(self.device)

    def _word_embeddings(self, encoding: Encoding) -> tuple[Tensor, Tensor]:
        """The input's word embeddings (1, L, d) and the mask token's (1, 1, d), without position and LayerNorm."""
        table = cast(nn.Module, self.base.get_input_embeddings())  # type: ignore[operator]
        ids = torch.tensor([*encoding.ids, self.mask_token], device=self.device)
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
        output = self.module(attention_mask=attention, **inputs, **segments)
        return cast(Tensor, output if isinstance(output, Tensor) else output.logits)

    def _segments(self, encoding: Encoding, rows: int) -> dict[str, Tensor]:
        return self._segment_inputs(torch.tensor(encoding.segments, device=self.device).expand(rows, -1))

    def _segment_inputs(self, segments: Tensor) -> dict[str, Tensor]:
        return {"token_type_ids": segments} if self.segmented else {}

    def _tensor(self, array: ArrayLike) -> Tensor:
        return torch.tensor(array, device=self.device, dtype=torch.long)
