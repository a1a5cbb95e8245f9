"""Runs of the same method and setting over all sentences, and how much longer others take for the same accuracy.

The document about other packages on the same model and sentences, assets/docs/peers.md.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from explainers.commands.options import show_progress
from explainers.comparison.answer import VISIBLE
from explainers.installation import STORE_VARIABLE
from explainers.models.catalog import load
from explainers.report.tables import Table, TableColumn, command_block
from explainers.studies.peers import packages
from explainers.studies.peers.measure import MeasuredRun, PeerComparison, compare_with_peers
from explainers.studies.sampling.measure import sampling_texts
from explainers.studies.speed.measure import example_for

PARTS = (packages.LIME, packages.KERNEL_SHAP, packages.OCCLUSION)


@dataclass(frozen=True)
class Total:
    """A package's method over some sentences: sums of seconds and passes, means of error and evidence."""

    package: str
    method: str
    setting: str
    seconds: float
    passes: int
    error: float | None
    evidence: float | None


@dataclass(frozen=True)
class EqualAccuracy:
    """`ours` is the quickest of our settings that is at least as good as `theirs`, None if none is."""

    theirs: Total
    ours: Total | None

    @property
    def times(self) -> float | None:
        return None if self.ours is None else self.theirs.seconds / self.ours.seconds


def totals(comparison: PeerComparison, *, longer: bool) -> tuple[Total, ...]:
    """Over the longer sentence alone, or over the others."""
    here = [run for run in comparison.runs if (run.run.sentence == comparison.job.long) is longer]
    keys = dict.fromkeys((row.package, row.run.method, row.run.setting) for row in here)
    return tuple(_total([row for row in here if _key(row) == key]) for key in keys)


def _key(run: MeasuredRun) -> tuple[str, str, str]:
    return run.package, run.run.method, run.run.setting


