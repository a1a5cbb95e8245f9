"""The panel of sentences, as data, and what its component may do with it."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from app.compare import narratives as words
from app.compare.engine import Engine
from app.compare.narratives import payload
from app.compare.runs import Request, Run
from app.components import ASSETS
from app.model_pool import ModelPool
from explainers.datasets.example import Example
from explainers.methods.narrator_specs import NARRATORS
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel
from explainers.results.comparison import Failure
from explainers.results.narrative import Narrative
from explainers.results.settings import Settings

Ran = Callable[..., Run]
SENTENCE = "The answer is positive because the films were good."
SCRIPT = "<script>alert(1)</script>"


def narrative(text: str = SENTENCE, stated: int | None = 1, **rest: Any) -> Narrative:
    return Narrative("cause", text, stated, rest.get("read", (0.2, 0.8)), rest.get("mentions", (1, 2)), 0.125)


def card_of(run: Run, *narratives: Narrative) -> dict[str, Any]:
    run.narratives = narratives
    (card,) = payload(run)["cards"]
    result: dict[str, Any] = card
    return result


def test_a_model_without_narrators_shows_nothing(ran: Ran) -> None:
    assert payload(ran())["cards"] == []


def test_the_words_of_the_input_are_linked_in_whatever_form(ran: Ran) -> None:
    card = card_of(ran("a good film but dull"), narrative())
    assert [piece for piece in card["sentence"] if piece[1]] == [("films", [2]), ("good", [1])]
    assert "".join(text for text, _ in card["sentence"]) == SENTENCE
    assert card["mentions"] == [{"text": "good", "units": [1]}, {"text": "film", "units": [2]}]


def test_a_word_that_stands_twice_is_one_chip(ran: Ran) -> None:
    card = card_of(ran("good film good"), narrative(mentions=(0, 1, 2)))
    assert card["mentions"] == [{"text": "good", "units": [0, 2]}, {"text": "film", "units": [1]}]


def test_after_a_word_was_removed_the_others_keep_their_numbers(ran: Ran) -> None:
    card = card_of(ran("a good film but dull", removed=(0,)), narrative(mentions=(0, 1)))
    assert [each["units"] for each in card["mentions"]] == [[1], [2]]


@pytest.mark.parametrize(
    ("stated", "mark", "verdict"),
    [
        (1, "✓", "states positive: agrees with the model"),
        (0, "≠", "states negative: differs from the model, which predicts positive"),
        (None, "–", "states no class"),
    ],
)
def test_the_stated_class_is_compared_in_words(ran: Ran, stated: int | None, mark: str, verdict: str) -> None:
    card = card_of(ran("a good film"), narrative(stated=stated, mentions=()))
    assert (card["mark"], card["verdict"]) == (mark, verdict)


def test_the_class_that_c2_reads_is_named_where_there_is_a_c2(ran: Ran) -> None:
    run = ran("a good film")
    assert card_of(run, narrative(mentions=()))["reading"] == "C2 reads positive, 0.80, as the model"
    assert (
        card_of(run, narrative(mentions=(), read=(0.7, 0.3)))["reading"] == "C2 reads negative, 0.70, unlike the model"
    )
    assert "no second classifier" in card_of(run, narrative(mentions=(), read=()))["reading"]


def test_a_card_has_its_caution_and_every_deviation(ran: Ran) -> None:
    card, spec = card_of(ran(), narrative()), NARRATORS[-1]
    assert (card["name"], card["deviations"], card["foot"]) == (spec.name, list(spec.deviations), "0.12 s")
    assert spec.caution in card["caution"]


def test_a_narrator_that_failed_says_why(ran: Ran) -> None:
    run = ran()
    run.narrator_failures = (Failure("cause", f"Damaged {SCRIPT}."),)
    (card,) = payload(run)["cards"]
    assert (card["status"], card["foot"], card["sentence"]) == ("failed", f"Damaged {SCRIPT}.", [])


@pytest.mark.parametrize(
    "text",
    [f"{SCRIPT} good film", "<img src=x onerror=alert(1)> **good** $film$", "good\x00film \x1b[31m", "فيلم good"],
)
def test_whatever_was_typed_or_generated_stays_text(ran: Ran, text: str) -> None:
    run = ran(text)
    run.narratives = (narrative(f"Because {SCRIPT} & {text}", mentions=tuple(range(len(run.whole.encoding.units)))),)  # type: ignore[union-attr]
    data = payload(run, (f"People {SCRIPT}",))
    assert json.loads(json.dumps(data))["reasons"] == [f"People {SCRIPT}"]
    sentence = "".join(piece for piece, _ in data["cards"][0]["sentence"])
    assert SCRIPT in sentence
    assert "&lt;" not in json.dumps(data)


def test_every_name_that_the_component_reads_is_in_the_data(ran: Ran) -> None:
    source = (ASSETS / "words.js").read_text(encoding="utf-8")
    run = ran()
    card = card_of(run, narrative())
    assert set(re.findall(r"\bcard\.(\w+)", source)) <= set(card)
    assert set(re.findall(r"\bdata\.(\w+)", source)) <= {*payload(run), "time"}


@pytest.mark.usefixtures("narrators")
def test_a_run_of_a_model_with_narrators_has_a_card_for_each_from_the_beginning(
    speaker: FrozenModel, monkeypatch: pytest.MonkeyPatch, over: Callable[[Run], Run]
) -> None:
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: speaker)
    engine = Engine(ModelPool())
    example = Example(f"a good film {SCRIPT}", "the plot was dull")
    run = engine.submit(Request("speaker", example, None, (), Settings()))
    over(run)
    assert run.status == "done", run.error
    cards = payload(run)["cards"]
    assert [(card["name"], card["status"]) for card in cards] == [(spec.name, "done") for spec in NARRATORS]
    assert SCRIPT in "".join(piece for piece, _ in payload(run)["segments"][0])
    run.narratives, run.status = (), "running"
    assert [card["status"] for card in payload(run)["cards"]] == ["waiting"] * 3
    run.status = "stopped"
    assert [card["foot"] for card in payload(run)["cards"]] == ["stopped before it was done"] * 3
    engine.close()


@pytest.mark.usefixtures("narrators")
def test_nothing_is_drawn_without_cards(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words.st, "subheader", lambda *_a, **_k: pytest.fail("an empty panel"))
    words.show(ran())
