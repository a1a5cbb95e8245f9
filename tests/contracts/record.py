"""Records the answers of the program, so that a change of its structure can be compared with what it was before.

    PYTHONPATH=. .venv/bin/python tests/contracts/record.py [FOLDER]

writes explanations.json, exports.json, evaluation.json and addresses.json to FOLDER (default: here). It uses only
names that other programs rely on, so that an older checkout can be recorded too: run it there, by this file's path.
What may change is left out: seconds, versions, and sentences for people.
"""

import contextlib
import csv
import io
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from streamlit.testing.v1 import AppTest

import explainers
from explainers.__main__ import app
from explainers.api import compare

try:
    from explainers.report import tables as csv_tables
except ImportError:  # as it was called before
    from explainers.report import tables as csv_tables

HERE = Path(__file__).parent
DIGITS = 6
INPUTS: dict[str, tuple[dict[str, Any], ...]] = {
    "sst2": ({"text": "It is not a bad film."}, {"text": "Warm, witty café 😀", "label": "negative"}),
    "nli": (
        {"text": "A woman buys apples.", "text_pair": "Somebody pays for fruit."},
        {"text": "Two boys kick a ball.", "text_pair": "Children sleep.", "label": "entailment"},
    ),
    "scenes": (
        {"text": "All the blocks are yellow.", "image": HERE / "one-box.png"},
        {"text": "We see no yellow circles.", "image": HERE / "three-boxes.png", "label": "neutral"},
    ),
}
ERASURES = {  # pairs are erased as texts are, and what each operator changes stands beside the first
    "sst2": ("mask", "delete", "zero"),
    "nli": ("mask",),
    "scenes": ("mask", "delete", "zero", "blur"),
}
CHEAP = {"samples": 20, "steps": 4}
NARRATORS = {name: ("cause_phi", "cause_phi_ts", "cause") for name in ("nli", "scenes")}  # by model
SEARCHING = ("faml",)  # optimise for each input
LONG = {"scenes": ("solvex",)}  # by model, not recorded there: thousands of passes that other models have in hundreds
MEASURED = ("aml", "integrated_gradients", "occlusion")
EVALUATED = ("aml", "occlusion")
EXPORTED = (*EVALUATED, "random")
ADDRESSES: tuple[dict[str, str], ...] = (
    {
        "text": "It is not a bad film.",
        "removed": "2",
        "learned": "AML",
        "perturbation": "Occlusion",
        "attention": "Attention, mean",
        "variants": "AML (comp)",
        "class": "negative",
        "unit": "token",
        "erase": "zero",
        "colours": "Captum: green for, red against",
        "scale": "shared",
        "samples": "60",
        "steps": "10",
        "seed": "7",
        "sort": "AOPC-S",
        "top": "40",
        "unknown": "kept",
    },
    {"model": "nli", "text": "Two boys kick a ball.", "pair": "Children sleep.", "top": "1000"},
    {
        "model": "scenes",
        "text": "We see no yellow circles.",
        "picture": "All of them",
        "opacity": "30",
        "erase": "blur",
    },
    {"model": "scenes", "example": "None, but there is one", "evidence": "true"},
)
FEW = {  # what an address chooses by default
    "gradient": "",
    "perturbation": "Occlusion",
    "learned": "CIMI",
    "attention": "",
    "controls": "",
}
WIDGETS = ("button_group", "multiselect", "number_input", "selectbox", "slider", "text_area", "toggle")
Tree = dict[str, Any]


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list | tuple) else value


def explanations(names: Iterable[str] = tuple(INPUTS), methods: Sequence[str] = ()) -> Tree:
    """`as_dict()` of every model by names such as "sst2 0 mask".

    Under the first erasure the first input is explained by `methods`, by default by all, but for those that take LONG,
    and in words; the others by a few methods.
    """
    results: Tree = {}
    declared = methods or [spec.id for spec in explainers.METHODS.declared if spec.needs != "prompt"]
    for name in names:
        model = explainers.load(name, device="cpu")
        first, second = INPUTS[name]
        every, *others = ERASURES[name]
        methods = [method for method in declared if method not in LONG.get(name, ())]
        results[f"{name} 0 {every}"] = explained(model, first, (*methods, *NARRATORS.get(name, ())), every)
        results |= {f"{name} 0 {erasure}": explained(model, first, MEASURED, erasure) for erasure in others}
        results[f"{name} 1 {every}"] = explained(model, second, MEASURED, every)
    return results


def explained(model: Any, given: dict[str, Any], methods: Sequence[str], erasure: str) -> Tree:
    return compact(explainers.explain(model, methods=methods, erasure=erasure, **CHEAP, **given).as_dict())


def compact(answer: Tree) -> Tree:
    """Units and shares, which all explanations have in common, stand once; an explanation with others keeps its own."""
    first = answer["explanations"][0]
    common = {"units": [list(unit.values()) for unit in first["units"]], "share": first["curve"]["share"]}
    common["unit"] = list(first["units"][0])
    for each in answer["explanations"]:
        each["units"] = [list(unit.values()) for unit in each["units"]]
        if each["units"] == common["units"]:
            each["units"] = "common"
        if each["curve"]["share"] == common["share"]:
            each["curve"]["share"] = "common"
        each["seconds"] = None
        each.pop("new_calls", None)  # depends on what was asked before
    for each in answer["narratives"]:
        each["seconds"] = None
    answer["warning"] = bool(answer["warning"])
    for part in ("supported", "random", "abstaining"):  # methods that agree as much may change places
        answer["answer"][part].sort()
    answer["answer"]["differs"] = dict(sorted(answer["answer"]["differs"].items()))
    answer["failures"] = [{**failure, "message": None} for failure in answer["failures"]]
    manifest = answer["manifest"]
    manifest["libraries"] = list(manifest["libraries"])
    manifest |= {name: None for name in ("crosslight", "python")}
    return rounded({**answer, "common": common})


