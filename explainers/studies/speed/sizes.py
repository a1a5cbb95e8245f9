"""What methods, comparisons and fits take on models of several sizes with random weights, on one device.

Nothing about accuracy, or about how often bfloat16 passes its check, follows from random weights.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers.models import WordLevel
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForSequenceClassification
from transformers import PreTrainedTokenizerFast as FastTokenizer

from explainers.comparison import budget, runner
from explainers.comparison.decision import decide
from explainers.datasets.example import Example
from explainers.datasets.user_texts import read_texts
from explainers.errors import ExplanationError
from explainers.learned import fit, recipes
from explainers.methods.registry import METHODS, default_methods, select
from explainers.models import calls, catalog, optimisation
from explainers.models.frozen_model import FrozenModel
from explainers.models.in_memory import wrap
from explainers.models.precision import Precision
from explainers.report.tables import Table, TableColumn, command_block
from explainers.report.wording import counted
from explainers.results.decision import Decision, Settings
from explainers.results.events import MethodResult
from explainers.studies.attention import SIZES as ENCODERS
from explainers.studies.attention import encoder
from explainers.studies.masking import without_weights
from explainers.studies.speed.measure import seconds

SAMPLES, STEPS = 500, 50
DEFAULT_SECONDS = 20.0  # that a comparison on the page may take, unless a person chooses otherwise
ROWS = 32  # masks in the batch by which a pass is timed
SPREAD = 0.06  # standard deviation of the weights where states have 384 values; it falls with their number
VOCABULARY = 30_522
REPEATS, QUICK = 3, 2.0  # the median of so many where one takes less than so many seconds
GB = 1e9

TEXTS = 1000  # of which a fit is priced

Row = Mapping[str, Any]
Measured = tuple[Row, str]  # a row and one of its precisions
PRECISIONS = ("float32", "bfloat16")
COMMAND = ".venv/bin/python -m explainers study sizes"
HEAD = (
    "# Seconds and memory by size of the model\n\nModels with random weights, and one text. A *pass* is one row of a "
    "batch of masks. *First column*: until the first method is there with its curves. *Settled*: the whole comparison "
    "of the page without a time limit, all methods that need no fit, with their metrics and the random band, timed "
    f"once. *Within {DEFAULT_SECONDS:.0f} s*: the same with the page's default limit, and how many methods are "
    "complete then. In bfloat16 all passes that ask about masks are rounded, whatever the check of an input says; "
    "gradients stay in float32."
)
ALONE = (
    f"Each method alone, with {SAMPLES} samples each for LIME and KernelSHAP and {STEPS} steps of integrated "
    "gradients: seconds, and on a GPU the memory at most beside the weights."
)


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
    device = catalog.resolve_device(device_name)
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
        "device": catalog.device_name(model.device),
        "threads": torch.get_num_threads(),
        "parameters": sum(weight.numel() for weight in model.module.parameters()),
        "words": len(encoding.units),
        "tokens": len(encoding.ids),
    }
    precisions: list[Precision] = ["float32"]
    if optimisation.computes_in_bfloat16(model.device):
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
        meter = calls.Meter()
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
    meter, started, first, complete = calls.Meter(), time.perf_counter(), 0.0, set[str]()
    counted = {spec.id for spec in without_weights()}
    chosen = [spec for spec in select(default_methods()) if not spec.weights_of]
    for event in runner.run(model, decision, chosen, meter, narrators=(), budget=budget.Budget(limit, meter)):
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


def fit_times(file: Path, threads: int) -> dict[str, Any]:
    """Return by method, with its usual settings, seconds of a step and minutes of a fit to 1,000 texts of the file, the
    held-out ones among them, of which validations take a part. The weights are random."""
    if threads:
        torch.set_num_threads(threads)
    model, texts = encoder(ENCODERS[-1]), read_texts(file)
    model.module.eval().requires_grad_(False)
    lengths = [len(model.encode(text).ids) for text in texts[:TEXTS]]
    results: dict[str, Any] = {"threads": torch.get_num_threads(), "mean tokens": sum(lengths) / len(lengths)}
    judged = fit.held_out(TEXTS)
    for method in recipes.RECIPES:
        recipe = recipes.recipe_of(method, {})
        pace = fit.measured_pace(recipe, model, texts)
        results[method] = {
            "texts in a step": recipe.batch,
            "step, s": pace.learning * recipe.batch,
            "fit, min": pace.seconds(recipe, TEXTS - judged, judged) / 60,
            "of these validations, min": pace.validations(recipe, TEXTS - judged, judged) / 60,
        }
    return results


def sizes_document(rows: Sequence[Row]) -> str:
    """Return the Markdown document of all stored rows, a section per device."""
    parts, commands = [HEAD], list[str]()
    for device, threads in dict.fromkeys((row["device"], row["threads"]) for row in rows):
        own = [row for row in rows if (row["device"], row["threads"]) == (device, threads)]
        measured = [(row, precision) for row in own for precision in PRECISIONS if precision in row]
        parts += [
            f"## {device}, {counted(threads, 'thread')}",
            _comparisons().markdown(measured),
            ALONE,
            _methods(own).markdown(measured),
            *_reasons(measured),
        ]
        if checked := [row for row in own if "check" in row]:
            parts.append(_checks(checked))
        option = device.lower() if device in ("CPU", "MPS") else "cuda"
        commands += [
            f"{COMMAND} --sizes '{size}' --words {words} --device {option} --threads {threads}"
            for size, words in _by_size(own)
        ]
    return "\n\n".join([*parts, command_block("\n".join(commands))]) + "\n"


def _by_size(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield every size with its numbers of words."""
    for size in dict.fromkeys(row["size"] for row in rows):
        yield size, ",".join(str(row["words"]) for row in rows if row["size"] == size)


