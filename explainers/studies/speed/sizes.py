"""What methods and comparisons take on models of several sizes with random weights, on one device.

Nothing about accuracy, or about how often bfloat16 passes its check, follows from random weights.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers.models import WordLevel
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForSequenceClassification
from transformers import PreTrainedTokenizerFast as FastTokenizer

from explainers.comparison.budget import Budget
from explainers.comparison.decision import decide
from explainers.comparison.runner import run
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.methods.registry import default_methods, select
from explainers.models.catalog import device_name, resolve_device
from explainers.models.frozen_model import FrozenModel
from explainers.models.in_memory import wrap
from explainers.models.meter import Meter
from explainers.models.optimisation import computes_in_bfloat16
from explainers.models.precision import Precision
from explainers.results.decision import Decision
from explainers.results.events import MethodResult
from explainers.results.settings import Settings
from explainers.studies.masking import without_weights
from explainers.studies.speed.measure import seconds

SAMPLES, STEPS = 500, 50
DEFAULT_SECONDS = 20.0  # that a comparison on the page may take, unless a person chooses otherwise
ROWS = 32  # masks in the batch by which a pass is timed
SPREAD = 0.06  # standard deviation of the weights where states have 384 values; it falls with their number
VOCABULARY = 30_522
REPEATS, QUICK = 3, 2.0  # the median of so many where one takes less than so many seconds
GB = 1e9


@dataclass(frozen=True)
class ModelSize:
    """A Transformer's numbers; `causal` is a decoder in Llama's form, the others are encoders in BERT's."""

    name: str
    hidden: int
    layers: int
    heads: int
    wide: int
    causal: bool = False


SIZES = (
    ModelSize("MiniLM-L6", 384, 6, 12, 1536),
    ModelSize("BERT-base", 768, 12, 12, 3072),
    ModelSize("BERT-large", 1024, 24, 16, 4096),
    ModelSize("decoder of 7B", 4096, 32, 32, 11008, causal=True),
)


def words_tokenizer(special: Sequence[str] = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")) -> FastTokenizer:
    """Return a tokenizer whose tokens are the words w0 … w999, with BERT's first and last token."""
    vocabulary = {token: number for number, token in enumerate((*special, *(f"w{number}" for number in range(1000))))}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    return FastTokenizer(tokenizer_object=tokenizer, model_max_length=512, **named)


def random_model(size: ModelSize, device: torch.device) -> FrozenModel:
    """Return a classifier of two classes with random weights, made on the device."""
    numbers: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": size.hidden,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "intermediate_size": size.wide,
        "initializer_range": SPREAD * min(1.0, 384 / size.hidden),
        "pad_token_id": 0,
    }
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), torch.device(device):
        torch.manual_seed(0)
        network = (
            LlamaForSequenceClassification(LlamaConfig(**numbers, bos_token_id=None, eos_token_id=3))
            if size.causal
            else BertForSequenceClassification(BertConfig(**numbers))
        )
    return wrap(network.eval(), words_tokenizer(), ["no", "yes"], name=size.name)


def text_of(words: int) -> str:
    """Return a text of so many words, all different where there are enough."""
    order = np.random.default_rng(0).permutation(1000)
    return " ".join(f"w{order[place % 1000]}" for place in range(words))


Show = Callable[[str], None]


def rows(
    sizes: Sequence[str], words: Sequence[int], device_name: str, show: Show = lambda _: None
) -> Iterator[dict[str, Any]]:
    """Yield, by size and number of words, what each method and a whole comparison take; `show` gets a line after every
    part, since a row of a large model takes minutes.

    Raises `ExplanationError` for an unknown size.
    """
    by_name = {size.name: size for size in SIZES}
    if unknown := [name for name in sizes if name not in by_name]:
        raise ExplanationError(f"There is no size {unknown[0]!r}. Choose from: {', '.join(by_name)}.")
    device = resolve_device(device_name)
    for name in sizes:
        model = random_model(by_name[name], device)
        show(f"{name}: made")
        for count in words:
            yield {"size": name, **measured(model, count, show)}
        del model  # before the next one is made
        if device.type == "cuda":
            torch.cuda.empty_cache()


