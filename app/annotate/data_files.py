"""The items of a new project: from a person's files, or from a model.

Files have any format of annotations, or are a table that names image files; a row that cannot be used is left out with
a sentence, and the others are kept. A model offers its examples, its pairs, or what its generator draws. Annotations
and decisions that come with the data count like those that are made here.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from app.annotate import answers, disputes, projects
from app.annotate import tables as store_tables
from app.annotate.projects import Project, ProjectSpec
from app.server.login import Account
from app.store import Store
from explainers.annotations.formats import archives, items_file, own_records
from explainers.annotations.formats.items_file import parse_items
from explainers.annotations.formats.tables import NAMED_AS_OURS, Columns, read_table
from explainers.annotations.record_json import answer_json
from explainers.annotations.records import Annotation, Item, Marked, Span
from explainers.datasets import tables, user_texts
from explainers.datasets.cells import listed_classes
from explainers.datasets.column_names import longest_column
from explainers.datasets.curated_examples import curated_examples, example_of
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.models import tasks
from explainers.report.wording import counted, one_line

LONGEST = 30_000  # characters of an item; models read the beginning of long texts
IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
MOST_MEGABYTES = 50  # of all files of a project together, which wait in the memory of the server
SUFFIXES = (*tables.SUFFIXES, ".jsonl", ".json", *archives.SUFFIXES, *IMAGES)
NO_TABLE = (
    "Give one file of data (.csv, .tsv, .parquet, .jsonl, .json, or an archive: .zip, .tar.gz, .tgz or .tar), and for "
    "images also their files."
)
NOT_CHOSEN = {  # by our columns that a model needs
    "text_pair": "The model reads pairs. Choose the column of their second texts.",
    "image": "The model reads images. Choose the column with the names of their files.",
}
NO_IMAGES = "The table names images. Give their files as well, beside the table."
MANY_TABLES = (
    "A project takes one file of data, and these are {count}: {names}. Remove the others with the crosses beside them."
)
MOST_NAMES = 5  # labels that a sentence lists
LABELS = "Kept, without a label: {count} whose label is no class of the model ({classes}): {names}."
STATED = "Kept, and shown as it is: the class of {count}, which the model does not have ({classes}): {names}."
REPEATED = "{count} with the text of an earlier one. Each is an item of its own, which other people may get."
TWICE = "Two files have the name {name}. Remove one of them."
Files = Mapping[str, bytes]  # by name
EXAMPLES, PAIRS, GENERATED = "Its examples", "Its pairs", "Generated examples"
MOST_GENERATED = 500
MOST_NAMED = 500  # items in one statement
Last = dict[tuple[int, int], Annotation]  # the newest annotation by item and annotator


@dataclass(frozen=True)
class ReadItems:
    """Items of files; `annotations` came with them, `left_out` has a sentence for every row that cannot be used.

    `only_read` says why the model cannot read one of the items, which have reasons for people to read; "" where it can.
    `several_reasons`: whether some of these items have the same input. `notes` say what may not be as it was meant.
    """

    items: tuple[Item, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    left_out: tuple[str, ...] = ()
    only_read: str = ""
    several_reasons: bool = False
    notes: tuple[str, ...] = ()

    @property
    def has_reasons(self) -> bool:
        return any(item.reason is not None for item in self.items)


def check_sizes(sizes: Sequence[int]) -> None:
    """Raise `DataUnavailable` if files of so many bytes are too large together."""
    total = sum(sizes)
    if total > MOST_MEGABYTES * 10**6:
        raise DataUnavailable(
            f"The files have {total / 10**6:,.0f} MB together; a project takes at most {MOST_MEGABYTES} MB. "
            "Remove some, scale images down, or make several projects."
        )


def by_name(files: Sequence[tuple[str, bytes]]) -> dict[str, bytes]:
    """Return the contents by name; raises `DataUnavailable` if two files have one name."""
    names = [name for name, _ in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataUnavailable(TWICE.format(name=twice[:100]))
    return dict(files)


def splits(files: Files) -> tuple[str, ...]:
    """Return the parts of an archive among the files, where it has several.

    Raises `DataUnavailable` if it is damaged.
    """
    packed = [name for name in files if archives.is_archive(name)]
    parts = tuple(archives.read_archive(files[packed[0]], packed[0]).splits) if packed else ()
    return parts if len(parts) > 1 else ()


def read_items(
    files: Files,
    input_names: Sequence[str] = (),
    classes: Sequence[str] = (),
    *,
    multimodal: bool = False,
    split: str = "",
    columns: Columns = NAMED_AS_OURS,
) -> ReadItems:
    """Return the items of the files that a model can read, or that have a reason for people to read. `columns` are
    those of the file of data.

    Raises `DataUnavailable` if no data can be read.
    """
    name = data_file(files)
    missing = [sentence for ours, sentence in NOT_CHOSEN.items() if columns.get(ours) == ""]
    if missing:
        raise DataUnavailable(missing[0])
    images = {Path(path).name: content for path, content in files.items() if _suffix(path) in IMAGES}
    if images:
        given = _with_images(files[name], name, classes, images, columns)
    elif columns.get("image"):
        raise DataUnavailable(NO_IMAGES)
    else:
        given = parse_items(files[name], name, split, classes, columns)
    items: list[Item] = []
    left_out = list(given.problems(len(given.bad_rows)))
    only_read, with_reasons = "", any(item.reason is not None for item in given.items)
    for item in given.items:
        fault = _fault(item, with_reasons=with_reasons)
        misfit = _misfit(item.example, input_names, len(classes), multimodal=multimodal)
        if fault or (misfit and not with_reasons):
            left_out.append(f"{_name(item)}: {fault or misfit}")
        else:
            items.append(item)
            only_read = only_read or (f"{_name(item)}: {misfit}" if misfit else "")
    kept = {item.id for item in items}
    annotations, unusable = answers.usable([annotation for annotation in given.annotations if annotation.item in kept])
    repeats = _repeats(items)
    notes = _notes(items, classes, repeats, with_reasons=with_reasons)
    several = with_reasons and repeats > 0
    return ReadItems(tuple(items), annotations, (*left_out, *unusable), only_read, several, notes)


def data_file(files: Files) -> str:
    """Return the name of the one file of data; raises `DataUnavailable` if there is none or are several."""
    sources = [name for name in files if _suffix(name) not in IMAGES]
    if len(sources) > 1:
        raise DataUnavailable(MANY_TABLES.format(count=len(sources), names=", ".join(sources)[:200]))
    if not sources:
        raise DataUnavailable(NO_TABLE)
    return sources[0]


def free_columns(files: Files) -> tuple[tuple[str, ...], str]:
    """Return the columns of the file of data among which a person chooses, and the one with the longest cells.

    Raises `DataUnavailable` if it cannot be read.
    """
    name = data_file(files)
    free = items_file.free_columns(files[name], name)
    return free, longest_column(files[name], name) if free else ""


def _repeats(items: Sequence[Item]) -> int:
    """Return how many of the items have the same input as one before them, apart from spaces."""
    inputs = {(*(" ".join(text.split()) for text in item.example.texts), item.example.image) for item in items}
    return len(items) - len(inputs)


def _notes(items: Sequence[Item], classes: Sequence[str], repeats: int, *, with_reasons: bool) -> tuple[str, ...]:
    """Return a sentence for labels and for classes of reasons that the model does not have, and for repeated texts."""
    labels = [item.label for item in items if item.example.label is None]
    stated = [item.reason.stated for item in items if item.reason is not None]
    notes = []
    for given, what in ((labels, LABELS), (stated, STATED)) if classes else ():
        unknown = [name for name in given if name and own_records.class_number(name, classes) is None]
        if unknown:
            different = list(dict.fromkeys(name[:40] for name in unknown))
            more = [f"{len(different) - MOST_NAMES} more"] if len(different) > MOST_NAMES else []
            names = ", ".join([*different[:MOST_NAMES], *more])
            notes.append(what.format(count=counted(len(unknown), "row"), names=names, classes=listed_classes(classes)))
    if not with_reasons and repeats:
        notes.append(REPEATED.format(count=counted(repeats, "row")))
    return tuple(notes)


def _suffix(name: str) -> str:
    return Path(name).suffix.lower()


def _name(item: Item) -> str:
    """Return the item's id; where its file gives none, how its text begins."""
    example = item.example
    if example.text.strip() and item.id == own_records.text_id(example.text, example.pair):
        return f"The item “{one_line(example.text, 40)}”"
    return f"Item {item.id[:60]}"


