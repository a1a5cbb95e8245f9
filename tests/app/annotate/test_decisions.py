"""Owners decide where people differ, in every task in which agreement is computed, and may decide anew."""

from collections.abc import Callable

import pytest

from app.annotate import answers, disputes, people, projects, results
from app.annotate.adjudication import Adjudication, read_decision, titled
from app.annotate.answers import Confirmation, usable
from app.annotate.data_files import create_with_annotations
from app.annotate.disputes import Dispute
from app.annotate.intermission import all_annotations
from app.annotate.projects import Project, ProjectSpec
from app.annotate.tables import DECIDED_BY
from app.server.login import ANYBODY
from app.store import Store
from explainers.annotations.formats.items_file import EXPORTS, ExportFormat, parse_items
from explainers.annotations.records import (
    Answer,
    Corrected,
    Inspected,
    Marked,
    Ranked,
    Rated,
    Rating,
    ReadReason,
    Several,
    Simulated,
    Span,
    Task,
)
from explainers.errors import ExplanationError

FIRST, BOTH = Marked((Span(0, 1),)), Marked((Span(0, 6),))
DIFFERENT: dict[Task, tuple[Answer, Answer]] = {
    "mark": (FIRST, BOTH),
    "simulate": (
        Several((Simulated("aml", 1), Simulated("occlusion", 0))),
        Several((Simulated("occlusion", 0), Simulated("aml", 0))),
    ),
    "read": (ReadReason("yes", "yes", "no", "yes"), ReadReason("yes", "?", "no", "yes")),
    "rank": (
        Ranked(("aml", "occlusion", "integrated_gradients")),
        Ranked(("aml", "integrated_gradients", "occlusion")),
    ),
    "rate": (Rated((Rating("A", "cause", 5, 4),)), Rated((Rating("A", "cause", 3, 4),))),
    "inspect": (Inspected("aml", "accept"), Inspected("aml", "correct", FIRST)),
    "correct": (
        Several((Corrected("cause", "It is fine."), Corrected("cause_phi", "Fine."))),
        Several((Corrected("cause", "It is a fine film."), Corrected("cause_phi", "Fine."))),
    ),
}
DECISIONS: dict[Task, tuple[dict[str, str | None], Answer]] = {
    "simulate": (
        {"aml": "positive", "occlusion": "positive"},  # the second one is nobody's answer
        Several((Simulated("aml", 1), Simulated("occlusion", 1))),
    ),
    "read": (
        {"grammatical": "yes", "true": "no", "supports": "no", "informative": "cannot tell"},
        ReadReason("yes", "no", "no", "?"),
    ),
    "rank": (
        {"aml": "2", "occlusion": "1", "integrated_gradients": "3"},
        Ranked(("occlusion", "aml", "integrated_gradients")),
    ),
    "rate": ({"cause: relatedness": "4", "cause: fluency": "4"}, Rated((Rating("cause", "cause", 4, 4),))),
    "correct": (
        {"cause": " It is one fine film. ", "cause_phi": "Fine."},
        Several((Corrected("cause", "It is one fine film."), Corrected("cause_phi", "Fine."))),
    ),
}


@pytest.fixture
def annotated(annotation_store: Store, make_project: Callable[..., Project]) -> Project:
    """Two people differ in every task of the first of two items, and agree about the second one."""
    project = make_project(("a fine film", "a dull film"), tasks=tuple(DIFFERENT))
    numbers = projects.first_items(annotation_store, project.id, 2)
    for place, name in enumerate(("A1", "A2")):
        annotator = people.annotator(annotation_store, project.id, f"account {name}", name)
        with annotation_store.begin() as session:
            for number in numbers:
                people.take(session, number, annotator, 2)
        for item, number in enumerate(numbers):
            for task in project.tasks:
                answer = DIFFERENT[task][place if item == 0 else 0]
                answers.confirm(annotation_store, project, annotator, Confirmation(number, task, 1, answer))
    projects.open_results(annotation_store, project.id)
    return project


@pytest.fixture
def differing(annotation_store: Store, annotated: Project) -> dict[Task, list[Dispute]]:
    annotations = answers.annotations(annotation_store, annotated)
    states = results.item_states(projects.all_items(annotation_store, annotated.id), annotations)
    return disputes.disputes(annotated.tasks, states, annotations)


Differing = dict[Task, list[Dispute]]


def test_the_items_on_which_people_differ_are_found_in_every_task(differing: Differing) -> None:
    assert set(differing) == set(DIFFERENT)
    assert {dispute.state.item.id for listed in differing.values() for dispute in listed} == {"item 0"}


