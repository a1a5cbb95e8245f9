"""Two people: one marks the first word of every item, the other the first and the second."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.annotate import answers, disputes, people, projects, results, shown_results
from app.annotate.answers import Confirmation
from app.annotate.data_files import create_with_annotations
from app.annotate.projects import Project, ProjectSpec
from app.annotate.results import ItemState
from app.server.login import ANYBODY
from app.store import Store
from explainers.annotations.formats.items_file import EXPORTS, parse_items
from explainers.annotations.records import (
    Annotation,
    Inspected,
    Marked,
    Ranked,
    Rated,
    Rating,
    ReadReason,
    Simulated,
    Span,
    Task,
)
from explainers.metrics.bootstrap import Interval

Make = Callable[..., Project]
FIRST, BOTH = Marked((Span(0, 1),)), Marked((Span(0, 6),))
ANSWERS: dict[Task, tuple[object, object]] = {
    "mark": (FIRST, BOTH),
    "simulate": (Simulated("aml", 1), Simulated("aml", 0)),
    "read": (ReadReason("yes", "yes", "no", "yes"), ReadReason("yes", "?", "yes", "yes")),
    "rank": (
        Ranked(("aml", "occlusion", "integrated_gradients")),
        Ranked(("aml", "integrated_gradients", "occlusion")),
    ),
    "rate": (Rated((Rating("A", "cause", 5, 4),)), Rated((Rating("A", "cause", 3, 4),))),
    "inspect": (Inspected("aml", "accept"), Inspected("aml", "reject")),
}


@pytest.fixture
def annotated(annotation_store: Store, make_project: Make) -> Project:
    project = make_project(("a fine film", "a dull film"), tasks=tuple(ANSWERS))
    for number, name in enumerate(("A1", "A2")):
        annotator = people.annotator(annotation_store, project.id, f"account {name}", name)
        while (item := people.current_item(annotation_store, project.id, annotator)) is not None:
            for task in project.tasks:
                sent = Confirmation(item, task, 1, ANSWERS[task][number])  # type: ignore[arg-type]
                answers.confirm(annotation_store, project, annotator, sent)
    projects.open_results(annotation_store, project.id)
    opened = projects.project(annotation_store, project.id)
    assert opened is not None
    return opened


@pytest.fixture
def shown(annotation_store: Store, annotated: Project) -> tuple[dict[str, ItemState], tuple[Annotation, ...]]:
    annotations = answers.annotations(annotation_store, annotated)
    return results.item_states(projects.all_items(annotation_store, annotated.id), annotations), annotations


Shown = tuple[dict[str, ItemState], tuple[Annotation, ...]]


def test_agreement_is_there_for_every_task(annotated: Project, shown: Shown) -> None:
    by_task = {agreement.task: agreement for agreement in results.agreements(annotated, *shown)}
    assert set(by_task) == set(ANSWERS)
    marked = {value.name: value for value in by_task["mark"].overall}
    # per item: 1 of 1 and 1 of 2 marks shared, so F1 is 2·1/(1+2); κ of [1,0,0] and [1,1,0] is 0.4
    assert marked["F1 of units"].value == pytest.approx(2 / 3)
    assert marked["Cohen's κ"].value == pytest.approx(0.4)
    assert marked["Cohen's κ"].items == 2
    assert list(by_task["mark"].pairs) == [("A1", "A2")]


def test_tasks_of_one_person_are_listed_without_agreement(annotated: Project, shown: Shown) -> None:
    _, annotations = shown
    assert results.without_agreement(annotated, results.agreements(annotated, *shown), annotations) == []
    alone = tuple(annotation for annotation in annotations if annotation.annotator == "A1")
    assert results.agreements(annotated, results.item_states({}, ()), alone) == []
    rows = results.without_agreement(annotated, [], alone)
    assert rows[0] == {"task": "Mark the evidence", "items": 2, "people": 1, "agreement": results.ONE_PERSON}
    assert len(rows) == len(ANSWERS)
    first = annotations[0].item
    apart = [annotation for annotation in annotations if (annotation.annotator == "A1") == (annotation.item == first)]
    assert {row["agreement"] for row in results.without_agreement(annotated, [], apart)} == {results.NO_COMMON_ITEM}


def test_methods_are_compared_with_what_half_of_the_people_marked(shown: Shown) -> None:
    """The first two of three words: with k = 2, chance of F1 is 2/3. Occlusion scores the words 1, 2, 0, which finds
    both; integrated gradients 0, 1, 2, which finds one."""
    marks = shown_results.gold_marks(shown[0], {})
    rows = {
        row["method"]: row
        for row in shown_results.against_people(shown[0], marks, ("integrated_gradients", "occlusion"))
    }
    assert rows["occlusion"]["f1"].mean == pytest.approx(1.0)  # type: ignore[attr-defined]
    assert rows["integrated_gradients"]["f1"].mean == pytest.approx(0.5)  # type: ignore[attr-defined]
    assert rows["occlusion"]["f1 random order"] == pytest.approx(2 / 3)
    assert rows["occlusion"]["items"] == 2


def test_preference_is_shown_beside_faithfulness(shown: Shown) -> None:
    rows = results.preferred(shown[1], shown[0])
    assert rows[0]["method"] == "aml"
    assert rows[0]["aopc_c"] == Interval(pytest.approx(0.2), pytest.approx(0.2), pytest.approx(0.2), 2)
    follows = results.follows_faithfulness(shown[1], shown[0]).interval
    assert follows is not None
    # the mean places are 1, 2.5, 2.5 and AOPC-C 0.2, 0.1, 0: ρ = √3/2
    assert follows.mean == pytest.approx(0.866, abs=1e-3)


def test_what_people_did_is_counted(shown: Shown) -> None:
    half = Interval(0.5, 0.5, 0.5, 2)  # one of two people on either item
    assert results.simulations(shown[1], shown[0]) == [{"method": "aml", "guesses": 4, "items": 2, "right": half}]
    verdicts = {"accept": 2, "correct": 0, "reject": 2}
    assert results.verdicts(shown[1]) == [{"method": "aml", **verdicts, "items": 2, "accepted": half}]
    (row,) = results.ratings(shown[1])
    assert (row["method"], row["ratings"], row["relatedness"]) == ("cause", 4, Interval(4.0, 4.0, 4.0, 2))


def test_what_was_changed_after_the_answer_was_shown_does_not_count(
    annotation_store: Store, annotated: Project, shown: Shown
) -> None:
    number = shown[0]["item 0"].number
    one = next(id for id, name in people.names(annotation_store, annotated.id).items() if name == "A2")
    for task, answer in (("simulate", Simulated("aml", 1)), ("mark", FIRST), ("inspect", Inspected("aml", "accept"))):
        answers.confirm(annotation_store, annotated, one, Confirmation(number, task, 2, answer))  # type: ignore[arg-type]
    annotations = answers.annotations(annotation_store, annotated)
    states = results.item_states(projects.all_items(annotation_store, annotated.id), annotations)
    assert states["item 0"].marks["A2"] == BOTH
    (guessed,), (checked,) = results.simulations(annotations, states), results.verdicts(annotations)
    assert (guessed["guesses"], guessed["right"]) == (4, Interval(0.5, 0.5, 0.5, 2))
    assert (checked["accept"], checked["correct"], checked["reject"]) == (3, 0, 1)


def test_a_guess_that_is_changed_once_more_was_shown_does_not_count() -> None:
    """The next task shows the model's answer as soon as the guess is confirmed."""

    def given(task: Task, version: int, confirmed: float) -> Annotation:
        (answer, _) = ANSWERS[task]
        return Annotation("p", "item", "A1", task, version, 1.0, confirmed, answer)  # type: ignore[arg-type]

    guesses = [given("simulate", 1, 1.0), given("simulate", 2, 2.0)]
    assert results.uninfluenced(guesses) == guesses  # nothing was shown after them
    check = given("inspect", 1, 3.0)
    assert results.uninfluenced([*guesses, check]) == [guesses[0], check]