def _fault(item: Item, *, with_reasons: bool) -> str:
    """Return why nobody can annotate the item, or ""; `with_reasons`: whether others of the file have one."""
    texts = (item.example.text, item.example.pair or "")
    faults = {
        "it has no text.": not item.example.text.strip(),
        f"its text has more than {LONGEST:,} characters.": sum(map(len, texts)) > LONGEST,
        "it has no reason, and others have one.": with_reasons and item.reason is None,
    }
    return next((sentence for sentence, holds in faults.items() if holds), "")


def _misfit(example: Example, input_names: Sequence[str], classes: int, *, multimodal: bool) -> str:
    """Return why the model cannot read the example, or ""."""
    faults = {
        f"it has no {input_names[-1] if input_names else 'second text'}.": len(input_names) == 2 and not example.pair,
        "it has two texts, and the model reads one.": len(input_names) == 1 and bool(example.pair),
        f"its class {example.label} is not one of the model's {classes}.": 0 < classes <= (example.label or 0),
        "it has no image, and the model reads one.": multimodal and example.image is None,
        "it has an image, and the model reads only text.": not multimodal and example.image is not None,
    }
    return next((sentence for sentence, holds in faults.items() if holds), "")


def _with_images(
    content: bytes, name: str, classes: Sequence[str], images: Files, columns: Columns
) -> own_records.Imported:
    """Return the items of a table that names the images whose files were given beside it."""
    if not tables.is_table(name):
        raise DataUnavailable("Give the names of the images in a table (.csv, .tsv or .parquet), in a column.")
    return read_table(content, name, classes, images, columns)


