"""Mails raw and clean, the words that explanations name in them, and the document, on a few mails made by hand."""

import io
import itertools
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

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
RAW = "From: ann@example.org (Ann)\nSubject: Re: Words\n\n>> a quote\n{}\n\n-- \nAnn, Institute\n"
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
                content = RAW.format(f"{BODY} {group}{number}").encode("latin-1")
                member = tarfile.TarInfo(f"20news-bydate-train/{group}/{number:03}")
                member.size = len(content)
                file.addfile(member, io.BytesIO(content))
    return folder


def test_a_clean_mail_has_no_header_no_quote_and_no_signature() -> None:
    assert clean(RAW.format(BODY)).split() == BODY.split()


def test_the_parts_are_disjoint_and_the_test_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("TEST", 6), ("VOCABULARY", 4), ("VALIDATION", 4), ("TRAIN", 6)):
        monkeypatch.setattr(mails, name, size)
    parts = read_mails(archive(tmp_path, 10))
    assert (len(parts.train), len(parts.validation), len(parts.test)) == (6, 4, 6)
    assert all(mail.text.startswith("From: ann@example.org") for mail in (*parts.train, *parts.validation))
    assert all(mail.text.startswith("The argument") for mail in parts.test)

    def marked(some: Iterable[str]) -> list[str]:
        return [match[0] for text in some for match in re.finditer(r"(atheism|christian)\d", text)]

    groups = [marked(mail.text for mail in part) for part in (parts.train, parts.validation, parts.test)]
    everything = [*itertools.chain(*groups), *marked(parts.vocabulary)]
    assert len(everything) == len(set(everything)) == 20
    assert all(mail.label == int("christian" in mail.text) for mail in (*parts.train, *parts.validation, *parts.test))
    assert parts == read_mails(tmp_path)


def test_a_missing_or_short_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=f"There is no file {mails.FILE}"):
        read_mails(tmp_path)
    with pytest.raises(DataUnavailable, match="holds 10 mails with text, and 1400 are needed"):
        read_mails(archive(tmp_path, 5))


def test_words_are_removed_wherever_they_stand_and_others_are_read_in_their_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mail = Example("Host: my-host hosts host and more words", label=1)
    assert without(mail, {"host"}) == Example(": my- hosts and more words", label=1)
    monkeypatch.setattr(mails, "LONGEST", 3)
    assert without(mail, set()).text == "Host: my-host hosts"
    assert without(mail, {"host", "hosts"}).text == ": my- and"


def test_the_words_found_in_most_mails_come_first_without_those_of_clean_mails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "REMOVED", 2)
    assert run.most_common([{"new", "the"}, {"new", "host"}, {"host", "new"}], frozenset({"the"})) == ["new", "host"]
    once = [{f"word{number}"} for number in range(30)]  # the choice among equal ones follows no order of theirs
    assert run.most_common(once, frozenset()) == run.most_common(once[::-1], frozenset()) != ["word0", "word1"]


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


def test_every_removal_is_trained_and_tested_once(
    bag: Callable[..., FrozenModel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The classifier is made of the words that it learns from: without "host" it reads "good"."""
    parts = Mails(TRAIN, TRAIN[:1], frozenset({"the", "argument", "is"}), (Example("good", label=1),))
    made = list[str]()

    def classifier(_mails: Mails, removed: Sequence[str], seed: int, folder: Path) -> FrozenModel:
        made.append(f"{' '.join(removed)} {seed} {folder.name}")
        return bag({"host": 1.0, "good": 2.0 if "host" in removed else -2.0, "film": 0.0, "old": 0.0})

    monkeypatch.setattr(run, "read_mails", lambda _data: parts)
    monkeypatch.setattr(run, "trained", classifier)
    monkeypatch.setattr(run, "fit_missing", lambda *_: None)
    monkeypatch.setattr(run, "METHODS", ("occlusion", "random"))
    monkeypatch.setattr(run, "REMOVED", 2)
    monkeypatch.setattr(run, "STORED", tmp_path / "usefulness.json")
    monkeypatch.setenv("CROSSLIGHT_STORE", "")
    stored = run.measure_usefulness(tmp_path, tmp_path, [0], print)
    assert list(stored["words"]) == ["none", "frequent", "occlusion", "random"]
    assert stored["words"]["frequent"][0] == "host"
    clean = {row["words"]: row["clean"] for row in stored["rows"]}
    assert (clean["none"], clean["frequent"]) == ("0", "1")
    assert stored == json.loads(run.STORED.read_text(encoding="utf-8")) | {"settings": stored["settings"]}
    count = len(made)
    assert count == 1 + len(clean)  # the first one is explained, too
    again = run.measure_usefulness(tmp_path, tmp_path, [0, 1], print)
    assert len(made) == count + len(clean)  # of the new seed alone
    assert again["rows"][: len(clean)] == stored["rows"]
    monkeypatch.setattr(run, "REMOVED", 1)
    assert len(run.measure_usefulness(tmp_path, tmp_path, [0], print)["words"]["frequent"]) == 1


@pytest.fixture
def content() -> dict[str, object]:
    generator = np.random.default_rng(0)

    def row(words: str, seed: int, share: float) -> dict[str, object]:
        digits = "".join(str(int(draw < share)) for draw in generator.random(200))
        return {"words": words, "seed": seed, "clean": digits, "raw": "1" * 9 + "0"}

    methods = {"occlusion": 0.95, "cimi:zero": 0.3, "lime": 0.8, "attention_mean": 0.95}  # the last is a control
    shares = {"none": 0.3, "frequent": 0.8, **methods, "random": 0.5}
    return {
        "data": {"train": 60, "clean": 200, "raw": 10},
        "settings": {"read": 60, "top": 10, "removed": 2, "explained": 100, "LIME's masks": 50},
        "words": {name: [] if name == "none" else ["host", "nntp"] for name in shares},
        "rows": [row(name, seed, share) for name, share in shares.items() for seed in (0, 1)],
    }


def test_a_removal_is_compared_with_none_and_with_a_random_order(content: dict[str, object]) -> None:
    by_name = {removal.name: removal for removal in removals(content)}
    assert by_name["none"].gain is None
    assert by_name["random"].over_random is None
    assert by_name["frequent"].over_frequent is None
    assert by_name["frequent"].over_random.low > 0
    found = by_name["occlusion"]
    assert found.gain is not None
    assert found.gain.mean == pytest.approx(found.share.mean - by_name["none"].share.mean)
    assert found.gain.low > 0.5
    assert np.mean(found.trainings) == pytest.approx(found.share.mean)
    assert found.raw == pytest.approx(0.9)


def test_methods_are_level_where_trainings_differ_by_more(content: dict[str, object]) -> None:
    rows = cast(list[dict[str, str]], content["rows"])
    for row in rows[::2]:  # of every pair one training fails
        row["clean"] = "0" * len(row["clean"])
    assert "better words than both controls: none; better than one of them: none; worse than one of them: none." in (
        usefulness_document(content)
    )


def test_the_document_names_who_finds_better_words_than_chance(
    content: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = usefulness_document(content)
    assert "of 3 methods: better words than both controls: Occlusion; better than one of them: LIME; " in text
    assert "worse than one of them: CIMI (zero)." in text
    assert "7 degrees of freedom" in text
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


def test_a_table_before_the_measurement_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "STORED", tmp_path / "usefulness.json")
    done = CliRunner().invoke(app, ["study", "usefulness-table", "--out", str(tmp_path / "out.md")])
    assert done.exit_code == 2
    assert "Nothing is measured yet." in done.output
    assert not (tmp_path / "out.md").exists()