def _reasons(measured: Sequence[Measured]) -> Iterator[str]:
    """Yield why methods cannot explain, each reason once."""
    yield from dict.fromkeys(
        f"{METHODS.get(id).name}: {values['reason']}"
        for row, precision in measured
        for id, values in row[precision]["methods"].items()
        if "reason" in values
    )


def _named() -> tuple[TableColumn[Measured], ...]:
    return (
        TableColumn("model", lambda one: one[0]["size"]),
        TableColumn("words", lambda one: str(one[0]["words"])),
        TableColumn("precision", lambda one: one[1]),
    )


def _comparisons() -> Table[Measured]:
    def within(one: Measured) -> str:
        part = one[0][one[1]]
        return f"{part['budget']['seconds']:.1f} s, {part['budget']['complete']} of {part['settled']['complete']}"

    return Table(
        (
            *_named(),
            TableColumn("weights", lambda one: f"{one[0]['parameters'] / 1e6:,.0f} million"),
            TableColumn("pass", lambda one: f"{one[0][one[1]]['pass'] * 1000:.2f} ms"),
            TableColumn("first column", lambda one: f"{one[0][one[1]]['settled']['first column']:.2f} s"),
            TableColumn("settled", lambda one: f"{one[0][one[1]]['settled']['seconds']:.1f} s"),
            TableColumn("passes", lambda one: f"{one[0][one[1]]['settled']['passes']:,}"),
            TableColumn(f"within {DEFAULT_SECONDS:.0f} s", within),
        )
    )


def _methods(rows: Sequence[Row]) -> Table[Measured]:
    def cell(method: str, one: Measured) -> str:
        values = one[0][one[1]]["methods"].get(method, {})
        if "seconds" not in values:
            return "–"
        memory = "" if values["GB"] is None else f", {values['GB']:.1f} GB"
        return f"{values['seconds']:.2f} s{memory}"

    ids = dict.fromkeys(id for row in rows for id in row["float32"]["methods"])
    columns = (TableColumn(METHODS.get(id).name, partial(cell, id)) for id in ids)
    return Table((*_named(), *columns))


def _checks(rows: Sequence[Row]) -> str:
    passed = sum(row["check"]["precision"] == "bfloat16" for row in rows)
    return (
        "The check of bfloat16 against float32 (same class, same leading fifth of the units when one is erased) "
        f"passes on {passed} of {len(rows)} of these models, whose weights are random."
    )
