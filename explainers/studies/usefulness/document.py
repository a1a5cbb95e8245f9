"""The document about words that a classifier should not have learned, assets/docs/usefulness.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from explainers.evaluation.names import RANDOM
from explainers.methods.registry import method_spec
from explainers.metrics.bootstrap import Floats, Interval, difference_interval, mean_interval
from explainers.report import wording
from explainers.report.tables import Table, TableColumn, bounds, command_block
from explainers.studies.usefulness.mails import SHORTEST, VOCABULARY
from explainers.studies.usefulness.run import FREQUENT, NONE, share

COMMANDS = (
    ".venv/bin/python -m explainers study usefulness-measure --data DIR\n"
    ".venv/bin/python -m explainers study usefulness-table"
)
HEAD = """# What explanations find to remove

CIMI's usefulness experiment (Wu et al., 2023, §4.7) with the methods of this project. A classifier, the embedded
encoder with a head, learns from {train} raw mails whether they are about atheism or Christianity. Their headers, quotes
and signatures name people and machines that write to one of the two groups: shortcuts. On {raw} other raw mails it is
right in {raw_share} %, on {clean} clean ones, from which these parts are removed, in {clean_share} %. The first {read}
words of a mail are read; mails with fewer than {shortest} clean words are left out.

A word is taken for a shortcut if it is among the {top} most important words of mails, and in none of {vocabulary} clean
mails that are not those of the test. The {removed} words that are so in the largest numbers of {explained} explained
mails are removed from all mails to learn from, and the classifier is trained anew: the better the words, the more often
it is right on clean mails. The paper takes the words of the test itself for clean, names neither the number of words
nor that of explained mails, and shows its figure without numbers. It has no controls; here they go the same way: a
random order of the words of each mail, and all words of the explained mails, of which the most frequent are removed.

- The words were chosen once: explanations of the predicted class, by one training, for the first {explained} of the
  mails that it learned from; methods that learn did so from the other ones. All words of a unit, such as those of an
  address, have its score; of those with equal scores in a mail the first by the alphabet are taken, digits before
  letters.
- Where words are removed, later ones are read in their place, most of which are the mail's own text. The controls have
  this advantage too.
- LIME draws {masks} masks; KernelSHAP would take as long again and is left out.

Means over {seeds} trainings each, which the last column shows one by one, with 95 % bootstrap intervals over clean
mails, paired for the differences. They cover neither other trainings, which the sentence below the table does, nor
another choice of words, nor another random order."""
NAMES = {NONE: "no word removed", FREQUENT: "the most frequent words", RANDOM: "a random order"}
SHOWN = 8  # words in the table


@dataclass(frozen=True)
class Removal:
    """What came of removing some `words`: the `share` of clean mails that are classified correctly, and how much more
    it is than without removing any, and than with the words of either control; `trainings` has the share of each."""

    name: str
    words: tuple[str, ...]
    share: Interval
    raw: float
    gain: Interval | None
    over_random: Interval | None
    over_frequent: Interval | None
    trainings: tuple[float, ...]


def removals(content: Mapping[str, Any]) -> list[Removal]:
    """Return what came of the words of every method and control, the controls first."""
    clean = {name: _mean_digits(content["rows"], name, "clean") for name in content["words"]}
    found = []
    for name, words in content["words"].items():
        gain = None if name == NONE else difference_interval(clean[name], clean[NONE])
        over = {
            control: None if name in (NONE, control) else difference_interval(clean[name], clean[control])
            for control in (RANDOM, FREQUENT)
        }
        raw = float(_mean_digits(content["rows"], name, "raw").mean())
        single = tuple(share(row["clean"]) for row in content["rows"] if row["words"] == name)
        found.append(
            Removal(name, tuple(words), mean_interval(clean[name]), raw, gain, over[RANDOM], over[FREQUENT], single)
        )
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
        TableColumn("more than with a random order", lambda removal: removal.over_random, bounds(3, "+")),
        TableColumn("more than with frequent words", lambda removal: removal.over_frequent, bounds(3, "+")),
        TableColumn("right on raw mails", lambda removal: removal.raw, ".3f"),
        TableColumn("clean mails, by training", lambda removal: " ".join(f"{one:.3f}" for one in removal.trainings)),
    )
)
FIRST: Table[Removal] = Table(
    (
        TableColumn("words by", name_of),
        TableColumn("the first of them", lambda removal: " ".join(removal.words[:SHOWN])),
    )
)


def conclusions(found: Sequence[Removal]) -> str:
    """Return which methods find better words than the controls do, and which worse ones, beyond what trainings with the
    same words differ by: a 95 % interval of Student's t with the variance of all rows pooled."""
    from scipy import stats

    shares = np.array([one.trainings for one in found])  # (rows, trainings)
    freedom = shares.size - len(shares)
    deviation = float(np.sqrt(np.sum((shares - shares.mean(axis=1, keepdims=True)) ** 2) / freedom))
    half = float(stats.t.ppf(0.975, freedom)) * deviation * np.sqrt(2 / shares.shape[1])
    controls = [one.share.mean for one in found if one.name in (FREQUENT, RANDOM)]
    methods = [one for one in found if one.name not in NAMES and not method_spec(one.name).is_control]
    beyond = {one.name: [one.share.mean - control for control in controls] for one in methods}
    better = [one for one in methods if min(beyond[one.name]) > half]
    partly = [one for one in methods if one not in better and max(beyond[one.name]) > half]
    worse = [one for one in methods if min(beyond[one.name]) < -half]
    return (
        f"Trainings with the same words differ by a standard deviation of {deviation:.3f}, which gives a difference of "
        f"two rows a 95 % interval of ± {half:.3f} over trainings (Student's t, the variance of all rows pooled, "
        f"{freedom} degrees of freedom). Beyond that, of {len(methods)} methods: better words than both controls: "
        f"{_named(better)}; better than one of them: {_named(partly)}; worse than one of them: {_named(worse)}.\n\n"
        f"Raw mails are classified correctly in {100 * min(one.raw for one in found):.0f} to "
        f"{100 * max(one.raw for one in found):.0f} % whatever is removed: the words that are left tell the group as "
        "well, so that no row takes all shortcuts away."
    )


def _named(some: Sequence[Removal]) -> str:
    return wording.join_names([name_of(removal) for removal in some]) if some else "none"


def usefulness_document(content: Mapping[str, Any]) -> str:
    """Return the Markdown document."""
    found = removals(content)
    none = next(removal for removal in found if removal.name == NONE)
    chosen = content["settings"]
    head = HEAD.format(
        **content["data"],
        raw_share=f"{100 * none.raw:.0f}",
        clean_share=f"{100 * none.share.mean:.0f}",
        **{name: chosen[name] for name in ("read", "top", "removed", "explained")},
        masks=chosen["LIME's masks"],
        vocabulary=VOCABULARY,
        shortest=SHORTEST,
        seeds=len({row["seed"] for row in content["rows"]}),
    )
    with_words = [removal for removal in found if removal.words]
    parts = (head, TABLE.markdown(found), conclusions(found), FIRST.markdown(with_words), command_block(COMMANDS))
    return "\n\n".join(parts) + "\n"