def sources(model: str, generator_noun: str) -> tuple[str, ...]:
    """Return what a model offers as items."""
    offered = {
        EXAMPLES: any(example.model == model for example in curated_examples()),
        PAIRS: bool(user_texts.shipped_pairs(model)),
        GENERATED: bool(generator_noun),
    }
    return tuple(name for name, there in offered.items() if there)


def embedded_items(model: str, source: str, labels: tuple[str, ...], noun: str = "", count: int = 0) -> list[Item]:
    """Return the items of a source; `count` is the number of generated ones."""
    if source == PAIRS:
        return [
            Item(f"pair {number}", example) for number, example in enumerate(user_texts.shipped_pairs(model), start=1)
        ]
    if source == GENERATED:
        names = [f"{noun} {number}" for number in range(1, count + 1)]
        return [_item(name, tasks.generated_example(name), labels) for name in names]
    return [
        _item(example.title, example_of(example), labels) for example in curated_examples() if example.model == model
    ]


def _item(name: str, example: Example, labels: tuple[str, ...]) -> Item:
    """Return the example as an item, with the evidence that is known as its rationale."""
    known = example.evidence
    rationale = (Marked(tuple(Span(*span) for span in known.words), (), known.boxes),) if known is not None else None
    label = labels[example.label] if example.label is not None and example.label < len(labels) else ""
    return Item(name, replace(example, evidence=None), rationale, label)


