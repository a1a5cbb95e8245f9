"""Long texts on the page: sentences first, then the words of those that matter."""

from collections.abc import Callable

import pytest

from app.compare import units
from explainers.models.inputs.words import pieces_of
from tests.pages.conftest import Page

pytestmark = pytest.mark.usefixtures("small", "own_engine")
Opened = Callable[..., Page]
TEXT = (
    "The film was good. The plot was bad! A very good film, but a dull plot. Was the film not dull? Very bad. Not good."
)


@pytest.fixture(autouse=True)
def shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small model reads 64 tokens."""
    monkeypatch.setattr(units, "LONG", 20)


def chips(page: Page) -> list[str]:
    return [text for text, unit in page.sheet["segments"][0] if unit != -1]


def test_a_long_text_is_explained_by_its_sentences(opened: Opened) -> None:
    page = opened(text=TEXT).settle()
    assert len(chips(page)) == 6
    assert chips(page)[3] == "Was the film not dull?"
    assert "unit" not in page.address
    page.choose("unit", "word")
    assert len(chips(page)) > 20


def test_the_sentences_that_carry_the_decision_are_opened_and_closed(opened: Opened) -> None:
    page = opened(text=TEXT).settle()
    assert page.state.run.current is not None
    page.press("answer open").settle()
    sentences = page.state.controls.opened
    assert sentences
    assert page.address["opened"] in (".".join(map(str, sentences)), [".".join(map(str, sentences))])
    assert len(chips(page)) > 6
    assert page.state.run.request.settings.opened == sentences
    page.press("answer close").settle()
    assert page.state.controls.opened == ()
    assert len(chips(page)) == 6


def test_sentences_of_the_address_are_opened_and_an_unknown_one_is_a_sentence(opened: Opened) -> None:
    page = opened(text=TEXT, opened="3").settle()
    assert "dull" in chips(page)
    page = opened(text=TEXT, opened="3.17").settle()
    assert any("17" in sentence for sentence in page.plain("warning"))
    assert page.state.run.request.settings.opened == (3,)


def test_there_is_nothing_to_open_among_words(opened: Opened) -> None:
    page = opened(text="the film was good", opened="99").settle()
    assert page.state.controls.opened == ()
    assert "opened" not in page.address


def test_another_text_closes_all_sentences(opened: Opened) -> None:
    page = opened(text=TEXT, opened="3").settle()
    page.write(TEXT + " The end was good.")
    assert page.state.controls.opened == ()
    assert len(chips(page)) == 7


def test_marks_are_of_the_units_that_were_marked(opened: Opened) -> None:
    page = opened(text=TEXT, guess="first").settle()
    about = page.state.guess.about
    page.choose("opened", [0])
    assert page.state.guess.about != about
    assert page.state.guess.marked == ()


def test_a_removed_sentence_and_an_opened_one_go_together(opened: Opened) -> None:
    page = opened(text=TEXT).settle().remove(0)
    assert page.sheet["removed"] == [0]
    page.choose("opened", [1])
    assert page.sheet["removed"] == []  # numbers of units mean others now


LONG_FIRST = f"The film was {'very ' * 110}good, not bad. {TEXT}"  # the first sentence is cut into pieces


def test_an_address_from_before_long_sentences_were_cut_opens_the_sentence_that_it_means(opened: Opened) -> None:
    page = opened(text=LONG_FIRST, opened="4", unit="sentence").settle()  # "Was the film not dull?"
    pieces = len(pieces_of([LONG_FIRST])[0])
    assert pieces > 1
    assert page.state.controls.opened == (4 + pieces - 1,)
    assert page.address["sentences"] in (str(6 + pieces), [str(6 + pieces)])
    assert page.state.problems == {}
    assert opened(text=LONG_FIRST, opened="0", unit="sentence").settle().state.controls.opened == tuple(range(pieces))


def test_an_address_that_says_how_the_text_was_cut_is_taken_by_its_word(opened: Opened) -> None:
    count = sum(map(len, pieces_of([LONG_FIRST])))
    page = opened(text=LONG_FIRST, opened="4", unit="sentence", sentences=str(count)).settle()
    assert page.state.controls.opened == (4,)
    page = opened(text=LONG_FIRST, opened="4", unit="sentence", sentences=str(count + 3)).settle()
    assert page.state.controls.opened == ()
    assert f"cut into {count + 3} sentences; today there are {count}." in page.state.problems["opened"]
    assert page.state.problems["opened"] in page.plain("warning")


def test_removed_units_beside_opened_sentences_that_were_cut_otherwise_are_not_guessed(opened: Opened) -> None:
    page = opened(text=LONG_FIRST, opened="4", removed="1", unit="sentence").settle()
    assert (page.state.controls.opened, page.state.controls.removed) == ((), ())
    assert "Choose them again" in page.state.problems["opened"]
    page = opened(text=LONG_FIRST, removed="1", unit="sentence").settle()
    assert page.state.controls.removed == (len(pieces_of([LONG_FIRST])[0]),)
