"""The stories that come with the project: they can be read, name what exists, and say what the files say."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from app.compare.stored_results import curated_examples, example_of
from app.reading.observed import OBSERVERS, is_observed
from app.reading.steps import is_stored, our_number, outcome
from app.reading.story import (
    FILE,
    FOLDER,
    ORDER,
    LiveExample,
    Step,
    Story,
    StoryUnreadable,
    example_of_state,
    read_story,
    request_of,
    stories,
)
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS, base_id, method_spec
from explainers.models.bundle_cards import BUNDLES, bundle_names, read_card
from explainers.report.quantities import PLACEHOLDER, filled, stored_quantity
from explainers.training.artifacts import available_artifacts

PAPERS = ("aml", "cimi", "ciem", "ivra", "cause")
COMMANDS = """alpha Big big Bigg cos dots Delta epsilon eta ell frac ge hat lambda ldots le log mathbb mathbf mathcal
mathrm max mid min mu odot omega phi prime psi Psi qquad quad setminus sigma sum tau text theta tilde times top cdot sim
xi % { } | , ! ;"""  # what KaTeX draws and the stories use
KATEX = set(COMMANDS.split())

SENSITIVE = re.compile(r"--sensitive (\d+)")

every_story = pytest.mark.parametrize("story", stories(), ids=lambda story: story.id)
STEPS = [pytest.param(step, id=f"{story.id} {at}") for story in stories() for at, step in enumerate(story.steps, 1)]


def texts(value: object) -> Iterator[str]:
    """Every text in a story."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from texts(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from texts(getattr(value, field.name))


def states(story: Story) -> list[LiveExample]:
    return [step.state for step in story.steps if step.state is not None]


def test_all_seven_stories_are_there() -> None:
    assert tuple(story.id for story in stories()) == ORDER
    assert {path.parent.name for path in FOLDER.glob(f"*/{FILE}")} == set(ORDER)


@every_story
def test_a_story_has_all_that_a_reading_needs(story: Story) -> None:
    kinds = [step.kind for step in story.steps]
    assert all(step.notes for step in story.steps)
    assert kinds[0] == "claim"
    assert kinds[-1] == "discussion"
    assert len(story.steps[-1].questions) in (2, 3)
    if story.id in PAPERS:
        assert 7 <= len(kinds) <= 10
        assert set(kinds) == {"claim", "equation", "live", "bet", "break", "table", "discussion"}


@every_story
def test_every_name_of_an_input_exists(story: Story) -> None:
    for state in states(story):
        assert state.model in bundle_names()
        example = example_of_state(state)
        assert bool(example.image) == bool(read_card(BUNDLES / state.model).get("pictures"))
        version = str(read_card(BUNDLES / state.model)["sha256"])[:12]
        shipped = {f"{artifact.method}:{artifact.variant}" for artifact in available_artifacts(state.model, version)}
        for method in (*state.methods, *filter(None, [state.reversed]), *state.duel):
            assert base_id(method) in METHODS.ids
            assert method in state.methods
            assert ":" not in method or method in shipped
            assert not method_spec(method).learns or version
        fitted = {artifact.method for artifact in available_artifacts(state.model, version, "narrative")}
        assert set(state.narrators) <= fitted <= set(NARRATORS.ids)
        assert len(state.duel) == (2 if "duel" in state.show else 0)
        assert bool(state.narrators) == ("sentences" in state.show)


@every_story
def test_every_number_of_ours_is_one_of_the_files(story: Story) -> None:
    for text in texts(story):
        assert "[[" not in filled(text)
    for step in story.steps:
        for row in step.table.rows if step.table else ():
            assert all(re.match(r"−?[0-9]", our_number(name)) for name in row.ours if name)


@every_story
def test_no_number_of_ours_is_written_by_hand(story: Story) -> None:
    """What explains a finding or an answer about our models has no decimals but those of the files."""
    explained = [finding.because for step in story.steps for finding in (step.table.findings if step.table else ())]
    explained += [step.bet.because for step in story.steps if step.bet]
    for text in explained:
        assert re.findall(r"[0-9]\.[0-9]", PLACEHOLDER.sub("", text)) == []