def measured(model: FrozenModel, words: int, show: Show = lambda _: None) -> dict[str, Any]:
    """Return the row of one text. Masks are answered in bfloat16 even where its check fails; the row holds the check's
    result."""
    settings = Settings(erasure=model.default_erasure, samples=SAMPLES, steps=STEPS)
    decision, _ = decide(model, Example(text_of(words)), settings=settings)
    encoding = decision.encoding
    row: dict[str, Any] = {
        "device": device_name(model.device),
        "threads": torch.get_num_threads(),
        "parameters": sum(weight.numel() for weight in model.module.parameters()),
        "words": len(encoding.units),
        "tokens": len(encoding.ids),
    }
    precisions: list[Precision] = ["float32"]
    if computes_in_bfloat16(model.device):
        precisions.append("bfloat16")
        row["check"] = model.in_precision("bfloat16").used_precision(encoding)._asdict()
    for precision in precisions:
        asked = replace(model, rounds=precision == "bfloat16")
        whole = replace(decision, settings=Settings(erasure=settings.erasure))
        row[precision] = {}
        parts: dict[str, Callable[[], Any]] = {
            "pass": partial(seconds_of_a_pass, asked, decision),
            "methods": partial(methods, asked, decision),
            "budget": partial(comparison, asked, whole, DEFAULT_SECONDS),
            "settled": partial(comparison, asked, whole),
        }
        for part, measure in parts.items():
            started = time.perf_counter()
            row[precision][part] = measure()
            show(f"{model.name}, {words} words, {precision}: {part}, {time.perf_counter() - started:.1f} s")
    return row


def seconds_of_a_pass(model: FrozenModel, decision: Decision) -> float:
    """Return the seconds per row of a batch of masks."""
    masks = np.random.default_rng(0).random((ROWS, len(decision.encoding.units))) > 0.5
    action = partial(model.probabilities, decision.encoding, masks, decision.settings.erasure)
    action()  # warms up
    return seconds(action, REPEATS) / ROWS


def methods(model: FrozenModel, decision: Decision) -> dict[str, dict[str, Any]]:
    """Return the seconds, the passes and the GB beside the weights of each method alone, or why it cannot explain."""
    found: dict[str, dict[str, Any]] = {}
    for spec in without_weights():
        meter = Meter()
        method = spec.made_with(decision.settings)
        action = partial(method.attribute, model.metered(meter), decision.encoding, decision.label)
        try:
            took = seconds(action)  # warms up
            passes = meter.calls
            memory = peak_memory(model.device, action)
            again = seconds(action, REPEATS) if took < QUICK else took
            found[spec.id] = {"seconds": again, "passes": passes, "GB": memory}
        except ExplanationError as error:
            found[spec.id] = {"reason": str(error)}
    return found


def peak_memory(device: torch.device, action: Callable[[], object]) -> float | None:
    """Return the GB of a GPU that the action takes at most beside what is there; None for other devices, on which it
    does not run."""
    if device.type != "cuda":
        return None
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    action()
    return (torch.cuda.max_memory_allocated(device) - before) / GB


def comparison(model: FrozenModel, decision: Decision, limit: float = math.inf) -> dict[str, float]:
    """Return the seconds until the first column and until the end, the passes, and how many of the methods that need
    no fit are complete."""
    meter, started, first, complete = Meter(), time.perf_counter(), 0.0, set[str]()
    counted = {spec.id for spec in without_weights()}
    chosen = [spec for spec in select(default_methods()) if not spec.weights_of]
    for event in run(model, decision, chosen, meter, narrators=(), budget=Budget(limit, meter)):
        if isinstance(event, MethodResult):
            first = first or time.perf_counter() - started
            if not event.attribution.ended_early:
                complete.add(event.attribution.method)
    return {
        "first column": first,
        "seconds": time.perf_counter() - started,
        "passes": meter.calls,
        "complete": len(complete & counted),
    }