def test_a_decision_takes_the_place_of_the_majority(shown: Shown) -> None:
    """The first of three words alone: occlusion scores the words 1, 2, 0 and misses it."""
    number = shown[0]["item 0"].number
    earlier, newest = (disputes.OwnerDecision(marked, "A1", "", 0.0) for marked in (BOTH, FIRST))
    marks = shown_results.gold_marks(shown[0], {(number, "mark"): (earlier, newest), (number, "rate"): (earlier,)})
    assert {name: mark.truth.tolist() for name, mark in marks.items()} == {
        "item 0": [True, False, False],
        "item 1": [True, True, False],
    }
    (row,) = shown_results.against_people(shown[0], marks, ("occlusion",))
    assert (row["items"], row["f1"]) == (2, Interval(0.5, 0.0, 1.0, 2))
    assert row["people's answers"] == 2  # of the second item; the first one is decided
    assert row["f1 random order"] == pytest.approx((1 / 3 + 2 / 3) / 2)


def test_right_for_other_reasons_names_the_most_faithful_map(shown: Shown) -> None:
    """AML is the most faithful one and scores the words 2, 0, 1: of people's two it finds one, where chance is 4/3."""
    listed = shown_results.other_reasons(shown[0], shown_results.gold_marks(shown[0], {}))
    assert [(state.item.id, method) for state, method, _ in listed] == [("item 0", "aml"), ("item 1", "aml")]
    assert listed[0][2].shared == pytest.approx(0.5)


