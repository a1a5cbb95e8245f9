"""How much less time masks take with torch's fused attention, on encoders of two sizes with random weights."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from explainers.errors import ExplanationError
from explainers.evaluation.record_file import Record
from explainers.installation import ASSETS
from explainers.models import states
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.models.text import base_weights, bundle
from explainers.report.tables import Table, TableColumn, command_block

DOCUMENT, STORED = ASSETS / "docs" / "attention.md", ASSETS / "studies" / "attention.json"
COMMAND = ".venv/bin/python -m explainers study attention"
HEAD = (
    "# Fused attention for masks\n\nMasks of inputs from {long} tokens go through torch's fused attention where the "
    "architecture has it; attention weights and second derivatives come from the library's plain one. Seconds of the "
    "same masks with either, in one thread, the median of pairs one after the other; half of the units are kept. The "
    "weights are random, which take as long as trained ones. The answers are equal to 0.00001."
)

TOKENS = (28, 128, 256, 512)
AT_ONCE = 2048  # tokens of the masks of one measurement
REPEATS = 5
NEVER = 2**31  # tokens from which fused attention would be used
ERASURES: tuple[Erasure, ...] = ("mask", "delete")


@dataclass(frozen=True)
class Size:
    name: str
    hidden: int
    layers: int
    heads: int


SIZES = (Size("MiniLM-L6", 384, 6, 12), Size("BERT-base", 768, 12, 12))


def encoder(size: Size) -> FrozenModel:
    """A classifier of this size with random weights and BERT's vocabulary."""
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.hidden,
        attn_implementation="eager",
    )
    tokenizer = bundle.base_tokenizer(base_weights.base_folder(), max(TOKENS))
    vocabulary = tokenizer.get_vocab()
    return FrozenModel(
        name=size.name,
        labels=("no", "yes"),
        module=BertForSequenceClassification(config),
        tokenizer=tokenizer,
        mask_token=vocabulary["[MASK]"],
        pad_token=vocabulary["[PAD]"],
        version="random",
    )


def rows() -> Iterator[Record]:
    """Yield, by size, tokens and operator, the seconds of the same masks with the plain and with the fused attention:
    the median of pairs, one after the other, in one thread.

    Raises `ExplanationError` if the answers differ.
    """
    torch.set_num_threads(1)
    longest = states.LONG
    try:
        for size in SIZES:
            model = encoder(size)
            for tokens in TOKENS:
                for erasure in ERASURES:
                    yield {"size": size.name, "tokens": tokens, "erasure": erasure, **_pairs(model, tokens, erasure)}
    finally:
        states.LONG = longest


def _pairs(model: FrozenModel, tokens: int, erasure: Erasure) -> Record:
    encoding = model.encode("film " * (tokens - 2))
    masks = max(1, AT_ONCE // tokens)
    keeps = np.random.default_rng(0).random((masks, len(encoding.units))) > 0.5
    seconds: dict[str, list[float]] = {"plain": [], "fused": []}
    for _ in range(REPEATS):
        answers = []
        for name, least in (("plain", NEVER), ("fused", 1)):
            states.LONG = least
            started = time.perf_counter()
            answers.append(model.probabilities(encoding, keeps, erasure))
            seconds[name].append(time.perf_counter() - started)
        if not np.allclose(answers[0], answers[1], atol=1e-5):
            raise ExplanationError(f"The answers of {model.name} differ between plain and fused attention.")
    ratios = np.array(seconds["plain"]) / np.array(seconds["fused"])
    return {
        "masks": masks,
        "plain": float(np.median(seconds["plain"])),
        "fused": float(np.median(seconds["fused"])),
        "ratio": float(np.median(ratios)),
    }


TABLE: Table[Mapping[str, Any]] = Table(
    (
        TableColumn("encoder", lambda row: row["size"]),
        TableColumn("tokens", lambda row: row["tokens"], align="right"),
        TableColumn("operator", lambda row: f"`{row['erasure']}`"),
        TableColumn("masks", lambda row: row["masks"], align="right"),
        TableColumn("plain, s", lambda row: row["plain"], ".3f", align="right"),
        TableColumn("fused, s", lambda row: row["fused"], ".3f", align="right"),
        TableColumn("ratio", lambda row: row["ratio"], ".2f", align="right"),
    )
)


def attention_document(measured: list[dict[str, Any]], long: int) -> str:
    """Return the Markdown document."""
    return "\n\n".join([HEAD.format(long=long), TABLE.markdown(measured), command_block(COMMAND)]) + "\n"
