import io
import json
import tarfile
import time
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest

from explainers.annotations.formats.archives import read_archive
from explainers.annotations.formats.eraser import eraser_export, read_eraser, read_eraser_folder, token_spans
from explainers.annotations.formats.items_file import parse_items
from explainers.annotations.records import Annotation, Item, Marked, Span
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable

MOVIES = Path(__file__).parents[3] / "shared" / "data" / "eraser_movies" / "movies.tar.gz"  # beside the checkout
DOCUMENT = "a slow start .\nbut what an ending !\n"  # invented
DOCUMENTS = {"r1": DOCUMENT, "r2": "dull ."}


def evidence(first: int, last: int, document: str = "r1", text: str = "") -> dict[str, object]:
    return {"docid": document, "start_token": first, "end_token": last, "text": text}


def row(*evidences: dict[str, object], **fields: object) -> str:
    content = {"annotation_id": "r1", "classification": "POS", "docids": None, "query": "Is it good?"}
    return json.dumps({**content, "evidences": [[evidence] for evidence in evidences], **fields})


def test_offsets_in_tokens_become_code_points() -> None:
    imported = read_eraser(
        row(evidence(0, 3, text="a slow start"), evidence(7, 9)), DOCUMENTS, ("negative", "positive")
    )
    (item,) = imported.items
    assert item.rationale == (Marked((Span(0, 12), Span(27, 35))),)
    assert DOCUMENT[27:35] == "ending !"
    assert (item.example, item.label) == (Example(DOCUMENT, label=1), "POS")


def test_tokens_are_those_between_spaces() -> None:
    assert [DOCUMENT[span.start : span.end] for span in token_spans(DOCUMENT)] == DOCUMENT.split()


def test_evidence_without_tokens_marks_nothing() -> None:
    assert read_eraser(row(evidence(3, 3)), DOCUMENTS).items[0].rationale == (Marked(),)


def test_two_documents_are_a_pair_and_the_query_is_one_only_on_request() -> None:
    (pair,) = read_eraser(row(evidence(0, 1, "r2"), docids=["r1", "r2"]), DOCUMENTS).items
    assert (pair.example.pair, pair.rationale) == ("dull .", (Marked((), (Span(0, 4),)),))
    (asked,) = read_eraser(row(), DOCUMENTS, query_as_pair=True).items
    assert asked.example.pair == "Is it good?"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (row(evidence(0, 99)), "not within the 9 tokens"),
        (row(evidence(3, 1)), "not within the 9 tokens"),
        (row(evidence(0, 1, text="dull")), "are not the text of the evidence"),
        (row(evidence(0, 1, "r9")), "no document 'r9'"),
        (row(evidence(0, 1, "r2"), docids=["r1"]), "this one has 2"),
        (row(evidence(0, 1), docids=["r1", "r2", "r3"]), "this one has 3"),
        (row({"docid": "r1", "start_token": "0", "end_token": 1}), "The field start_token is a whole number"),
        (json.dumps({"annotation_id": "r1"}), "The field evidences is missing"),
        (row(evidences=[3]), "The field evidences is a list, not a whole number"),
        ("{", "It is not JSON"),
    ],
)
def test_a_bad_line_has_a_sentence_and_the_good_one_stays(line: str, reason: str) -> None:
    imported = read_eraser(f"{line}\n{row(evidence(0, 1), annotation_id='good', docids=['r1'])}\n", DOCUMENTS)
    assert [item.id for item in imported.items] == ["good"]
    assert len(imported.bad_rows) == 1
    assert reason in imported.problems()[0]


def test_an_export_is_read_by_whoever_counts_tokens() -> None:
    text = "Wasn't it good?! 🙂"
    item = Item("1", Example(text), label="POS")
    mark = Annotation("p", "1", "Ann", "mark", 3, 1.0, 1.0, Marked((Span(10, 14), Span(17, 18))))
    archive = zipfile.ZipFile(io.BytesIO(eraser_export([item], [mark])))
    document = json.loads(archive.read("docs.jsonl"))
    line = json.loads(archive.read("annotations.jsonl"))
    tokens = document["document"].split()
    assert tokens == ["Wasn't", "it", "good", "?", "!", "🙂"]
    marked = [tokens[e["start_token"] : e["end_token"]] for (e,) in line["evidences"]]
    assert marked == [["good"], ["🙂"]]
    assert (line["annotator"], line["version"], line["classification"]) == ("Ann", 3, "POS")
    del line["crosslight"]  # another tool's file: the tokens of the written document count
    (read,) = read_eraser(json.dumps(line), {document["docid"]: document["document"]}).items
    assert read.rationale == (Marked((Span(10, 14), Span(19, 20))),)