def exports() -> Tree:
    """Cells of the CSV tables and numbers of the page that `explain --html` writes, for each model's first input."""
    with mock.patch("explainers.api.compare", asked_once(compare)):
        return {name: exported(name, given) for name, (given, _) in INPUTS.items()}


def asked_once(compared: Callable[..., Any]) -> Callable[..., Any]:
    """A question that is asked again, by the command, has the answer from before."""
    known: Tree = {}

    def asked(model: Any, text: Any, methods: Any, **options: Any) -> Any:
        said = sorted((name, value) for name, value in options.items() if value and name != "note")
        question = repr((model.name, text, tuple(methods), said))
        if question not in known:
            known[question] = compared(model, text, methods, **options)
        return known[question]

    return asked


def exported(name: str, given: Tree) -> Tree:
    result = explainers.explain(explainers.load(name, device="cpu"), methods=EXPORTED, **CHEAP, **given)
    makers = (csv_tables.csv_scores, csv_tables.csv_metrics, csv_tables.csv_curves)
    return {**{make.__name__: table(make(result)) for make in makers}, "html": html_numbers(name, given)}


def table(text: str) -> Tree:
    """Column by column; a column of repeated cells stands as one."""
    head, *rows = csv.reader(io.StringIO(text))
    columns = {name: [number(row[place]) for row in rows] for place, name in enumerate(head) if name != "seconds"}
    return {"head": head, "rows": len(rows), **{name: once(cells) for name, cells in columns.items()}}


def once(cells: list[Any]) -> Any:
    return cells[0] if len(set(cells)) == 1 else cells


def number(cell: str) -> Any:
    try:
        return round(float(cell), DIGITS) if "." in cell or "e-" in cell else int(cell)
    except ValueError:
        return cell


def html_numbers(name: str, given: dict[str, Any]) -> list[str]:
    """As printed in tables, bars and heatmaps: without plots, styles, sentences, the manifest and the seconds."""
    flags = {"text": "--text", "text_pair": "--text-pair", "image": "--image"}
    words = [word for key, flag in flags.items() if key in given for word in (flag, str(given[key]))]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        command("explain", "--model", name, *words, "--methods", ",".join(EXPORTED), "--html", str(page))
        html = re.sub(r"<(svg|style|pre|p)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    html = re.sub(r"<td[^>]*>[^<]*</td>(?=<td[^>]*>\d*</td></tr>)", "", html)  # seconds stand before the calls
    return re.findall(r"(?<![\w.#-])[-−+]?\d+\.\d+(?![\w%.])", html)


def command(*words: str) -> str:
    """What `python -m explainers` prints."""
    printed = io.StringIO()
    line = [*words, "--samples", "20", "--steps", "4", "--device", "cpu"]
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        app(line)
    return printed.getvalue()


def evaluation() -> Tree:
    """The files that `study evaluation` writes about the texts of texts.csv, some columns and rows per method and
    erasure."""
    with tempfile.TemporaryDirectory() as folder:
        flags = {"data": str(HERE / "texts.csv"), "n": "6", "methods": ",".join(EVALUATED), "out": folder}
        flags |= {"erasures": "mask,zero", "sensitive": "2"}
        command("study", "evaluation", *(word for name, value in flags.items() for word in (f"--{name}", value)))
        names = ("table.json", "table.csv", "texts.jsonl")
        files = {name: (Path(folder) / name).read_text(encoding="utf-8") for name in names}
    result = json.loads(files["table.json"])
    result |= {"command": None, "libraries": list(result["libraries"])}
    lines = [json.loads(line) for line in files["texts.jsonl"].splitlines()]
    lines[0]["torch"] = None
    for each in (*result["rows"], *lines[1:]):
        each["seconds"] = None
    return rounded({"table": result, "texts": lines, "csv": table(files["table.csv"])})


def addresses() -> list[Tree]:
    """What a page that is opened with an address shows and which address it has afterwards."""
    return [restored(address) for address in ADDRESSES]


def restored(address: dict[str, str]) -> Tree:
    page = AppTest.from_file(str(Path.cwd() / "streamlit_app.py"), default_timeout=60)
    for name, value in {**FEW, **address}.items():
        page.query_params[name] = value
    page.run()
    end = time.monotonic() + 60
    while run_of(page).active and time.monotonic() < end:
        time.sleep(0.05)
    page.run()
    keyed = {each.key: each.value for kind in WIDGETS for each in page.get(kind) if each.key}
    return {
        "given": address,
        "errors": len(page.exception)
        + len(page.error)
        + sum("plain-error" in each.proto.body for each in page.get("html")),
        "widgets": sorted(keyed),
        "values": {key: value for key, value in sorted(keyed.items()) if key in page.query_params},
        "address": dict(sorted(page.query_params.items())),
    }


def run_of(page: AppTest) -> Any:
    state = page.session_state
    return state["CompareState"].run if "CompareState" in state else state["run"]


PARTS = {"explanations": explanations, "exports": exports, "evaluation": evaluation, "addresses": addresses}


def plain(answer: Any) -> Any:
    """As it comes back from a file."""
    return json.loads(json.dumps(answer))


@contextlib.contextmanager
def empty_store() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as store, mock.patch.dict(os.environ, {"CROSSLIGHT_STORE": store}):
        yield


def main(folder: Path) -> None:
    import torch

    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in PARTS.items():
        begin = time.monotonic()
        with empty_store():
            text = json.dumps(part(), ensure_ascii=False, separators=(",", ":"))
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        sys.stderr.write(f"{name}: {time.monotonic() - begin:.1f} s, {len(text):,} characters\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
