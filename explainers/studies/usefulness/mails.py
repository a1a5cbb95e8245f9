"""Mails of two newsgroups, raw and clean (20 Newsgroups, sorted by date, its training part; Lang, 1995).

What tells the group of a raw mail need not be what it says: headers, signatures and quotes name people, institutes and
machines that write to one group alone. A clean mail is what its writer says: without headers, the last paragraph where
it looks like a signature, and quoted lines, as scikit-learn removes them.
"""

import random
import re
import tarfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable

FILE = "newsgroups_religion/20news-bydate-train.tar.gz"
GROUPS = ("alt.atheism", "soc.religion.christian")
LABELS = ("atheism", "Christianity")  # of these groups, in their order
SHORTEST = 20  # words of a clean mail
LONGEST = 60  # words of a mail that are read; its headers come first
TEST, VOCABULARY, VALIDATION, TRAIN = 400, 300, 100, 600  # mails of each part, in the order in which they are taken
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Mails:
    """Whole raw mails to train on, raw ones to look at, and clean ones: the words of some are no shortcuts, the others
    are the test. What is read of a mail are its first words, but for those that are still to be trained on."""

    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    vocabulary: frozenset[str]
    test: tuple[Example, ...]


def read_mails(folder: Path) -> Mails:
    """Return the parts, which have no mail in common; the same for the same file.

    Raises `DataUnavailable` if the file is missing or holds too few mails.
    """
    raw = sorted(_raw(folder / FILE))
    random.Random(0).shuffle(raw)
    rows = [(Example(text, label=label), clean(text)) for _, text, label in raw]
    rows = [row for row in rows if len(row[1].split()) >= SHORTEST]
    needed = TEST + VOCABULARY + VALIDATION + TRAIN
    if len(rows) < needed:
        raise DataUnavailable(f"{FILE} holds {len(rows)} mails with text, and {needed} are needed.")
    parts = iter(rows)
    test, vocabulary, validation, train = (
        [next(parts) for _ in range(count)] for count in (TEST, VOCABULARY, VALIDATION, TRAIN)
    )
    return Mails(
        tuple(mail for mail, _ in train),
        tuple(read(mail) for mail, _ in validation),
        frozenset(word for _, text in vocabulary for word in words_of(text)),
        tuple(read(Example(text, label=mail.label)) for mail, text in test),
    )


def _raw(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield name, text and class of every mail."""
    if not path.is_file():
        raise DataUnavailable(f"There is no file {FILE} in {path.parent.parent}.")
    with tarfile.open(path) as archive:
        for member in archive:
            group = Path(member.name).parent.name
            content = archive.extractfile(member) if member.isfile() and group in GROUPS else None
            if content is not None:
                yield member.name, content.read().decode("latin-1"), GROUPS.index(group)


def clean(text: str) -> str:
    """Return a mail without headers, signature and quoted lines, in this order, as `fetch_20newsgroups` does with
    `remove`; it has no public form for a file that is there already."""
    from sklearn.datasets._twenty_newsgroups import (
        strip_newsgroup_footer,
        strip_newsgroup_header,
        strip_newsgroup_quoting,
    )

    return str(strip_newsgroup_quoting(strip_newsgroup_footer(strip_newsgroup_header(text))))


def read(mail: Example) -> Example:
    """Return what is read of a mail: its first words."""
    return Example(" ".join(mail.text.split()[:LONGEST]), label=mail.label)


def words_of(text: str) -> Iterable[str]:
    """Return the words of a text in small letters."""
    return (word.lower() for word in WORD.findall(text))


def without(mail: Example, removed: Collection[str]) -> Example:
    """Return what is read of a mail without these words, wherever they stand: others follow in their place."""
    text = WORD.sub(lambda word: "" if word[0].lower() in removed else word[0], mail.text)
    return read(Example(text, label=mail.label))
