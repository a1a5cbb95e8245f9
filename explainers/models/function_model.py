"""Any function from texts to class probabilities as a model: a pipeline of scikit-learn, a remote model, an API.

It has no inside: what asks it about erased texts works, and what needs embeddings, states or gradients says that it
does not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.models.foreign.file_checks import first_sentence
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure, Tokens
from explainers.models.inputs.erasure import erased_inputs
from explainers.models.inputs.words import word_spans
from explainers.models.model_names import IN_MEMORY
from explainers.models.precision import Precision
from explainers.models.states import States

Function = Callable[[list[str]], ArrayLike]
AT_ONCE = 64  # texts per call
SHOWN = 60  # characters of a text in a message
TOLERANCE = 1e-3  # of a sum of probabilities that should be 1
PAD, MASK = 0, 1  # ids; those of the pieces of texts follow
_wrapped = count(1)


@dataclass(eq=False)
class PieceTable:
    """A tokenizer whose pieces are words with what stands before them, so that pieces give the text again, but for
    spaces around it."""

    mask: str
    pieces: list[str] = field(init=False)
    ids: dict[str, int] = field(init=False)
    lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        self.pieces = ["", f" {self.mask}"]
        self.ids = {}

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Return a token per word of the first text. Raises `ExplanationError` for a pair."""
        if len(texts) != 1:
            raise ExplanationError("A function reads one text, not a pair.")
        text, spans, start = texts[0], [], 0
        for _, end in word_spans(text):
            spans.append((start, end))
            start = end
        ids = tuple(self._id(text[start:end]) for start, end in spans)
        return Tokens(ids, (0,) * len(ids), (0,) * len(ids), tuple(spans), truncated=False)

    def text(self, ids: Sequence[int]) -> str:
        return "".join(self.pieces[number] for number in ids).strip()

    def _id(self, piece: str) -> int:
        with self.lock:
            if piece not in self.ids:
                self.ids[piece] = len(self.pieces)
                self.pieces.append(piece)
            return self.ids[piece]


@dataclass
class FunctionModel(FrozenModel):
    """`function` gives the probabilities (N, C) of N texts; it is called with at most 64 at a time."""

    function: Function = field(kw_only=True, repr=False)
    table: PieceTable = field(kw_only=True, repr=False)

    @property
    def erasures(self) -> tuple[Erasure, ...]:
        return "delete", "mask"

    def in_precision(self, precision: Precision) -> FrozenModel:
        if precision != "float32":
            raise ExplanationError(f"{self.name} is a function, which computes in a precision of its own. Omit it.")
        return self

    def rows_at_once(self, encoding: Encoding, *, gradient: bool = True) -> int:
        return AT_ONCE

    def _hard(self, encoding: Encoding, keeps: NDArray[np.bool_], erasure: Erasure) -> Tensor:
        kept = encoding.tokens_kept(keeps)
        inputs = erased_inputs(encoding, kept, erasure, mask_token=MASK, pad_token=PAD)
        with self._batch(len(kept)):
            return torch.from_numpy(self.answers([self.table.text(row) for row in inputs.ids.tolist()]))

    def answers(self, texts: list[str]) -> NDArray[np.float64]:
        """Return p(class) of texts, (N, C). Raises `ExplanationError` if the function raises or gives anything else."""
        try:
            answer: Any = self.function(texts)
            values = answer.detach().cpu().numpy() if isinstance(answer, Tensor) else answer
            rows = np.array(values, dtype=float, order="C")  # a copy: the function may use its array again
        except ExplanationError:
            raise
        except Exception as error:
            why = f": {first_sentence(error)}" if str(error) else "."
            about = f"{len(texts)} texts, the first " if len(texts) > 1 else ""
            about += f"“{texts[0] if len(texts[0]) <= SHOWN else texts[0][:SHOWN] + '…'}”"
            raise ExplanationError(
                f"The function {self.name!r} raised {type(error).__name__} on {about}{why}"
            ) from error
        if rows.ndim != 2 or rows.shape[1] < 2 or rows.shape != (len(texts), len(self.labels) or rows.shape[1]):
            wanted = f"({len(texts)}, {len(self.labels)})" if self.labels else f"({len(texts)}, classes)"
            raise ExplanationError(
                f"The function {self.name!r} gave an array {rows.shape}, not {wanted}: for each text the probability "
                "of every class."
            )
        if not np.isfinite(rows).all() or (rows < 0).any() or (np.abs(rows.sum(axis=1) - 1) > TOLERANCE).any():
            raise ExplanationError(
                f"The function {self.name!r} gave numbers that are no probabilities: they must not be negative, and "
                "those of a text must sum to 1."
            )
        return rows

    def soft(self, encoding: Encoding, mask: Tensor, erasure: Erasure = "mask") -> Tensor:
        self._refuse()

    def soft_probabilities(self, encoding: Encoding, mask: Tensor, erasure: Erasure = "mask") -> Tensor:
        self._refuse()

    def states(self, encoding: Encoding) -> States:
        self._refuse()

    def logits(self, ids: Tensor, segments: Sequence[int]) -> Tensor:
        self._refuse()

    @property
    def base(self) -> nn.Module:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ExplanationError(
            "The model is a function from texts to probabilities: it has no embeddings, states or gradients, which "
            "this method needs."
        )


def wrap_function(function: Function, labels: Sequence[str] | None, name: str, mask: str) -> FunctionModel:
    """Return the model, after it has answered a text. Raises `ModelUnavailable` with a sentence."""
    given = () if labels is None else tuple(map(str, labels))  # as in the `classes_` of scikit-learn
    if isinstance(labels, str) or len(set(given)) != len(given) or not all(given) or len(given) == 1:
        raise ModelUnavailable(f"{name!r} needs two or more different names of classes as labels.")
    model = FunctionModel(
        name=name,
        labels=given,
        module=nn.Module(),
        tokenizer=(table := PieceTable(mask)),
        mask_token=MASK,
        pad_token=PAD,
        version=f"{IN_MEMORY}function-{next(_wrapped)}",
        input_names=("text",),
        replacement="text of the mask",
        function=function,
        table=table,
    )
    try:
        classes = model.answers(["A test."]).shape[1]
    except ExplanationError as error:
        raise ModelUnavailable(str(error)) from error
    model.labels = given or tuple(f"class {number}" for number in range(classes))
    return model
