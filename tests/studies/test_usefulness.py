"""Mails raw and clean, the words that explanations name in them, and the document, on a few mails made by hand."""

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.models.frozen_model import FrozenModel
from explainers.studies.usefulness import mails, run
from explainers.studies.usefulness.document import removals, usefulness_document
from explainers.studies.usefulness.mails import Mails, clean, read_mails, without

BODY = "The argument goes as follows and it is not new at all to those who have read it before us here."
RAW = f"From: ann@example.org (Ann)\nSubject: Re: Words\n\n>> a quote\n{BODY}\n\n-- \nAnn, Institute\n"
TRAIN = (
    Example("host example the argument is new", label=0),
    Example("host the argument is old", label=1),
    Example("sender host film good", label=1),
)


def archive(folder: Path, count: int) -> Path:
    path = folder / mails.FILE
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz") as file:
        for group in (*mails.GROUPS, "sci.space"):
            for number in range(count):
                content = RAW.replace("Words", f"Words {number}").encode("latin-1")
                member = tarfile.TarInfo(f"20news-bydate-train/{group}/{number:03}")
                member.size = len(content)
                file.addfile(member, io.BytesIO(content))
    return folder


def test_a_clean_mail_has_no_header_no_quote_and_no_signature() -> None:
    assert clean(RAW).split() == BODY.split()


def test_the_parts_are_disjoint_and_the_test_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("TEST", 6), ("VOCABULARY", 4), ("VALIDATION", 4), ("TRAIN", 6)):
        monkeypatch.setattr(mails, name, size)
    read = read_mails(archive(tmp_path, 10))
    assert (len(read.train), len(read.validation), len(read.test)) == (6, 4, 6)
    assert all(mail.text.startswith("From: ann@example.org") for mail in (*read.train, *read.validation))
    assert all(mail.text.startswith("The argument") for mail in read.test)
    assert read.vocabulary == {word.strip(".").lower() for word in BODY.split()}
    assert len({mail.text for mail in (*read.train, *read.validation)}) > 5  # other mails, not one again and again
    assert read == read_mails(tmp_path)


def test_a_missing_or_short_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=f"There is no file {mails.FILE}"):
        read_mails(tmp_path)
    with pytest.raises(DataUnavailable, match="holds 10 mails with text, and 1400 are needed"):
        read_mails(archive(tmp_path, 5))


def test_words_are_removed_wherever_they_stand_and_whole() -> None:
    (mail,) = without([Example("Host: my-host hosts host", label=1)], {"host"})
    assert (mail.text, mail.label) == (": my- hosts ", 1)


def test_the_words_found_most_often_come_first_without_those_of_clean_mails(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Mails(TRAIN, (), frozenset({"the", "argument", "is"}), ())
    monkeypatch.setattr(run, "REMOVED", 3)
    assert run.most_common([{"new", "the"}, {"new", "host"}, {"old"}], parts) == ["new", "host", "old"]
    words = run.controls(parts)
    assert words[run.EVERY] == ["example", "film", "good", "host", "new", "old", "sender"]
    assert words[run.FREQUENT][0] == "host"  # in three mails
    assert set(words[run.RANDOM]) <= set(words[run.EVERY])
    assert len(words[run.RANDOM]) == 3


@pytest.fixture
def model(bag: Callable[..., FrozenModel]) -> FrozenModel:
    return bag({"a": 0.0, "good": 2.0, "dull": -2.0, "film": 0.1})


def test_top_words_are_those_with_the_highest_scores(model: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the class that the model predicts, whatever the mail's own is."""
    monkeypatch.setattr(run, "TOP", 1)
    assert run.top_words(model, Example("a Good film a good film", label=0), "occlusion") == {"good"}


def test_the_digits_tell_which_mails_are_classified_correctly(model: FrozenModel) -> None:
    digits = run.correct(model, [Example("good", label=1), Example("good", label=0), Example("dull", label=0)])
    assert digits == "101"
    assert run.share(digits) == pytest.approx(2 / 3)


@pytest.fixture
def content() -> dict[str, object]:
    generator = np.random.default_rng(0)

    def row(words: str, seed: int, share: float) -> dict[str, object]:
        digits = "".join(str(int(draw < share)) for draw in generator.random(200))
        return {"words": words, "seed": seed, "clean": digits, "raw": "1" * 9 + "0"}

    shares = {"none": 0.3, "random": 0.3, "frequent": 0.6, "every": 0.95, "occlusion": 0.95, "cimi:zero": 0.3}
    return {
        "data": {"train": 60, "clean": 200, "raw": 10},
        "recipe": {},
        "words": {name: [] if name == "none" else ["host", "nntp"] for name in shares},
        "rows": [row(name, seed, share) for name, share in shares.items() for seed in (0, 1)],
    }


def test_a_removal_is_compared_with_none_and_with_the_words_of_most_mails(content: dict[str, object]) -> None:
    by_name = {removal.name: removal for removal in removals(content)}
    assert by_name["none"].gain is None
    assert by_name["frequent"].over_frequent is None
    found = by_name["occlusion"]
    assert found.gain is not None
    assert found.gain.mean == pytest.approx(found.share.mean - by_name["none"].share.mean)
    assert found.gain.low > 0.5
    assert found.raw == pytest.approx(0.9)


def test_the_document_names_who_helps_and_who_is_worse_than_counting(
    content: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = usefulness_document(content)
    assert "right more often (1 of 2): Occlusion." in text
    assert "More often than the words of most mails do: Occlusion." in text
    assert "Less often than these: CIMI (zero)." in text
    assert "Means over 2 trainings" in text
    monkeypatch.setattr(run, "STORED", tmp_path / "usefulness.json")
    run.STORED.write_text(json.dumps(content), encoding="utf-8")
    done = CliRunner().invoke(app, ["study", "usefulness-table", "--out", str(tmp_path / "out.md")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out.md").read_text(encoding="utf-8") == text


def test_a_seed_that_is_no_number_is_said() -> None:
    done = CliRunner().invoke(app, ["study", "usefulness-measure", "--data", ".", "--seeds", "0,x"])
    assert done.exit_code == 2
    assert "'x' is no seed" in done.output