def _total(runs: Sequence[MeasuredRun]) -> Total:
    return Total(
        *_key(runs[0]),
        sum(run.run.seconds for run in runs),
        sum(run.run.passes for run in runs),
        _mean([run.error for run in runs]),
        _mean([run.evidence for run in runs]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def equal_accuracy(some: Sequence[Total]) -> Iterator[EqualAccuracy]:
    """Compare every peer's estimate of Shapley values with KernelSHAP here."""
    ours = [row for row in some if row.package == packages.CROSSLIGHT.name and row.method == packages.KERNEL_SHAP]
    for theirs in some:
        if (
            theirs.package != packages.CROSSLIGHT.name
            and theirs.method in packages.SHAPLEY
            and theirs.error is not None
        ):
            good = [own for own in ours if own.error is not None and own.error <= theirs.error]
            yield EqualAccuracy(theirs, min(good, key=lambda total: total.seconds, default=None))


def together(some: Sequence[Total], package: str) -> list[EqualAccuracy]:
    """LIME, KernelSHAP and Occlusion of a package that has them: against the default here, and `as_good`."""
    theirs = [_largest([row for row in some if (row.package, row.method) == (package, part)]) for part in PARTS]
    parts = [other for other in theirs if other is not None]
    if len(parts) < len(PARTS):
        return []
    seconds, passes = sum(part.seconds for part in parts), sum(part.passes for part in parts)
    whole = Total(package, packages.TOGETHER, parts[0].setting, seconds, passes, None, None)
    return _both(some, whole, parts[0], parts[1])


def explained_and_evaluated(some: Sequence[Total], package: str) -> list[EqualAccuracy]:
    """The four methods of ferret with its evaluation: against the default here, and `as_good`."""
    theirs = {row.method: row for row in some if row.package == package}
    if not {packages.FOUR, packages.LIME, packages.PARTITION} <= set(theirs):
        return []
    return _both(some, theirs[packages.FOUR], theirs[packages.LIME], theirs[packages.PARTITION])


def _both(some: Sequence[Total], whole: Total, lime: Total, shap: Total) -> list[EqualAccuracy]:
    here = {(row.method, row.setting): row for row in some if row.package == packages.CROSSLIGHT.name}
    pairs = (
        [EqualAccuracy(whole, here[whole.method, packages.DEFAULT])] if (whole.method, packages.DEFAULT) in here else []
    )
    for setting in map(packages.shared, packages.GROUP_COUNTS):
        own = [here.get((method, setting)) for method in (packages.LIME, packages.KERNEL_SHAP, whole.method)]
        own_lime, own_shap, own_whole = own
        if own_lime and own_shap and own_whole and as_good(own_lime, own_shap, lime, shap):
            return [*pairs, EqualAccuracy(whole, own_whole)]
    return [*pairs, EqualAccuracy(whole, None)]


def as_good(lime: Total, shap: Total, their_lime: Total, their_shap: Total) -> bool:
    """Return whether our Shapley values have no larger error, and our LIME is not visibly worse in the metrics.

    Where no exact values are known, the metrics decide for both.
    """
    if their_shap.error is None or shap.error is None:
        return _shows_as_much(shap, their_shap) and _shows_as_much(lime, their_lime)
    return shap.error <= their_shap.error and _shows_as_much(lime, their_lime)


def _shows_as_much(ours: Total, theirs: Total) -> bool:
    if ours.evidence is None or theirs.evidence is None:
        return False
    return ours.evidence >= theirs.evidence - VISIBLE


def _largest(some: Sequence[Total]) -> Total | None:
    """The one of several settings with the most passes."""
    return max(some, key=lambda total: total.passes, default=None)


def slower(some: Sequence[Total], package: str, method: str) -> EqualAccuracy | None:
    """A method of a package, and the same here by default or in the only setting."""
    theirs = next((row for row in some if (row.package, row.method) == (package, method)), None)
    ours = next((row for row in some if (row.package, row.method) == (packages.CROSSLIGHT.name, method)), None)
    return None if theirs is None else EqualAccuracy(theirs, ours)


HEAD = """Generated by this command on {threads} for `{model}`: {texts} sentences of 10 to 13 words and one of {words}.
Every unit of them is one token, so that all packages explain the same features. Each package runs in a virtual
environment of its own, one after the other, with its defaults except for the number of samples; a warm-up is not
timed. Passes are counted by a hook of the model; a batch of 50 counts 50. Here every method starts with an empty pool
of answers, except where several are timed together."""
ASKED = """Twice where something is drawn: with the default here, and with the fewest shared masks ({counts}) that are
at least as good: an error of KernelSHAP against exact Shapley values that is not larger than theirs, and an AOPC-C -
AOPC-S of LIME's scores that is not lower by more than {visible}. Of the long sentence no exact values are known, so
that AOPC-C - AOPC-S decides for both. Curves and metrics are those of each package: here AOPC, log-odds and decision
flip with refined curves, in ferret AOPC and the correlation with leave-one-out."""
SHAPLEY_HEAD = """The error is ‖s - φ‖ / ‖φ‖ against exact Shapley values of p(class) under the operator mask, the mean
over the sentences of 10 to 13 words, with one seed. The partition explainer estimates Owen values, Shapley values
under a tree of coalitions, so that a part of its error stays however many passes it makes. The setting here is the
quickest one of KernelSHAP with an error that is not larger. Seconds and passes are sums over these sentences."""
METHODS_HEAD = """AOPC-C - AOPC-S is computed here from the scores, under the operator mask; higher is better. Where
several methods are timed together there is none. The integrated gradients of interpreto 0.5.2 have no sign, as it
averages absolute values over the dimensions, so that words against the class rank high too."""
ENVIRONMENTS = """Made by the command with `venv` and pip, each with the torch of this program, in the folder `peers` of
the store or in the one that `--environments` names; several GB. Once made they are used again."""


def peer_document(comparison: PeerComparison, command: str) -> str:
    """The whole document; `command` is what made it."""
    short, longer = totals(comparison, longer=False), totals(comparison, longer=True)
    job = comparison.job
    head = HEAD.format(
        threads="one thread" if job.threads == 1 else f"{job.threads} threads",
        model=job.model,
        texts=len(job.sentences) - 1,
        words=len(job.sentences[job.long].text.split()),
    )
    sections = [
        "# Other packages",
        command_block(command),
        head,
        *comparison.left_out,
        "## Together",
        ASKED.format(visible=VISIBLE, counts=", ".join(map(str, packages.GROUP_COUNTS))),
        ASKED_TABLE.markdown([*asked(short, "10–13 words"), *asked(longer, "long sentence")]),
        "## Shapley values at equal accuracy",
        SHAPLEY_HEAD,
        ACCURACY_TABLE.markdown(equal_accuracy(short)) or "No peer was measured.",
        "KernelSHAP here:",
        OWN_TABLE.markdown(row for row in short if row.package == packages.CROSSLIGHT.name and row.error is not None),
        "## The long sentence",
        METHODS_HEAD,
        METHODS_TABLE.markdown(filter(shown, longer)),
        "## The sentences of 10 to 13 words",
        METHODS_TABLE.markdown(filter(shown, short)),
        "## Environments",
        ENVIRONMENTS,
        REQUIREMENTS.markdown(packages.PEERS),
    ]
    return "\n\n".join(sections) + "\n"


def asked(some: Sequence[Total], which: str) -> Iterator[tuple[str, EqualAccuracy]]:
    """What takes how many times longer elsewhere, each after the name of the sentences."""
    captum, ferret, interpreto = (peer.name for peer in packages.PEERS[:3])
    pairs = [*together(some, captum), *together(some, interpreto), *explained_and_evaluated(some, ferret)]
    gradients = slower(some, captum, packages.IG)
    yield from ((which, pair) for pair in [*pairs, *([gradients] if gradients else [])])


def shown(total: Total) -> bool:
    """Not the many numbers of masks in which equal accuracy is looked for."""
    ladder = total.setting in map(packages.shared, packages.COUNTS)
    return not ladder or (total.method in packages.SHAPLEY and total.setting == packages.shared(packages.COUNTS[-2]))


def _compared(pair_of: Callable[[Any], EqualAccuracy]) -> tuple[TableColumn[Any], ...]:
    """What theirs took, which setting here is at least as good, and what that took."""

    def here(value: Callable[[Total], Any]) -> Callable[[Any], Any]:
        return lambda row: None if (ours := pair_of(row).ours) is None else value(ours)

    return (
        TableColumn("seconds", lambda row: pair_of(row).theirs.seconds, ".2f"),
        TableColumn("passes", lambda row: pair_of(row).theirs.passes, ","),
        TableColumn("here", here(lambda ours: ours.setting), undefined="not reached"),
        TableColumn("seconds here", here(lambda ours: ours.seconds), ".2f"),
        TableColumn("passes here", here(lambda ours: ours.passes), ","),
        TableColumn("times faster", lambda row: pair_of(row).times, ".1f"),
    )


METHOD: TableColumn[Total] = TableColumn("method", lambda total: total.method)
PACKAGE: TableColumn[Total] = TableColumn("package", lambda total: total.package)
SETTING: TableColumn[Total] = TableColumn("setting", lambda total: total.setting)
SECONDS: TableColumn[Total] = TableColumn("seconds", lambda total: total.seconds, ".2f")
PASSES: TableColumn[Total] = TableColumn("passes", lambda total: total.passes, ",")
ERROR: TableColumn[Total] = TableColumn("error", lambda total: total.error, ".3f")
METHODS_TABLE = Table(
    (METHOD, PACKAGE, SETTING, SECONDS, PASSES, TableColumn("AOPC-C - AOPC-S", lambda total: total.evidence, ".3f"))
)
OWN_TABLE = Table((SETTING, ERROR, PASSES, SECONDS))
ASKED_TABLE: Table[tuple[str, EqualAccuracy]] = Table(
    (
        TableColumn("sentences", lambda row: row[0]),
        TableColumn("methods", lambda row: row[1].theirs.method),
        TableColumn("package", lambda row: row[1].theirs.package),
        *_compared(lambda row: row[1]),
    )
)
ACCURACY_TABLE: Table[EqualAccuracy] = Table(
    (
        TableColumn("package", lambda pair: pair.theirs.package),
        TableColumn("method", lambda pair: pair.theirs.method),
        TableColumn("setting", lambda pair: pair.theirs.setting),
        TableColumn("error", lambda pair: pair.theirs.error, ".3f"),
        TableColumn("error here", lambda pair: None if pair.ours is None else pair.ours.error, ".3f"),
        *_compared(lambda pair: pair),
    )
)
REQUIREMENTS: Table[packages.Peer] = Table(
    (
        TableColumn("package", lambda peer: peer.name),
        TableColumn("installed", lambda peer: ", ".join(peer.requirements)),
    )
)


def write_peers(path: Path, name: str, threads: int, most: int, data: Path | None, environments: Path | None) -> str:
    """Writes the document, and returns it."""
    model = load(name, device="cpu")
    folder = environments or Path(os.environ.get(STORE_VARIABLE, "store")) / "peers"
    texts = sampling_texts(name, model.input_names, data)
    comparison = compare_with_peers(model, texts, example_for(model), most, threads, folder.absolute(), show_progress)
    command = f".venv/bin/python -m explainers study peers --model {name} --out {path} --texts {most}"
    command += (f" --threads {threads}" if threads else "") + (" --data DATA" if data else "")
    document = peer_document(comparison, command)
    path.write_text(document, encoding="utf-8")
    return document