def test_so_many_inputs_as_the_stories_say_were_measured() -> None:
    sst2 = json.loads((BUNDLES / "sst2" / "evaluation.json").read_text(encoding="utf-8"))
    measured = {sst2["data"]["texts"], *SENSITIVE.findall(sst2["command"])}
    nli, scenes = (
        json.loads((BUNDLES / model / "narrative" / "evaluation.json").read_text(encoding="utf-8"))["data"]
        for model in ("nli", "scenes")
    )
    everything = "\n".join(text for story in stories() for text in texts(story))
    assert {int(count) for count in re.findall(r"(?<!-)\b(\d+) sentences", everything)} == {int(n) for n in measured}
    assert {int(count) for count in re.findall(r"(\d+) pairs", everything)} == {nli["pairs"]}
    judged = [int(count.replace(",", "")) for count in re.findall(r"([\d,]+) test images", everything)]
    assert set(judged) == {scenes["reasons"]}


@every_story
def test_what_is_said_of_a_claim_is_what_the_files_say(story: Story) -> None:
    for step in story.steps:
        for finding in step.table.findings if step.table else ():
            assert outcome(finding) == finding.outcome, finding.claim


def test_what_five_answers_says_about_the_operators_is_what_was_measured() -> None:
    four = ("aml", "cimi", "ciem", "ivra")
    by_erasure = {
        erasure: sorted(four, key=lambda method: -stored_quantity(f"evaluation/sst2/{erasure}/{method}/aopc_c"))
        for erasure in ("mask", "delete", "zero")
    }
    assert {(order[0], order[-1]) for order in by_erasure.values()} == {("aml", "ivra")}
    assert by_erasure["mask"][1:3] == by_erasure["delete"][2:0:-1]  # CIMI and CIEM change places


@pytest.mark.parametrize("story", [story for story in stories() if story.id in PAPERS], ids=lambda story: story.id)
def test_every_table_has_something_that_was_not_fully_replicated(story: Story) -> None:
    """None of the papers was replicated in everything, and a story says so."""
    outcomes = [finding.outcome for step in story.steps for finding in (step.table.findings if step.table else ())]
    assert len(outcomes) >= 3
    assert set(outcomes) & {"partly", "not"}


@every_story
def test_every_bet_names_numbers_that_exist(story: Story) -> None:
    for step in story.steps:
        if step.bet is None:
            continue
        assert step.state is not None
        assert 2 <= len(step.bet.choices) <= 4
        for name in filter(None, [step.bet.quantity, *(choice.quantity for choice in step.bet.choices)]):
            if not is_observed(name):
                assert our_number(name)
                continue
            kind, *rest = name.split("/")
            assert kind in OBSERVERS
            known = (*step.state.methods, *step.state.narrators, "20", *(metric for metric in ("aopc_c", "aopc_s")))
            assert all(part in known for part in rest), name


@every_story
def test_no_bet_is_on_numbers_that_an_earlier_step_has_shown(story: Story) -> None:
    for at, step in enumerate(story.steps):
        state = step.state
        if step.bet is None or state is None or is_stored(step.bet):
            continue
        earlier = [before.state for before in story.steps[:at] if before.state is not None]
        assert (state.model, state.example, state.text) not in [(s.model, s.example, s.text) for s in earlier]


@every_story
def test_ranges_leave_no_gap_and_do_not_overlap(story: Story) -> None:
    for bet in [step.bet for step in story.steps if step.bet is not None and step.bet.pick == "range"]:
        ranges = sorted((choice.at_least, choice.below) for choice in bet.choices)
        assert ranges[0][0] == float("-inf")
        assert ranges[-1][1] == float("inf")
        assert all(one[1] == other[0] for one, other in pairwise(ranges))


