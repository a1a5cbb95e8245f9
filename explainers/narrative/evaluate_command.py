"""`python -m explainers narratives`: φ, φ + TS and CAuSE on unseen pairs over several seeds, and a page of examples."""

import json
import random
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from explainers.datasets.example import Example
from explainers.datasets.pictures.sets import PictureFiles
from explainers.errors import ExplanationError
from explainers.models.cards import DRAWN
from explainers.models.classifier import FrozenModel
from explainers.models.inside import head
from explainers.narrative.command import Order, make
from explainers.narrative.evaluation import Spoken, asked, spoken, table
from explainers.narrative.report import PICTURES, examples_page, markdown
from explainers.narrative.sources import source
from explainers.narrative.texts import items, sentence, shortened
from explainers.narrative.weights import available, card, loaded

SHOWN = 20  # items of the page


@dataclass(frozen=True)
class Wanted:
    """`n` test pairs, 0 for all; `settings` as typed for every narrator, such as leak=leaky."""

    data: Path | None
    n: int
    seeds: int
    methods: tuple[str, ...]
    settings: tuple[tuple[str, str], ...] = ()
    pictures: PictureFiles | None = None  # a published set, whose annotations are `data`


def measure(wanted: Wanted, model: FrozenModel, out: Path, tell: Callable[[str], None]) -> str:
    """Fits what is missing, measures, writes `table.json`, `items.jsonl` and `examples.md` to `out`; the table as text.

    The first seed's weights are the shipped ones where the settings are those of the shipped ones.
    """
    found = source(model, wanted.data, wanted.pictures)
    test = list(found.test)
    random.Random(0).shuffle(test)
    test = test[: wanted.n] if wanted.n > 0 else test
    if len(test) < 2:
        raise ExplanationError("Counterfactuals need at least two pairs. Give a larger --n.")
    given = asked(head(model), items(model, test), [said_in(each) for each in test], model.labels)
    reasons = {"", *(shortened(said) for each in found.taught for said in each.explanations)}
    learned_from = [sentence(label, reason) for reason in reasons for label in model.labels]
    said_by: dict[str, list[Spoken]] = {}
    for method in wanted.methods:
        for seed in range(wanted.seeds):
            began = time.monotonic()
            _, narrator = loaded(weights(wanted, model, method, seed, tell), model)
            said_by.setdefault(method, []).append(spoken(narrator, given, seed))
            tell(f"{method}, seed {seed}: {len(test)} pairs in {time.monotonic() - began:.0f} s")
    rows = table(given, said_by, learned_from)
    about: dict[str, Any] = {
        "model": {"name": model.name, "version": model.version},
        "data": {"split": "test", "pairs": len(test), "seed": 0},
        "settings": dict(wanted.settings),
        "command": command(wanted, model.name),
        "torch": torch.__version__,
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "table.json").write_text(json.dumps({**about, "rows": rows}, indent=2) + "\n", encoding="utf-8")
    with (out / "items.jsonl").open("w", encoding="utf-8") as file:
        for line in lines(test, given.predicted, said_by, model.labels):
            print(json.dumps(line, ensure_ascii=False), file=file)
    whose = "The generator" if found.name == "scenes" else "People"
    shown = list(lines(test[:SHOWN], given.predicted[:SHOWN], said_by, model.labels))
    (out / "examples.md").write_text(
        examples_page(shown, about["command"], model.asks, model.labels, whose), encoding="utf-8"
    )
    draw(test[:SHOWN], out / PICTURES)
    return markdown(rows)


def command(wanted: Wanted, model: str) -> str:
    """What to type to get the same figures again."""
    settings = [f"--set {name}={value}" for name, value in wanted.settings]
    files = [f"--format {wanted.pictures.format} --pictures DIR"] if wanted.pictures else []
    data = [] if model in DRAWN and wanted.data is None else ["--data DATA"]
    asked = f"python -m explainers narratives --model {model} --n {wanted.n} --seeds {wanted.seeds}"
    return " ".join([asked, *settings, *files, *data])


def said_in(example: Example) -> str:
    """All of its words."""
    return " ".join(filter(None, (example.text, example.pair)))


def draw(shown: Sequence[Example], folder: Path) -> None:
    """The pictures of the page, numbered as its items are."""
    for number, example in enumerate(shown, start=1):
        if example.picture is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.png").write_bytes(example.picture.png())


def narrated(model: FrozenModel, examples: Sequence[Example], draws: int = 3) -> list[dict[str, Any]]:
    """The table of the narrators that were fitted to the model, on these texts; empty where that makes no sense.

    Their weights are the ones at hand, so seeds are those of the sampled sentences. What they learned from is not
    known here, so nothing counts as copied.
    """
    known = available(model.name, model.version)
    found = items(model, examples) if known and len(examples) > 1 else []
    if len({item.label for item in found}) < 2:  # a counterfactual needs another class
        return []
    given = asked(head(model), found, [said_in(each) for each in examples], model.labels)
    said_by = {
        method: [spoken(loaded(path, model)[1], given, seed) for seed in range(draws)] for method, path in known.items()
    }
    return table(given, said_by, ())


def weights(wanted: Wanted, model: FrozenModel, method: str, seed: int, tell: Callable[[str], None]) -> Path:
    """The file of one narrator with one seed: shipped, or fitted before below runs, or fitted now."""
    order = Order(method, model.name, wanted.data, seed, wanted.settings, wanted.pictures)
    shipped = available(model.name, model.version).get(method)
    if (
        shipped is not None
        and card(shipped)["recipe"] == asdict(order.recipe)
        and set_of(shipped) == (wanted.pictures.format if wanted.pictures else "")
    ):
        return shipped
    folder = order.folder / "weights"
    path = folder / f"{method}.safetensors"
    if not path.is_file() or card(path)["model"]["version"] != model.version:
        tell(f"{method}, seed {seed}: is fitted first; log in {order.folder}")
        make(order, model, order.folder, folder, resume=not path.is_file())  # another model's is begun anew
    return path


def set_of(path: Path) -> str:
    """The published set from which a narrator's reasons came, or "" for those of its model's own data."""
    words = shlex.split(card(path).get("command", ""))
    return words[words.index("--format") + 1] if "--format" in words else ""


def lines(
    test: Sequence[Example], predicted: Sequence[int], said_by: dict[str, list[Spoken]], labels: Sequence[str]
) -> list[dict[str, Any]]:
    """Per item: both texts, the data set's class, the model's, people's reasons, and what each narrator said."""
    return [
        {
            "text": example.text,
            "pair": example.pair,
            "pictured": example.picture is not None,
            "label": labels[example.label or 0],
            "predicted": labels[predicted[place]],
            "people": list(example.explanations),
            **{method: runs[0].sentences[place] for method, runs in said_by.items()},
        }
        for place, example in enumerate(test)
    ]
