"""While a project is blind, nothing that reaches an annotator tells which method is which."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from app.annotate import answers, people, projects
from app.annotate.answers import Confirmation
from app.annotate.decision_form import read_class, read_sent
from app.annotate.intermission import without_names
from app.annotate.payload import TaskQuestion, payload
from app.annotate.projects import ORDER, Project
from app.annotate.tables import method_name
from app.store import Store
from explainers.annotations.record_json import annotation_json
from explainers.annotations.records import (
    Annotation,
    Corrected,
    Inspected,
    Marked,
    Ranked,
    Rated,
    ReadReason,
    Several,
    Simulated,
    Task,
)
from explainers.errors import ExplanationError
from tests.app.annotate.conftest import METHODS, NARRATORS

Make = Callable[..., Project]
SENT: dict[Task, Callable[[dict[str, object]], dict[str, object]]] = {
    "mark": lambda _data: {"marked": [0, 2]},
    "simulate": lambda data: {"given": {heat_map["letter"]: {"label": 0} for heat_map in data["maps"]}},  # type: ignore[attr-defined]
    "read": lambda _data: {"read": {"grammatical": "yes", "true": "?", "supports": "no", "informative": "yes"}},
    "rank": lambda data: {"order": [heat_map["letter"] for heat_map in data["maps"]]},  # type: ignore[attr-defined]
    "rate": lambda data: {
        "scores": {sentence["letter"]: {"relatedness": 5, "fluency": 1} for sentence in data["sentences"]}  # type: ignore[attr-defined]
    },
    "inspect": lambda data: {
        "given": {suggestion["letter"]: {"verdict": "correct", "marked": [1]} for suggestion in data["suggestions"]}  # type: ignore[attr-defined]
    },
    "correct": lambda data: {
        "given": {sentence["letter"]: {"sentence": " A good reason. "} for sentence in data["sentences"]}  # type: ignore[attr-defined]
    },
}


@pytest.fixture
def ask(annotation_store: Store) -> Callable[[Project, int, Task], TaskQuestion]:
    def asked(project: Project, annotator: int, task: Task) -> TaskQuestion:
        number = people.current_item(annotation_store, project.id, annotator)
        assert number is not None
        known = projects.item(annotation_store, number)
        assert known is not None
        item, prepared = known
        assert prepared is not None
        return TaskQuestion(project, annotator, number, item, prepared, task, 1)

    return asked


Ask = Callable[[Project, int, Task], TaskQuestion]


def test_everybody_ranks_the_same_few_maps_of_an_item_under_letters_of_their_own(
    annotation_store: Store, make_project: Make, ask: Ask
) -> None:
    project = make_project(("a fine film",), maps_to_rank=2, overlap=20)
    questions = [
        ask(project, people.annotator(annotation_store, project.id, f"account {n}"), "rank") for n in range(20)
    ]
    assert all(list(question.letters) == ["A", "B"] for question in questions)
    assert len({frozenset(question.letters.values()) for question in questions}) == 1
    assert len({tuple(question.letters.values()) for question in questions}) == 2
    other = replace(questions[0], item=replace(questions[0].item, id="another"))
    sets = {frozenset(replace(other, item=replace(other.item, id=str(n))).letters.values()) for n in range(20)}
    assert len(sets) == 3  # of three maps, every two


def test_a_map_that_cannot_be_drawn_is_replaced_in_the_ranking(
    annotation_store: Store, make_project: Make, ask: Ask
) -> None:
    project = make_project(("a fine film",), maps_to_rank=2)
    question = ask(project, people.annotator(annotation_store, project.id, "account "), "rank")
    missing = question.letters["A"]
    maps = {id: heat_map for id, heat_map in question.prepared.maps.items() if id != missing}
    fewer = replace(question, prepared=replace(question.prepared, maps=maps))
    assert set(fewer.letters.values()) == set(METHODS) - {missing}
    assert fewer.key != question.key  # a draft of the other maps is not taken over


def test_a_person_says_which_class_the_marks_are_for(annotation_store: Store, make_project: Make, ask: Ask) -> None:
    project = make_project(("a fine film",))
    question = ask(project, people.annotator(annotation_store, project.id, "account "), "mark")
    assert payload(question, None)["classes"] == ["negative", "positive"]
    assert read_class(question, {"marked": [0], "label": 0}) == "negative"
    assert read_class(replace(question, task="rate"), {}) == ""
    single = replace(question, prepared=replace(question.prepared, labels=("toxic",), label=0))
    assert (payload(single, None)["classes"], read_class(single, {"marked": [0]})) == ([], "")


@pytest.mark.parametrize("task", ORDER)
def test_no_name_or_id_of_a_method_is_sent(annotation_store: Store, make_project: Make, ask: Ask, task: Task) -> None:
    project = make_project()
    annotator = people.annotator(annotation_store, project.id, "account ")
    question = ask(project, annotator, task)
    answer = read_sent(question, SENT[task](payload(question, None)))
    answers.confirm(annotation_store, project, annotator, Confirmation(question.item_number, task, 1, answer))
    (stored,) = answers.latest(annotation_store, question.item_number, annotator)
    sent = json.dumps(payload(question, stored))
    (annotation,) = answers.annotations(annotation_store, project)
    downloaded = json.dumps(annotation_json(without_names(annotation, project)), ensure_ascii=False)
    for method in (*METHODS, *NARRATORS):
        assert method not in sent
        assert f'"{method}"' not in downloaded
        assert method_name(method) not in sent
    assert project.salt not in sent + downloaded


@pytest.mark.parametrize("task", ORDER)
def test_maps_are_sent_only_with_tasks_that_show_them(
    annotation_store: Store, make_project: Make, ask: Ask, task: Task
) -> None:
    project = make_project()
    question = ask(project, people.annotator(annotation_store, project.id, "account "), task)
    assert len(payload(question, None)["maps"]) == {"simulate": 1, "rank": len(METHODS)}.get(task, 0)


@pytest.mark.parametrize("task", ORDER)
def test_an_answer_comes_back_as_it_was_given(
    annotation_store: Store, make_project: Make, ask: Ask, task: Task
) -> None:
    project = make_project()
    annotator = people.annotator(annotation_store, project.id, "account ")
    question = ask(project, annotator, task)
    given = SENT[task](payload(question, None))
    answer = read_sent(question, given)
    answers.confirm(annotation_store, project, annotator, Confirmation(question.item_number, task, 1, answer))
    (stored,) = answers.latest(annotation_store, question.item_number, annotator)
    again = payload(question, stored)["answered"]
    assert read_sent(question, again) == answer
    kinds = {"mark": Marked, "simulate": Simulated, "read": ReadReason, "rank": Ranked, "rate": Rated}
    kinds["inspect"] = Inspected
    assert isinstance(answer, kinds.get(task, Corrected))


def test_letters_are_shuffled_between_people_and_items(annotation_store: Store, make_project: Make, ask: Ask) -> None:
    project = make_project(("a good film",) * 30, tasks=("rank",), overlap=1)
    annotator = people.annotator(annotation_store, project.id, "account ")
    firsts: Counter[str] = Counter()
    for _ in range(30):
        question = ask(project, annotator, "rank")
        assert question.letters == ask(project, annotator, "rank").letters
        firsts[question.letters["A"]] += 1
        ranked = Ranked(tuple(question.letters.values()))
        answers.confirm(annotation_store, project, annotator, Confirmation(question.item_number, "rank", 1, ranked))
    assert set(firsts) == set(METHODS)
    assert max(firsts.values()) < 22  # by chance with p < 0.001


def test_the_models_answer_is_not_told_before_it_is_guessed(
    annotation_store: Store, make_project: Make, ask: Ask
) -> None:
    project = make_project()
    annotator = people.annotator(annotation_store, project.id, "account ")
    for task in ("mark", "simulate", "read"):
        data = payload(ask(project, annotator, task), None)
        assert data["prediction"] == ""
        assert "0.90" not in json.dumps(data)
    assert payload(ask(project, annotator, "rank"), None)["prediction"] == "The model's answer: positive (0.90)"
    assert project.tasks.index("simulate") < project.tasks.index("rank")


def test_without_blinding_the_methods_have_their_names(annotation_store: Store, make_project: Make, ask: Ask) -> None:
    project = make_project(blind=False)
    annotator = people.annotator(annotation_store, project.id, "account ")
    data = payload(ask(project, annotator, "rank"), None)
    assert {heat_map["letter"] for heat_map in data["maps"]} == {method_name(method) for method in METHODS}


def test_opening_the_results_brings_the_names_into_downloads(annotation_store: Store, make_project: Make) -> None:
    project = make_project()
    assert project.hides_methods
    projects.open_results(annotation_store, project.id)
    opened = projects.project(annotation_store, project.id)
    assert opened is not None
    assert not opened.hides_methods


def test_stand_in_names_differ_between_methods_and_projects(make_project: Make) -> None:
    one, other = make_project(), make_project()
    ranked = Annotation("Films", "item 1", "P1", "rank", 1, 1.0, 1.0, Ranked(METHODS))
    first, second = (without_names(ranked, project).answer for project in (one, other))
    assert isinstance(first, Ranked)
    assert isinstance(second, Ranked)
    assert len(set(first.methods) | set(second.methods)) == 6


@pytest.mark.parametrize(
    ("task", "sent"),
    [
        ("mark", {"marked": [99]}),
        ("mark", {"marked": "all"}),
        ("simulate", {"given": {"A": {"label": 7}}}),
        ("simulate", {"given": {}}),
        ("simulate", {"given": {"B": {"label": 1}}}),
        ("rank", {"order": ["A", "A", "B"]}),
        ("rate", {"scores": {"A": {"relatedness": 6, "fluency": 1}}}),
        ("rate", {}),
        ("read", {"read": {"grammatical": "yes", "true": "yes", "supports": "yes"}}),
        ("read", {"read": dict.fromkeys(("grammatical", "true", "supports", "informative"), "maybe")}),
        ("inspect", {"given": {"A": {"verdict": "maybe"}}}),
        ("inspect", {"given": {"A": {"verdict": "correct", "marked": None}}}),
        ("correct", {"given": {"A": {"sentence": " "}}}),
    ],
)
def test_what_is_no_answer_is_refused_with_a_sentence(
    annotation_store: Store, make_project: Make, ask: Ask, task: Task, sent: dict[str, object]
) -> None:
    project = make_project()
    annotator = people.annotator(annotation_store, project.id, "account ")
    with pytest.raises(ExplanationError, match="did not arrive complete"):
        read_sent(ask(project, annotator, task), sent)


def test_several_methods_of_an_item_are_shuffled_for_every_person(
    annotation_store: Store, make_project: Make, ask: Ask
) -> None:
    project = make_project(("a good film",) * 30, tasks=("simulate",), overlap=2, methods_per_item=2)
    shown: list[Counter[tuple[str, ...]]] = []
    for name in ("A1", "A2"):
        annotator = people.annotator(annotation_store, project.id, f"account {name}", name)
        orders: Counter[tuple[str, ...]] = Counter()
        for _ in range(30):
            question = ask(project, annotator, "simulate")
            data = payload(question, None)
            orders[tuple(question.letters.values())] += 1
            answer = read_sent(question, SENT["simulate"](data))
            assert isinstance(answer, Several)
            assert tuple(simulated.method for simulated in answer.answers) == tuple(question.letters.values())
            answers.confirm(
                annotation_store, project, annotator, Confirmation(question.item_number, "simulate", 1, answer)
            )
        shown.append(orders)
    assert all(len(order) == 2 for orders in shown for order in orders)
    assert all(len(orders) > 3 for orders in shown)  # of the 6 orders of 2 of 3 methods
    assert shown[0] != shown[1]


@pytest.mark.parametrize("task", ["simulate", "inspect", "correct"])
def test_all_methods_of_an_item_are_judged_without_their_names(
    annotation_store: Store, make_project: Make, ask: Ask, task: Task
) -> None:
    project = make_project(methods_per_item=3)
    annotator = people.annotator(annotation_store, project.id, "account ")
    question = ask(project, annotator, task)
    data = payload(question, None)
    answer = read_sent(question, SENT[task](data))
    answers.confirm(annotation_store, project, annotator, Confirmation(question.item_number, task, 1, answer))
    (stored,) = answers.latest(annotation_store, question.item_number, annotator)
    assert stored.answer == answer
    sent = json.dumps(payload(question, stored))
    (annotation,) = answers.annotations(annotation_store, project)
    downloaded = json.dumps(annotation_json(without_names(annotation, project)), ensure_ascii=False)
    assert read_sent(question, payload(question, stored)["answered"]) == answer
    for method in (*METHODS, *NARRATORS):
        assert method not in sent
        assert f'"{method}"' not in downloaded
        assert method_name(method) not in sent


def test_a_method_that_comes_late_takes_no_letter_of_another(
    annotation_store: Store, make_project: Make, ask: Ask
) -> None:
    project = make_project(methods_per_item=3)
    question = ask(project, people.annotator(annotation_store, project.id, "account "), "simulate")
    maps = {id: heat_map for id, heat_map in question.prepared.maps.items() if id != "aml"}
    without = replace(question, prepared=replace(question.prepared, maps=maps))
    assert without.letters == {letter: id for letter, id in question.letters.items() if id != "aml"}
    assert without.key != question.key  # the page draws it anew
    assert without.same_as(question)