@pytest.fixture
def opposed(annotation_store: Store, make_project: Make) -> Project:
    """The model says positive. Three people: on item 0 all agree with it, on item 1 one, on item 2 nobody."""
    project = make_project(("a fine film",) * 3, tasks=("mark",), overlap=3)
    said = {"A1": ("positive", "positive", "negative"), "A2": ("positive", "negative", "negative")}
    said["A3"] = ("POS", "negative", "negative")  # as a file may name it
    for name, classes in said.items():
        annotator = people.annotator(annotation_store, project.id, f"account {name}", name)
        for number, own_class in zip(projects.first_items(annotation_store, project.id, 3), classes, strict=True):
            with annotation_store.begin() as session:
                people.take(session, number, annotator, 3)
            marked = FIRST if own_class == "negative" else BOTH
            sent = Confirmation(number, "mark", 1, marked, own_class=own_class)
            answers.confirm(annotation_store, project, annotator, sent)
    return project


def test_methods_are_compared_with_those_who_gave_the_models_class(annotation_store: Store, opposed: Project) -> None:
    annotations = answers.annotations(annotation_store, opposed)
    states = results.item_states(projects.all_items(annotation_store, opposed.id), annotations)
    marks = shown_results.gold_marks(states, {})
    # of item 1 the two people of the other class are a majority, and do not count
    assert {name: (mark.truth.tolist(), mark.people) for name, mark in marks.items()} == {
        "item 0": ([True, True, False], 3),
        "item 1": ([True, True, False], 1),
    }
    assert shown_results.support(states, marks) == shown_results.Support(answers=9, same=4, items=2, without=1)
    (row,) = shown_results.against_people(states, marks, ("occlusion",))
    assert (row["items"], row["people's answers"]) == (2, 4)


@pytest.mark.parametrize(("own_class", "items_with_gold"), [("negative", 2), ("positive", 3), ("", 3)])
def test_a_decision_for_another_class_says_nothing_about_the_models(
    annotation_store: Store, opposed: Project, own_class: str, items_with_gold: int
) -> None:
    annotations = answers.annotations(annotation_store, opposed)
    states = results.item_states(projects.all_items(annotation_store, opposed.id), annotations)
    decision = disputes.OwnerDecision(FIRST, "A1", "", 0.0, own_class)
    marks = shown_results.gold_marks(states, {(states["item 2"].number, "mark"): (decision,)})
    assert len(marks) == items_with_gold


def test_agreement_on_the_class_and_on_marks_are_two(annotation_store: Store, opposed: Project) -> None:
    annotations = answers.annotations(annotation_store, opposed)
    states = results.item_states(projects.all_items(annotation_store, opposed.id), annotations)
    own, marks = results.agreements(opposed, states, annotations)
    assert (own.title, marks.title) == (results.OWN_CLASS, "Mark the evidence")
    by_name = {value.name: value.value for value in own.overall}
    # p_o = (1 + 1/3 + 1) / 3 = 7/9, answers 4 and 5 of 9: p_e = 41/81, κ = (63 - 41) / (81 - 41)
    assert by_name["Fleiss' κ"] == pytest.approx(22 / 40)
    # whoever gave the same class marked the same
    assert {value.name: value.value for value in marks.overall}["F1 of units"] == 1.0
    assert marks.note == results.SAME_CLASS.format(same=7, pairs=9)


@pytest.mark.parametrize("format", EXPORTS, ids=lambda export: export.id)
def test_a_download_becomes_a_project_with_the_same_annotations(
    annotation_store: Store, annotated: Project, format: object
) -> None:
    known = projects.all_items(annotation_store, annotated.id)
    listed = [item for _, item, _ in known.values()]
    given = answers.annotations(annotation_store, annotated)
    content = format.write(listed, given)  # type: ignore[attr-defined]
    read = parse_items(content, f"file{format.suffix}")  # type: ignore[attr-defined]
    assert read.bad_rows == ()
    spec = ProjectSpec("Films", "small", tasks=("mark",), overlap=2)
    again = create_with_annotations(annotation_store, spec, read.items, read.annotations, ANYBODY)
    kept = {
        (annotation.item, annotation.annotator, annotation.answer)
        for annotation in answers.annotations(annotation_store, again)
    }
    assert kept == {
        (annotation.item, annotation.annotator, annotation.answer) for annotation in given if annotation.task == "mark"
    }
    assert len(kept) == 4  # of the task that the project has
    assert people.progress(annotation_store, again.id, people.annotator(annotation_store, again.id, "x"), 2).total == 0


def test_what_failed_and_what_may_still_come_is_listed(
    annotated: Project, shown: tuple[dict[str, ItemState], tuple[Annotation, ...]]
) -> None:
    states, _ = shown
    assert results.missing_explanations(annotated, states, {}) == []
    first, second = states
    without = {name: map_ for name, map_ in states[first].prepared.maps.items() if name != "occlusion"}
    partly = {**states, first: replace(states[first], prepared=replace(states[first].prepared, maps=without))}
    failed = {second: {"aml": "Too long."}}
    assert results.missing_explanations(annotated, partly, failed) == [
        (second, "aml", "Too long."),
        (first, "occlusion", results.NOT_YET),
    ]