def test_everybodys_answers_stand_side_by_side_in_words(differing: Differing) -> None:
    words = {task: disputes.values(listed[0]) for task, listed in differing.items()}
    assert words["simulate"] == {
        "aml": {"A1": "positive", "A2": "negative"},
        "occlusion": {"A1": "negative", "A2": "negative"},
    }
    assert words["inspect"] == {"aml": {"A1": "accept", "A2": "correct: a"}}
    assert words["rate"]["cause: relatedness"] == {"A1": "5", "A2": "3"}
    assert words["rank"]["occlusion"] == {"A1": "2", "A2": "3"}
    assert words["correct"] == {
        "cause": {"A1": "It is fine.", "A2": "It is a fine film."},
        "cause_phi": {"A1": "Fine.", "A2": "Fine."},
    }
    assert disputes.title("cause: relatedness").endswith(": relatedness")


@pytest.mark.parametrize("task", DECISIONS)
def test_what_is_chosen_becomes_an_answer(differing: Differing, task: Task) -> None:
    dispute, (chosen, expected) = differing[task][0], DECISIONS[task]
    assert disputes.decided_answer(dispute, chosen) == expected
    for question, word in chosen.items() if task != "correct" else ():
        assert word in disputes.options(dispute, question)
    with pytest.raises(ExplanationError, match="a sentence in every field" if task == "correct" else "every row"):
        disputes.decided_answer(dispute, dict.fromkeys(chosen))


def of_owner(dispute: Dispute, store: Store, project: Project) -> Adjudication:
    return Adjudication(store, project, dispute, "Ada", ())


def test_an_owner_draws_marks_on_a_suggestion(
    annotation_store: Store, annotated: Project, differing: Differing
) -> None:
    adjudication = of_owner(differing["inspect"][0], annotation_store, annotated)
    (name,) = titled(adjudication.dispute)
    for sent, answer, origin in (
        ({"verdict": "correct", "marked": [1]}, Inspected("aml", "correct", Marked((Span(2, 6),))), "changed"),
        ({"verdict": "correct", "marked": [0]}, Inspected("aml", "correct", FIRST), "A2"),
        ({"verdict": "accept", "marked": [2]}, Inspected("aml", "accept"), "A1"),
        ({"verdict": "reject"}, Inspected("aml", "reject"), "changed"),
    ):
        assert read_decision(adjudication, {"given": {name: sent}}) == (answer, origin, "")
    for wrong in ({"verdict": "perhaps"}, {"verdict": "correct"}):
        with pytest.raises((ValueError, KeyError)):
            read_decision(adjudication, {"given": {name: wrong}})


def test_a_decision_on_marks_names_their_class(
    annotation_store: Store, annotated: Project, differing: Differing
) -> None:
    adjudication = of_owner(differing["mark"][0], annotation_store, annotated)
    sent = {"marked": [0], "origin": "A1", "label": 0}
    assert read_decision(adjudication, sent) == (FIRST, "A1", "negative")
    for label in (None, 2, -1, "0"):
        with pytest.raises(ExplanationError, match="did not arrive complete"):
            read_decision(adjudication, {**sent, "label": label})
    adjudication.store_decision(FIRST, "A1", "negative")
    number = adjudication.dispute.state.number
    assert disputes.histories(annotation_store, annotated)[number, "mark"][0].own_class == "negative"
    known = projects.all_items(annotation_store, annotated.id)
    (decided,) = [e for e in all_annotations(annotation_store, annotated, known) if e.annotator == DECIDED_BY]
    assert decided.own_class == "negative"


def test_people_who_mark_the_same_for_different_classes_differ(differing: Differing) -> None:
    state = differing["mark"][0].state
    same = {"A1": FIRST, "A2": FIRST}
    assert not disputes.differs(Dispute(state, "mark", same, {"A1": "positive", "A2": "positive"}))
    assert disputes.differs(Dispute(state, "mark", same, {"A1": "positive", "A2": "negative"}))


def test_two_maps_cannot_have_one_place(differing: Differing) -> None:
    with pytest.raises(ExplanationError, match="a place of its own"):
        disputes.decided_answer(differing["rank"][0], {"aml": "1", "occlusion": "1", "integrated_gradients": "2"})


