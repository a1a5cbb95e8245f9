"""A regression on readings: fitted on the sentences about inputs with an even number, checked on those with an odd one.

Readers judged the sentences in `assets/readings`. They are generated again, which must give the same ones, and what can
be measured about them without a reader is what the regression reads.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.installation import ASSETS
from explainers.methods.narrator_specs import narrator_spec
from explainers.metrics import bootstrap, erasure
from explainers.models.bundle_cards import BUNDLES
from explainers.models.frozen_model import FrozenModel
from explainers.narrative.checks import FILE, Reliability, check_narrative, features
from explainers.narrative.content_words import reason_of
from explainers.narrative.narrate import narrate
from explainers.report.tables import Table, TableColumn
from explainers.studies.readings.measure import FOLDER, PEOPLE, holds, plain, read_items, read_key, read_marks
from explainers.training.artifacts import find_artifact

DOCUMENT = ASSETS / "docs" / "reliability.md"
BINS = (0.0, 0.4, 0.6, 1.0)
DRAWS = 2_000  # of the bootstrap, over inputs
PENALTY = 0.3  # C of the regression, strong because sentences are few
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """A sentence: its input by reading and number, its writer, what was measured, and the share of readers for whom its
    reason holds."""

    input: tuple[str, int]
    writer: str
    features: dict[str, float]
    holds: float

    @property
    def reading(self) -> str:
        return self.input[0]

    @property
    def is_for_fitting(self) -> bool:
        return self.input[1] % 2 == 0


@dataclass(frozen=True)
class Result:
    """The regression, and the sentences with what it says of them."""

    model: str
    fitted: Reliability
    sentences: tuple[Judged, ...]

    @property
    def path(self) -> Path:
        return BUNDLES / self.model / "narrative" / FILE

    @property
    def checked(self) -> tuple[Judged, ...]:
        return tuple(one for one in self.sentences if not one.is_for_fitting)

    def write(self, command: str) -> None:
        """The file from which the app takes chances; none where they tell nothing."""
        if not quality(self).tells:
            self.path.unlink(missing_ok=True)
            return
        content = {"command": command, "regression": self.fitted.json()}
        self.path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def measure(model: FrozenModel, readings: Sequence[str], progress: Callable[[str], None]) -> Result:
    """Raises `DataUnavailable` where a sentence is not the one that was read, since its weights were fitted anew."""
    sentences = [one for name in readings for one in judged(model, name, progress)]
    writers = sorted({one.writer for one in sentences})
    weights = {writer: find_artifact(model.name, model.version, writer).card["sha256"] for writer in writers}
    fitted = fit(model.version, weights, [one for one in sentences if one.is_for_fitting])
    return Result(model.name, fitted, tuple(sentences))


def judged(model: FrozenModel, reading: str, progress: Callable[[str], None]) -> list[Judged]:
    """All sentences of narrators in one reading."""
    key, items = read_key(FOLDER / f"{reading}.key.jsonl"), read_items(FOLDER / f"{reading}.items.csv")
    marks = [read_marks(path, key) for path in sorted(FOLDER.glob(f"{reading}.marks.*.csv"))]
    if not marks:
        raise DataUnavailable(f"Nobody has marked the sentences of {reading} yet.")
    found = []
    for done, (id, entry) in enumerate(key.items(), 1):
        if entry.writer == PEOPLE:
            continue
        first, _, second = items[id].shown.removeprefix("PREMISE: ").partition(" HYPOTHESIS: ")
        example = Example(first, second)
        encoding = model.encode(example)
        narrative = narrate(model, encoding, entry.writer)
        if plain(reason_of(narrative.text) or narrative.text) != items[id].reason:
            raise DataUnavailable(
                f"Sentence {id} of {reading} is another one today: read those of the present weights."
            )
        used = check_narrative(narrative, erasure.MaskedPredictor(model, encoding, "mask"), example).used
        share = float(np.mean([holds(own[id]) for own in marks]))
        found.append(Judged((reading, entry.input), entry.writer, features(model, encoding, narrative, used), share))
        if done % 20 == 0:
            progress(f"{reading}: {done} of {len(key)} sentences")
    return found


def fit(version: str, weights: Mapping[str, str], sentences: Sequence[Judged]) -> Reliability:
    """A logistic regression in which every sentence counts once for each answer, weighed by the share of readers."""
    from sklearn.linear_model import LogisticRegression

    names = sorted({name for one in sentences for name in one.features})
    values = np.array([[one.features[name] for name in names] for one in sentences])
    means, spreads = values.mean(0), np.where(values.std(0) > 0, values.std(0), 1.0)
    writers = list(weights)
    by_writer = np.array([[float(one.writer == writer) for writer in writers] for one in sentences])
    scaled = np.hstack([(values - means) / spreads, by_writer])
    truth = np.array([one.holds for one in sentences])
    answers = np.repeat([1, 0], len(sentences))
    regression = LogisticRegression(C=PENALTY, max_iter=1000)
    regression.fit(np.vstack([scaled, scaled]), answers, sample_weight=np.concatenate([truth, 1 - truth]))

    def by_name(row: Floats) -> dict[str, float]:
        return dict(zip(names, map(float, row), strict=True))

    bias, slopes = float(regression.intercept_[0]), regression.coef_[0]
    offsets = dict(zip(writers, map(float, slopes[len(names) :]), strict=True))
    return Reliability(version, weights, bias, offsets, by_name(slopes[: len(names)]), by_name(means), by_name(spreads))


@dataclass(frozen=True)
class Quality:
    """How well chances tell which reasons hold: the area under the ROC curve and the Brier score, with intervals over
    inputs, and the Brier score of the one share of the sentences for fitting."""

    auroc: tuple[float, float, float]
    brier: tuple[float, float, float]
    constant: float

    @property
    def tells(self) -> bool:
        """Whether chances tell reasons that hold from others: the AUROC is above chance."""
        return self.auroc[1] > 0.5


def quality(result: Result) -> Quality:
    """On the sentences that the regression has not seen."""
    return checked_quality(result.fitted, [one for one in result.sentences if one.is_for_fitting], result.checked)


def checked_quality(fitted: Reliability, seen: Sequence[Judged], checked: Sequence[Judged], seed: int = 0) -> Quality:
    """On `checked`, beside the one share of the sentences that the regression has `seen`."""
    chances = np.array([fitted.chance(one.writer, one.features) for one in checked])
    truth = np.array([one.holds for one in checked])
    base = float(np.mean([one.holds for one in seen]))
    inputs = sorted({one.input for one in checked})
    rows = {input: [row for row, one in enumerate(checked) if one.input == input] for input in inputs}
    rng = np.random.default_rng(seed)
    draws = [
        np.concatenate([rows[inputs[number]] for number in rng.integers(len(inputs), size=len(inputs))])
        for _ in range(DRAWS)
    ]
    return Quality(
        _with_interval(lambda at: auroc(chances[at], truth[at]), draws, len(checked)),
        _with_interval(lambda at: float(np.mean((chances[at] - truth[at]) ** 2)), draws, len(checked)),
        float(np.mean((base - truth) ** 2)),
    )


@dataclass(frozen=True)
class LeftOut:
    """A reading that a regression on the others is checked on."""

    name: str
    sentences: tuple[Judged, ...]
    fitted: Reliability
    quality: Quality


def left_out(result: Result) -> list[LeftOut]:
    """Every reading, where there are several. A narrator that the others do not have gets no offset."""
    found = []
    for name in dict.fromkeys(one.reading for one in result.sentences):
        own = tuple(one for one in result.sentences if one.reading == name)
        others = [one for one in result.sentences if one.reading != name]
        if not others:
            return []
        known = {writer: result.fitted.narrators[writer] for writer in sorted({one.writer for one in others})}
        fitted = fit(result.fitted.version, known, others)
        fitted = replace(fitted, offsets={**dict.fromkeys(result.fitted.narrators, 0.0), **fitted.offsets})
        found.append(LeftOut(name, own, fitted, checked_quality(fitted, others, own)))
    return found


def _with_interval(
    value: Callable[[NDArray[np.int64]], float], draws: Sequence[NDArray[np.int64]], n: int
) -> tuple[float, float, float]:
    drawn = [value(rows) for rows in draws]
    return (value(np.arange(n)), float(np.nanpercentile(drawn, 2.5)), float(np.nanpercentile(drawn, 97.5)))


def auroc(chances: Floats, truth: Floats) -> float:
    """How often a sentence that holds has the higher chance than one that does not; shares of readers weigh pairs."""
    higher = (chances[:, None] > chances[None]) + 0.5 * (chances[:, None] == chances[None])
    weights = truth[:, None] * (1 - truth[None])
    return float((higher * weights).sum() / weights.sum()) if weights.sum() else float("nan")


@dataclass(frozen=True)
class ChanceRange:
    """Sentences with chances in a range."""

    low: float
    high: float
    chances: tuple[float, ...]
    holds: tuple[float, ...]


def bins(result: Result) -> list[ChanceRange]:
    """The checked sentences by their chance."""
    rows = [(result.fitted.chance(one.writer, one.features), one.holds) for one in result.checked]
    parts = []
    for low, high in pairwise(BINS):
        inside = [row for row in rows if low <= row[0] < high or row[0] == high == BINS[-1]]
        parts.append(ChanceRange(low, high, tuple(chance for chance, _ in inside), tuple(share for _, share in inside)))
    return parts


def _share(values: Sequence[float]) -> str:
    if not values:
        return "–"
    low, high = bootstrap.wilson(sum(values), len(values))
    return f"{100 * np.mean(values):.0f} % [{100 * low:.0f}, {100 * high:.0f}]"


BY_CHANCE: Table[ChanceRange] = Table(
    (
        TableColumn("chance", lambda row: f"{100 * row.low:.0f}–{100 * row.high:.0f} %"),
        TableColumn("sentences", lambda row: len(row.holds)),
        TableColumn("mean chance", lambda row: f"{100 * np.mean(row.chances):.0f} %" if row.chances else "–"),
        TableColumn("hold", lambda row: _share(row.holds)),
    )
)


BY_READING: Table[LeftOut] = Table(
    (
        TableColumn("reading", lambda row: row.name),
        TableColumn("sentences", lambda row: len(row.sentences)),
        TableColumn("hold", lambda row: _share([one.holds for one in row.sentences])),
        TableColumn("mean chance", lambda row: f"{100 * _mean_chance(row.fitted, row.sentences):.0f} %"),
        TableColumn("AUROC", lambda row: _interval(row.quality.auroc)),
        TableColumn("Brier score", lambda row: _interval(row.quality.brier)),
        TableColumn("of one chance", lambda row: row.quality.constant, ".3f"),
    )
)


def document(result: Result, command: str) -> str:
    """The document, in Markdown."""
    found, checked, left = quality(result), result.checked, left_out(result)
    fitted = len(result.sentences) - len(checked)
    names = sorted(result.fitted.weights, key=lambda name: -abs(result.fitted.weights[name]))
    features_table = Table[str](
        (
            TableColumn("measured", str),
            TableColumn("weight", lambda name: result.fitted.weights[name], "+.2f"),
            TableColumn("AUROC alone", lambda name: _alone(checked, name), ".2f"),
        )
    )
    by_writer = Table[str](
        (
            TableColumn("narrator", lambda name: narrator_spec(name).name),
            TableColumn("hold", lambda name: _share([one.holds for one in _own(result, name)])),
            TableColumn("mean chance", lambda name: f"{100 * _mean_chance(result.fitted, _own(result, name)):.0f} %"),
            TableColumn("offset", lambda name: result.fitted.offsets[name], "+.2f"),
            TableColumn("AUROC", lambda name: _of_writer(result, name), ".2f"),
        )
    )
    return DOCUMENT_TEXT.format(
        command=command,
        fitted=fitted,
        checked=len(checked),
        auroc=_interval(found.auroc),
        brier=_interval(found.brier),
        constant=f"{found.constant:.3f}",
        shown="here they are shown" if found.tells else "here they are not shown",
        bins=BY_CHANCE.markdown(bins(result)),
        features=features_table.markdown(names),
        writers=by_writer.markdown(list(result.fitted.narrators)),
        readings=LEFT_OUT_TEXT.format(readings=BY_READING.markdown(left)) if left else "",
    )


def _alone(sentences: Sequence[Judged], name: str) -> float:
    return auroc(np.array([one.features[name] for one in sentences]), np.array([one.holds for one in sentences]))


def _own(result: Result, writer: str) -> list[Judged]:
    return [one for one in result.checked if one.writer == writer]


def _mean_chance(fitted: Reliability, sentences: Sequence[Judged]) -> float:
    return float(np.mean([fitted.chance(one.writer, one.features) for one in sentences]))


def _of_writer(result: Result, writer: str) -> float:
    own = _own(result, writer)
    chances = np.array([result.fitted.chance(one.writer, one.features) for one in own])
    return auroc(chances, np.array([one.holds for one in own]))


def _interval(value: tuple[float, float, float]) -> str:
    return f"{value[0]:.3f} [{value[1]:.3f}, {value[2]:.3f}]"


DOCUMENT_TEXT = """# Whether a reason holds, without a reader

