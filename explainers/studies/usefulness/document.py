"""The document about words that a classifier should not have learned, assets/docs/usefulness.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from explainers.methods.registry import method_spec
from explainers.metrics.bootstrap import Floats, Interval, difference_interval, mean_interval
from explainers.report import wording
from explainers.report.tables import Table, TableColumn, bounds, command_block
from explainers.studies.usefulness.mails import LONGEST
from explainers.studies.usefulness.run import EVERY, EXPLAINED, FREQUENT, NONE, RANDOM, REMOVED, SAMPLES, TOP

COMMANDS = (
    ".venv/bin/python -m explainers study usefulness-measure --data DIR\n"
    ".venv/bin/python -m explainers study usefulness-table"
)
HEAD = """# What explanations find to remove

CIMI's usefulness experiment (Wu et al., 2023, §4.7) with the methods of this project. A classifier learns from {train}
raw mails whether they are about atheism or Christianity; their headers name people and machines that write to one of
the two groups. On {raw} other raw mails it is right in {raw_share} %, on {clean} clean ones, without headers, quotes
and signatures, in {clean_share} %: it has learned shortcuts. The first {longest} words of a mail are read.

A word is taken for a shortcut if it is among the {top} most important words of explained mails, and in none of 300
other clean mails. The {removed} words that are so most often, in {explained} mails, are removed from all mails to learn
from, and the classifier is trained anew: the better the words, the more often it is right on clean mails. The paper
names neither the number of words nor that of mails, and shows its figure without numbers. The controls are not in the
paper: words that are in most mails need no explanation.

Means over {seeds} trainings each, with 95 % bootstrap intervals over clean mails, paired for the differences; they say
nothing about other trainings. LIME draws {samples} masks."""
NAMES = {
    NONE: "no word removed",
    RANDOM: "words at random",
    FREQUENT: "the words of most mails",
    EVERY: "every word that is in no clean mail",
}
SHOWN = 8  # words in the table


@dataclass(frozen=True)
class Removal:
    """What came of removing some `words`: the `share` of clean mails that are classified correctly, and how much more
    it is than without removing any, and than with the words of most mails."""

    name: str
    words: tuple[str, ...]
    share: Interval
    raw: float
    gain: Interval | None
    over_frequent: Interval | None


def removals(content: Mapping[str, Any]) -> list[Removal]:
    """Return what came of the words of every method and control, the controls first."""
    clean = {name: _mean_digits(content["rows"], name, "clean") for name in content["words"]}
    found = []
    for name, words in content["words"].items():
        gain = None if name == NONE else difference_interval(clean[name], clean[NONE])
        over = None if name in NAMES else difference_interval(clean[name], clean[FREQUENT])
        raw = float(_mean_digits(content["rows"], name, "raw").mean())
        found.append(Removal(name, tuple(words), mean_interval(clean[name]), raw, gain, over))
    return found


def _mean_digits(rows: Sequence[Mapping[str, Any]], name: str, part: str) -> Floats:
    """How often each mail is classified correctly, over the trainings, (mails,)."""
    return np.asarray(np.mean([[int(digit) for digit in row[part]] for row in rows if row["words"] == name], axis=0))


def name_of(removal: Removal) -> str:
    return NAMES.get(removal.name) or method_spec(removal.name).name


TABLE: Table[Removal] = Table(
    (
        TableColumn("words by", name_of),
        TableColumn("words", lambda removal: len(removal.words)),
        TableColumn("right on clean mails", lambda removal: removal.share, bounds()),
        TableColumn("more than without removing", lambda removal: removal.gain, bounds(3, "+")),
        TableColumn("more than the words of most mails", lambda removal: removal.over_frequent, bounds(3, "+")),
        TableColumn("right on raw mails", lambda removal: removal.raw, ".3f"),
    )
)
FIRST: Table[Removal] = Table(
    (
        TableColumn("words by", name_of),
        TableColumn("the first of them", lambda removal: " ".join(removal.words[:SHOWN])),
    )
)


def conclusions(found: Sequence[Removal]) -> str:
    """Return which methods help, and which find more than the words of most mails, as a list."""
    methods = [removal for removal in found if removal.name not in NAMES]
    helping = [one for one in methods if one.gain is not None and one.gain.low > 0]
    better = [one for one in methods if one.over_frequent is not None and one.over_frequent.low > 0]
    worse = [one for one in methods if one.over_frequent is not None and one.over_frequent.high < 0]
    of = f"{len(helping)} of {len(methods)}"
    return (
        f"- Methods whose words make the classifier right more often ({of}): {_named(helping)}.\n"
        f"- More often than the words of most mails do: {_named(better)}.\n"
        f"- Less often than these: {_named(worse)}."
    )


def _named(some: Sequence[Removal]) -> str:
    return wording.join_names([name_of(removal) for removal in some]) if some else "none"


def usefulness_document(content: Mapping[str, Any]) -> str:
    """Return the Markdown document."""
    found = removals(content)
    none = next(removal for removal in found if removal.name == NONE)
    head = HEAD.format(
        **content["data"],
        raw_share=f"{100 * none.raw:.0f}",
        clean_share=f"{100 * none.share.mean:.0f}",
        longest=LONGEST,
        top=TOP,
        removed=REMOVED,
        explained=EXPLAINED,
        samples=SAMPLES,
        seeds=len({row["seed"] for row in content["rows"]}),
    )
    with_words = [removal for removal in found if removal.words]
    parts = (head, TABLE.markdown(found), conclusions(found), FIRST.markdown(with_words), command_block(COMMANDS))
    return "\n\n".join(parts) + "\n"
