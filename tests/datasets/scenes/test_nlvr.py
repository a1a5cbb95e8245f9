import io
import json
import tarfile
from pathlib import Path

import pytest
from PIL import Image

from explainers.datasets.example import Example
from explainers.datasets.scenes.nlvr import SPLITS, bank, label_of, read_nlvr
from explainers.datasets.scenes.statement_parser import parse_statement
from explainers.datasets.scenes.statements import CONTRADICTION, ENTAILMENT, Count, Kind, Number
from explainers.datasets.scenes.world import Scene, Thing, draw
from explainers.errors import DataUnavailable

SHARED = Path(__file__).parents[4] / "shared" / "data" / "nlvr"
TWO_SQUARES = Scene((Thing("square", "blue", 20, 0, 0, 0), Thing("square", "blue", 30, 50, 50, 1)), towers=False)
TRUE, WRONG, UNCLEAR = "There are two squares", "There are two circles", "They look nice"


def png() -> bytes:
    file = io.BytesIO()
    Image.fromarray(draw(TWO_SQUARES)).save(file, "PNG")
    return file.getvalue()


def rows(split: str) -> list[str]:
    """The writers meant all of them to be true but the last."""
    labelled = ((TRUE, "true"), (TRUE, "true"), (TRUE, "true"), (TRUE, "false"), (WRONG, "true"), (UNCLEAR, "false"))
    return [
        json.dumps(
            {"id": f"{location}-{2 if text == UNCLEAR else 0}", "sentence": text, "label": label, "image": image}
        )
        for location, (text, label) in enumerate(labelled)
        for image in [f"images/{split}-0.png"]
    ]


def unpacked(folder: Path, lines: list[str] | None = None) -> Path:
    for split in SPLITS:
        (folder / split / "images").mkdir(parents=True)
        (folder / split / "images" / f"{split}-0.png").write_bytes(png())
        (folder / split / f"{split}.jsonl").write_text("\n".join(rows(split) if lines is None else lines))
    return folder


def packed(folder: Path) -> Path:
    for split in SPLITS:
        with tarfile.open(folder / f"{split}.tar.gz", "w:gz") as archive:
            for name, content in (
                (f"{split}.jsonl", "\n".join(rows(split)).encode()),
                (f"images/{split}-0.png", png()),
            ):
                member = tarfile.TarInfo(f"{split}/{name}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return folder


def what(part: tuple[Example, ...]) -> list[tuple[str, int | None]]:
    return [(row.text, row.label) for row in part]


def test_packed_and_unpacked_data_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "packed").mkdir()
    one, other = read_nlvr(packed(tmp_path / "packed")), read_nlvr(unpacked(tmp_path / "unpacked"))
    assert what(one.train) == what(other.train)
    assert what(one.train)[3:] == [(TRUE, CONTRADICTION), (WRONG, ENTAILMENT), (UNCLEAR, CONTRADICTION)]
    assert one.intended == other.intended == (*[ENTAILMENT] * 5, CONTRADICTION)
    assert one.test[0].image is not None
    assert (one.test[0].image.pixels() == draw(TWO_SQUARES)).all()


def test_the_bank_holds_what_is_understood_and_agrees_with_all_its_labels(tmp_path: Path) -> None:
    train = read_nlvr(unpacked(tmp_path)).train
    assert bank(train[:3]) == ((TRUE, Count(Kind(shape="square"), Number("exactly", 2))),)
    assert bank(train[:4]) == ()  # the fourth label does not fit
    assert bank(train[4:]) == ()


def test_one_label_of_four_may_be_wrong_if_the_meaning_is_the_writers(tmp_path: Path) -> None:
    result = read_nlvr(unpacked(tmp_path))
    assert [text for text, _ in bank(result.train, result.intended)] == [TRUE]


@pytest.mark.parametrize(
    "line",
    [
        "no JSON",
        "[]",
        '{"id": "1-0", "sentence": "x", "label": "perhaps", "image": "images/a.png"}',
        '{"id": "1-0", "sentence": "x", "label": "true", "image": "images/../../a.png"}',
        '{"id": "1-0", "sentence": 1, "label": "true", "image": "images/a.png"}',
    ],
)
def test_a_line_of_another_format_is_refused_by_its_number(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataUnavailable, match="line 1"):
        read_nlvr(unpacked(tmp_path, [line]))


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"train\.tar\.gz"):
        read_nlvr(tmp_path)
    (tmp_path / "train.tar.gz").write_bytes(b"no archive")
    with pytest.raises(DataUnavailable, match="damaged"):
        read_nlvr(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="NLVR's files are not beside the repository")
def test_most_published_statements_are_understood_as_they_were_judged() -> None:
    dev = read_nlvr(SHARED).dev[:300]
    judgement = [label_of(meaning, row) == row.label for row in dev if (meaning := parse_statement(row.text))]
    assert len(judgement) > 0.7 * len(dev)
    assert sum(judgement) > 0.88 * len(judgement)