def packed(kind: str, files: dict[str, str]) -> bytes:
    file = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return file.getvalue()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return file.getvalue()


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_data_set_is_read_from_its_archive(kind: str) -> None:
    files = {"set/docs/r1": DOCUMENT, "set/test.jsonl": row(evidence(0, 1)), "set/val.jsonl": row()}
    content = packed(kind, files)
    assert parse_items(content, f"set.{kind}", "test").items[0].rationale == (Marked((Span(0, 1),)),)
    with pytest.raises(DataUnavailable, match="Choose one of the parts of set"):
        parse_items(content, f"set.{kind}")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"nonsense", "not a readable archive"),
        (packed("zip", {"a.jsonl": row()}), "has no ERASER data"),
        (packed("tar.gz", {"a.jsonl": row(), "docs/r1": DOCUMENT})[:150], "not a readable archive"),
        (packed("zip", {"docs.jsonl": "{}"}), "The field document is missing"),
    ],
)
def test_an_unusable_archive_is_one_sentence(content: bytes, sentence: str) -> None:
    with pytest.raises(DataUnavailable, match=sentence):
        read_archive(content, "set.zip")


def test_an_archive_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.annotations.formats.archives.LARGEST", 1000)
    with pytest.raises(DataUnavailable, match="too large"):
        read_archive(packed("tar.gz", {"docs/r1": "a" * 2000}), "set.tar.gz")


def tar_of(*members: tarfile.TarInfo) -> bytes:
    """Packed; a member with a size has digits as its content."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", format=tarfile.GNU_FORMAT) as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"1" * member.size))
    return file.getvalue()


def member_of(kind: bytes, size: int = 0, name: str = "x") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member


def test_directories_and_links_count_towards_the_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.annotations.formats.archives.MOST_FILES", 3)
    for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE):
        with pytest.raises(DataUnavailable, match="too large"):
            read_archive(tar_of(*(member_of(kind, name=str(n)) for n in range(5))), "set.tgz")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_large_headers_of_an_archive_are_refused_before_they_are_parsed(kind: bytes) -> None:
    begun = time.monotonic()
    with pytest.raises(DataUnavailable, match="too large"):
        read_archive(tar_of(member_of(kind, 300_000)), "set.tgz")  # 300 kB of digits took Python a minute
    assert time.monotonic() - begun < 20


def test_many_headers_of_an_archive_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.annotations.formats.archives.ALL_HEADERS", 3 * 500**2)
    headers = [member_of(tarfile.GNUTYPE_LONGNAME, 500) for _ in range(10)]
    with pytest.raises(DataUnavailable, match="too large"):
        read_archive(tar_of(*headers, member_of(tarfile.REGTYPE)), "set.tgz")


def test_headers_count_towards_what_an_archive_unpacks_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.annotations.formats.archives.LARGEST", 3000)
    with pytest.raises(DataUnavailable, match="too large"):
        read_archive(tar_of(*(member_of(tarfile.DIRTYPE) for _ in range(20))), "set.tgz")


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compression_that_unpacks_all_at_once_is_refused(compression: int) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("docs/r1", DOCUMENT)
        archive.writestr("a.jsonl", row(docids=["r1"]))
    with pytest.raises(DataUnavailable, match=r"^r1 is compressed in a way that is not read\. Pack it as"):
        read_archive(file.getvalue(), "set.zip")


def test_no_more_is_unpacked_than_an_entry_declares() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.jsonl", row(docids=["r1"]))
        archive.writestr("docs/r1", b"0" * 20_000_000)
        bomb = archive.getinfo("docs/r1")
        bomb.file_size, bomb.CRC = 100, zlib.crc32(b"0" * 100)  # as the directory at the end declares it
    tracemalloc.start()
    try:
        documents = read_archive(file.getvalue(), "set.zip").documents
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert documents == {"r1": "0" * 100}
    assert peak < 2_000_000


def test_a_folder_without_the_split_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"There is no test\.jsonl"):
        read_eraser_folder(tmp_path, "test")
    (tmp_path / "test.jsonl").write_text(row())
    with pytest.raises(DataUnavailable, match=r"neither docs\.jsonl nor a folder docs"):
        read_eraser_folder(tmp_path, "test")


@pytest.mark.skipif(not MOVIES.is_file(), reason="ERASER Movie Reviews are not on this machine")
def test_movie_reviews_come_in_whole() -> None:
    imported = parse_items(MOVIES.read_bytes(), MOVIES.name, "test", ("negative", "positive"))
    assert imported.problems() == ()
    assert len(imported.items) == 199
    assert {item.example.label for item in imported.items} == {0, 1}
    assert all(item.rationale and item.rationale[0].spans_of_text for item in imported.items)