def test_a_later_decision_replaces_an_earlier_one_and_both_are_downloaded(
    annotation_store: Store, annotated: Project, differing: Differing
) -> None:
    number = differing["mark"][0].state.number
    disputes.decide(annotation_store, annotated, (number, "mark"), FIRST, "A1", "Ada")
    disputes.decide(annotation_store, annotated, (number, "mark"), BOTH, "changed", "Bob")
    disputes.decide(annotation_store, annotated, (number, "rate"), DIFFERENT["rate"][0], "A1")
    history = disputes.histories(annotation_store, annotated)
    assert [(decision.answer, decision.by) for decision in history[number, "mark"]] == [(FIRST, "Ada"), (BOTH, "Bob")]
    known = projects.all_items(annotation_store, annotated.id)
    decided = [e for e in all_annotations(annotation_store, annotated, known) if e.annotator == DECIDED_BY]
    assert [(annotation.task, annotation.version, annotation.answer, annotation.comment) for annotation in decided] == [
        ("mark", 1, FIRST, "A1; decided by Ada"),
        ("mark", 2, BOTH, "changed; decided by Bob"),
        ("rate", 1, DIFFERENT["rate"][0], "A1"),
    ]
    assert decided[0].confirmed <= decided[1].confirmed
    assert decided[0].item == "item 0"


@pytest.mark.parametrize("format", EXPORTS, ids=lambda export: export.id)
def test_decisions_come_back_as_decisions(
    annotation_store: Store, annotated: Project, differing: Differing, format: ExportFormat
) -> None:
    for task, listed in differing.items():
        disputes.decide(annotation_store, annotated, (listed[0].state.number, task), DIFFERENT[task][1], "A2", "Ada")
    known = projects.all_items(annotation_store, annotated.id)
    given = all_annotations(annotation_store, annotated, known)
    content = format.write([item for _, item, _ in known.values()], given)
    read = parse_items(content, f"file{format.suffix}")
    kept, left_out = usable(read.annotations)
    assert (read.bad_rows, left_out) == ((), ())
    spec = ProjectSpec("Again", "small", tasks=annotated.tasks, methods=annotated.spec.methods, narrators=("cause",))
    again = create_with_annotations(annotation_store, spec, read.items, kept, ANYBODY)
    assert set(people.names(annotation_store, again.id).values()) == {"A1", "A2"}
    history = disputes.histories(annotation_store, again)
    assert {task: own[-1].answer for (_, task), own in history.items()} == {
        task: both[1] for task, both in DIFFERENT.items()
    }
    assert {(decision.origin, decision.by) for own in history.values() for decision in own} == {("A2", "Ada")}


def test_corrections_that_differ_in_spaces_alone_are_the_same(differing: Differing) -> None:
    state = differing["correct"][0].state
    answers = {"A1": Corrected("cause", "It is fine."), "A2": Corrected("cause", "It is fine. ")}
    assert not disputes.differs(Dispute(state, "correct", answers))
    other = {**answers, "A2": Corrected("cause_phi", "It is dull.")}  # of another sentence
    assert not disputes.differs(Dispute(state, "correct", other))


def test_a_decision_that_is_sent_twice_is_stored_once(
    annotation_store: Store, annotated: Project, differing: Differing
) -> None:
    marks = differing["mark"][0].state.number, differing["mark"][0].task
    for _ in range(2):
        disputes.decide(annotation_store, annotated, marks, FIRST, "A1", "Ada", seen=0)
    assert len(disputes.histories(annotation_store, annotated)[marks]) == 1
    with pytest.raises(ExplanationError, match="a newer decision"):
        disputes.decide(annotation_store, annotated, marks, BOTH, "A2", "Bob", seen=0)
    disputes.decide(annotation_store, annotated, marks, BOTH, "A2", "Bob", seen=1)
    assert [history.by for history in disputes.histories(annotation_store, annotated)[marks]] == ["Ada", "Bob"]


@pytest.mark.parametrize("comment", ["A1", "A1; decided by Ada", "decided by Ada", ""])
def test_the_comment_of_a_decision_says_whose_it_is(comment: str) -> None:
    origin, by = disputes.origin_and_owner(comment)
    assert disputes.OwnerDecision(FIRST, origin, by, 0.0).comment == comment
    assert by == ("Ada" if "Ada" in comment else "")


def test_a_decision_on_a_deleted_project_is_a_sentence(annotation_store: Store, annotated: Project) -> None:
    projects.remove(annotation_store, annotated.id)
    with pytest.raises(ExplanationError, match="was deleted"):
        disputes.decide(annotation_store, annotated, (1, "mark"), FIRST, "A1")