For pairs of texts no rules tell whether a generated reason holds. [Readers](readings.md) can. This document measures
how far what can be measured without them tells it too.

```sh
.venv/bin/{command}
```

A logistic regression was fitted to {fitted} sentences about the inputs with even numbers, and checked on {checked}
about the others. Every sentence counts with the share of its readers for whom the reason holds. The app shows its
chances only where the interval of the AUROC lies above 0.5: {shown}.

| on sentences that it has not seen | |
|---|---|
| AUROC: how often a reason that holds has the higher chance | {auroc} |
| Brier score, lower is better | {brier} |
| Brier score of one chance for all | {constant} |

Brackets hold 95 % bootstrap intervals over inputs.

{bins}

## What it reads

{features}

*Likelihood*: the mean log-probability that the narrator gives the tokens of its reason as it is written. *Samples
agree*: the mean overlap (Jaccard) of the content words with those of five sentences sampled at temperature 0.7.
*Entailed by the input*: the frozen model's own probability that both texts together entail the reason. Weights are in
units of each one's spread; each narrator has an offset besides.

## By narrator

{writers}
{readings}"""
LEFT_OUT_TEXT = """
## On a reading of its own

Each reading has other inputs and other readers. A regression on all sentences of the others was checked on it; a
narrator that the others do not have gets no offset.

{readings}
"""