@every_story
def test_equations_are_what_katex_draws(story: Story) -> None:
    equations = [equation for step in story.steps for equation in step.equations]
    formulas = [
        latex for equation in equations for latex in (equation.formula, *(symbol.symbol for symbol in equation.symbols))
    ]
    for latex in formulas:
        assert set(re.findall(r"\\([a-zA-Z]+|.)", latex)) <= KATEX, latex
        plain = re.sub(r"\\[{}|]", "", latex)
        assert depth_of(plain) == 0, latex
        assert len(re.findall(r"\\(?:big|Big)", latex)) % 2 == 0, latex
        assert "$" not in latex
    assert all(equation.symbols for equation in equations)


def depth_of(latex: str) -> int:
    """Open braces at the end; -1 where one is closed too early."""
    depth = 0
    for letter in latex:
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            return -1
    return depth


@pytest.mark.parametrize("step", STEPS)
def test_a_step_can_be_asked(step: Step) -> None:
    if step.state is not None:
        request = request_of(step.state)
        assert request.methods[: len(step.state.methods)] == step.state.methods
        assert request.settings.erasure == step.state.erasure


def test_a_curated_example_is_asked_without_its_answer() -> None:
    """As on the Compare page, so that stored results fit."""
    curated = next(example for example in curated_examples() if example.model == "scenes")
    example = example_of_state(LiveExample("scenes", example=curated.title))
    assert (example.text, example.image) == (curated.text, example_of(curated).image)
    assert (example.label, example.explanations, example.evidence) == (None, (), None)


def test_an_example_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ExplanationError, match="no example 'Gone' for the model 'sst2'"):
        example_of_state(LiveExample("sst2", example="Gone"))


SOUND = """
title = "A"
source = "B"
minutes = 5
summary = "C"
[[steps]]
kind = "claim"
title = "D"
text = "E"
"""


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "own").mkdir()
    path = tmp_path / "own" / FILE
    path.write_text(text, encoding="utf-8")
    return path


def test_a_sound_story_is_read(tmp_path: Path) -> None:
    story = read_story(written(tmp_path, SOUND))
    assert (story.id, story.minutes, story.steps[0].title) == ("own", 5, "D")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (SOUND.replace('"claim"', '"joke"'), "own/story.toml: The field steps.0.kind must be 'claim', "),
        (SOUND.replace("minutes = 5", 'minutes = "5"'), "The field minutes must be a whole number, not '5'"),
        (SOUND.replace("minutes = 5", "minutes = true"), "The field minutes must be a whole number, not True"),
        (SOUND.replace('title = "A"', ""), "own/story.toml: The field title is missing"),
        (SOUND + "colour = 1", "There is no field steps.0.colour"),
        (SOUND + "bet = 1", "The field steps.0.bet must be an object, not 1"),
        (SOUND.replace('"claim"', '"bet"'), "steps.0: a step of the kind 'bet' needs the field 'bet'"),
        (SOUND + '[steps.state]\nmodel = "sst2"', "steps.0.state needs an example or a text, and not both"),
        (SOUND.partition("[[")[0] + "steps = []", "own/story.toml: the story has no steps"),
        (SOUND.partition("[[")[0] + "steps = 1", "The field steps must be a list, not 1"),
        (SOUND.partition("[[")[0] + "steps = [1]", "The field steps.0 must be an object, not 1"),
        ("title = ", "own/story.toml cannot be read: Invalid value"),
    ],
)
def test_a_fault_is_said_with_file_and_field(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(StoryUnreadable, match=sentence):
        read_story(written(tmp_path, text))


def test_a_table_with_a_number_too_few_is_refused(tmp_path: Path) -> None:
    table = '[steps.table]\nsource = ""\nours = ""\ncolumns = ["x", "y"]\nfindings = []\n'
    rows = 'rows = [{ name = "AML", paper = ["1"], ours = ["", ""] }]'
    with pytest.raises(StoryUnreadable, match=r"the row 'AML' has not one number for each column"):
        read_story(written(tmp_path, SOUND + table + rows))


def test_a_bet_on_a_range_needs_its_quantity(tmp_path: Path) -> None:
    bet = '[steps.bet]\nquestion = ""\npick = "range"\nchoices = []\nbecause = ""'
    with pytest.raises(StoryUnreadable, match="a bet on a range needs the field 'quantity'"):
        read_story(written(tmp_path, SOUND + bet))