def create_with_annotations(
    store: Store, spec: ProjectSpec, items: Sequence[Item], given: Sequence[Annotation], account: Account
) -> Project:
    """Store the project, its items and those annotations that fit its tasks, all or nothing.

    No two annotations may have the same item, annotator, task and version. Raises what `projects.create` raises.
    """
    with store.begin() as session:
        project = projects.added(session, spec, items, account)
        fitting = [annotation for annotation in given if annotation.task in project.tasks]
        in_order = sorted(fitting, key=lambda one: (one.confirmed, one.version))
        decided = [annotation for annotation in in_order if annotation.annotator == store_tables.DECIDED_BY]
        confirmed = [annotation for annotation in in_order if annotation.annotator != store_tables.DECIDED_BY]
        if confirmed:
            _store(session, project, confirmed)
        if decided:
            _store_decisions(session, project, decided)
        return project


def _store_decisions(session: Session, project: Project, given: Sequence[Annotation]) -> None:
    items = _numbers(session, project)
    rows = [
        store_tables.DecisionRow(
            project=project.id,
            item=items[annotation.item],
            task=annotation.task,
            answer=json.dumps(answer_json(annotation.answer), ensure_ascii=False),
            origin=origin[: disputes.LONGEST_ORIGIN],
            decided=annotation.confirmed,
            decided_by=by,
            own_class=annotation.own_class,
        )
        for annotation in given
        if annotation.answer is not None
        for origin, by in [disputes.origin_and_owner(annotation.comment)]
    ]
    session.add_all(rows)


def _numbers(session: Session, project: Project) -> dict[str, int]:
    """Return the numbers of the items by their names."""
    known = session.execute(
        select(store_tables.ItemRow.name, store_tables.ItemRow.id).where(store_tables.ItemRow.project == project.id)
    )
    return {name: number for name, number in known}


def _store(session: Session, project: Project, given: Sequence[Annotation]) -> None:
    """Store the annotations in the order of confirmation."""
    names = dict.fromkeys(annotation.annotator for annotation in given)
    rows = [store_tables.AnnotatorRow(project=project.id, person=f"import {name}", name=name) for name in names]
    session.add_all(rows)
    session.flush()
    people = {row.name: row.id for row in rows}
    items = _numbers(session, project)
    values: list[dict[str, Any]] = []
    last: Last = {}
    for annotation in given:
        item, person = items[annotation.item], people[annotation.annotator]
        values.append(answers.imported(project, person, _confirmation(item, annotation), annotation))
        last[item, person] = annotation
    session.execute(insert(store_tables.AnswerRow), values)
    _assign(session, project, last)


def _assign(session: Session, project: Project, last: Last) -> None:
    """Give a slot of an item to who has finished it, as long as there are slots; a skipped item is free for others."""
    taken: dict[int, int] = defaultdict(int)
    rows: list[dict[str, Any]] = []
    for (item, person), newest in last.items():
        slot = None
        if not newest.skipped and taken[item] < project.spec.overlap:
            slot = taken[item] = taken[item] + 1
        status = "skipped" if newest.skipped else "done"
        rows.append({"item": item, "annotator": person, "slot": slot, "status": status})
    session.execute(insert(store_tables.AssignmentRow).execution_options(render_nulls=True), rows)  # else one by one
    by_count: dict[int, list[int]] = defaultdict(list)
    for item, count in taken.items():
        by_count[count].append(item)
    for count, listed in by_count.items():
        for start in range(0, len(listed), MOST_NAMED):
            some = store_tables.ItemRow.id.in_(listed[start : start + MOST_NAMED])
            session.execute(update(store_tables.ItemRow).where(some).values(taken=count))


def _confirmation(item: int, annotation: Annotation) -> answers.Confirmation:
    return answers.Confirmation(
        item,
        annotation.task,
        annotation.version,
        annotation.answer,
        annotation.seconds,
        annotation.flagged,
        annotation.comment,
        annotation.own_class,
    )
