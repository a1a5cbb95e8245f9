"""`python -m explainers evaluate`: which texts and which methods, and what is printed at the end."""

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from explainers.datasets import texts as own_texts
from explainers.datasets.example import Example
from explainers.entry import Entry
from explainers.errors import DataUnavailable, ExplanationError
from explainers.evaluation import Plan, Record, difference, evaluate, read, table
from explainers.evaluation_names import RANDOM
from explainers.learned.entries import DEFAULT_VARIANTS
from explainers.learned.weights import available
from explainers.manifest import libraries
from explainers.methods import METHODS as EVERY
from explainers.methods import chosen
from explainers.metrics.faithfulness import METRICS
from explainers.metrics.intervals import Interval
from explainers.models.cards import DRAWN
from explainers.models.catalog import load
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import ERASURES, OF_PICTURES, Erasure
from explainers.models.processes import check_processes
from explainers.narrative.evaluate_command import narrated
from explainers.narrative.report import markdown as in_words
from explainers.report.evaluation import evidence_cells, evidence_markdown, markdown, write
from explainers.settings import Settings


@dataclass(frozen=True)
class Wanted:
    model: str
    data: Path | None
    split: str
    n: int
    methods: tuple[str, ...]
    erasures: tuple[str, ...]
    against: str = ""  # a method with which every other one is compared, text by text
    processes: int = 1


def measure(
    wanted: Wanted, settings: Settings, sensitive: int, out: Path, device: str, tell: Callable[[str], None]
) -> str:
    """Runs the evaluation, writes its files to `out`, and returns the tables as text."""
    check_erasures(wanted.erasures, OF_PICTURES)
    if wanted.against and wanted.methods and wanted.against not in wanted.methods:
        raise ExplanationError(f"--against {wanted.against}: that method is not among --methods. Add it there.")
    chosen(filter(None, [wanted.against]))  # there is such a method
    model, began = load(wanted.model, device=device), time.monotonic()
    check_erasures((*wanted.erasures, settings.erasure), model.erasures)
    check_processes(wanted.processes, model.device)
    texts = of_split(wanted, model.asks, settings.seed)
    entries = chosen(wanted.methods) if wanted.methods else everything(model)
    plan = Plan(entries, settings, cast(tuple[Erasure, ...], wanted.erasures), sensitive)
    before = 0
    for done in evaluate(model, texts, plan, out, wanted.processes):
        if done == 1 or done - before >= max(1, len(texts) // 20):
            tell(f"{done} of {len(texts)} texts, {time.monotonic() - began:.0f} s")
            before = done
    records = read(out, [entry.id for entry in entries], model)
    rows = table(records)
    about = {
        "model": {"name": model.name, "version": model.version},
        "data": {"split": wanted.split, "texts": len(texts), "seed": settings.seed},
        "settings": asdict(settings),
        "sensitive": sensitive,
        "command": f"python -m explainers evaluate --model {model.name} --split {wanted.split} --n {wanted.n} "
        f"--sensitive {sensitive}{erased(wanted)}{shared(wanted)}{'' if model.name in DRAWN else ' --data DIR'}",
        "libraries": libraries(),
    }
    write(rows, about, out)
    titled = [f"Scored by `{each}` on {len(texts)} texts:\n\n{markdown(rows, each)}" for each in wanted.erasures]
    if evidence_cells(rows, wanted.erasures[0]):
        found = evidence_markdown(rows, wanted.erasures[0])
        titled.append(f"Did it find the evidence, where the model is right (random: exact chance):\n\n{found}")
    if wanted.against:
        titled += [f"By `{each}`, {compared(records, entries, wanted.against, each)}" for each in wanted.erasures]
    spoken = narrated(model, texts)
    if spoken:
        write_narrated(spoken, out)
        titled.append(f"In words, on the same texts, with the weights that are shipped:\n\n{in_words(spoken)}")
    return "\n\n".join(titled)


def check_erasures(wanted: Sequence[str], known: Sequence[Erasure]) -> None:
    for each in wanted:
        if each not in known:
            raise ExplanationError(f"There is no erasure {each!r}. Choose from: {', '.join(known)}.")


def erased(wanted: Wanted) -> str:
    """The option for operators, where they are not the usual ones."""
    return "" if wanted.erasures == ERASURES else f" --erasures {','.join(wanted.erasures)}"


def shared(wanted: Wanted) -> str:
    """The option for processes; with several, seconds are those of one thread while others work too."""
    return f" --processes {wanted.processes}" if wanted.processes > 1 else ""


def compared(records: list[Record], entries: Sequence[Entry], other: str, erasure: str) -> str:
    """How much better every method is than `other`, the mean over texts with its paired 95 % interval."""
    lines = [
        f"| {entry.name} | "
        + " | ".join(signed(difference(records, entry.id, other, metric, erasure)) for metric in METRICS)
        + " |"
        for entry in entries
        if entry.id != other
    ]
    head = f"| better than {other} by | {' | '.join(metric.name for metric in METRICS)} |"
    return "\n".join([f"against `{other}`, paired by text:\n", head, "|" + "---|" * (len(METRICS) + 1), *lines])


def signed(found: Interval) -> str:
    return f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def write_narrated(rows: list[dict[str, Any]], out: Path) -> None:
    (out / "narratives.json").write_text(json.dumps({"rows": rows}, indent=2) + "\n", encoding="utf-8")


def everything(model: FrozenModel) -> tuple[Entry, ...]:
    """Every method but the random one, which is a control anyway; of the learned ones every set of weights there is."""
    fitted = available(model.name, model.version)
    named = [each for each in EVERY if each.id != RANDOM and each.group != "Learned"]
    ids = [each.id for each in named]
    for each in fitted:
        first = each.variant == DEFAULT_VARIANTS.get(each.method)
        ids.append(each.method if first else f"{each.method}:{each.variant}")
        if each.method == "aml" and first:
            ids.append("faml")
    return chosen(ids)


def of_split(wanted: Wanted, asks: tuple[str, ...], seed: int) -> tuple[Example, ...]:
    """`n` texts of a split of the model's data, or of a file."""
    from explainers.models.tasks import TASKS

    if wanted.data is not None and wanted.data.is_file():
        found = list(own_texts.read(wanted.data, asks))
    elif wanted.model in TASKS:
        if wanted.split not in ("test", "validation"):
            raise DataUnavailable(f"There is no split {wanted.split!r}. Choose test or validation.")
        found = list(getattr(TASKS[wanted.model].read(wanted.data), wanted.split))
    else:
        raise DataUnavailable(f"Give a file with texts for {wanted.model}: one per line, or a table.")
    random.Random(seed).shuffle(found)
    return tuple(found[: wanted.n] if wanted.n > 0 else found)
