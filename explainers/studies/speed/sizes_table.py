"""The document of `study sizes`: seconds, passes and memory by size of the model, device and precision."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from explainers.methods.registry import METHODS
from explainers.report.tables import Table, TableColumn, command_block
from explainers.report.text import counted
from explainers.studies.speed.sizes import DEFAULT_SECONDS, SAMPLES, STEPS

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
