"""What of a long input the head of the page shows."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.compare import answer_head, score_sheet
from app.compare.answer_head import LONG
from app.compare.runs import Run, answer_of
from app.compare.score_sheet import AROUND, excerpt
from explainers.results.answer import Answer

NEUTRAL = "The film goes on and on. "
BEFORE, AFTER = NEUTRAL * 20, NEUTRAL * 30


def text_of(pieces: list[tuple[str, int]]) -> str:
    return "".join(text for text, _ in pieces)


def test_what_is_marked_stands_at_the_beginning_with_a_few_words_around_it() -> None:
    pieces = [(BEFORE, 0), ("It is dull.", 1), (f" {AFTER}", 2), ("Bad.", 3), (f" {AFTER}", 4)]
    shown = excerpt(pieces, {1, 3})
    text = text_of(shown)
    assert text.startswith("… ")
    assert text.endswith(" …")
    assert ("It is dull.", 1) in shown
    assert ("Bad.", 3) in shown
    assert text.index("It is dull.") <= AROUND + 2
    assert len(text) <= 4 * AROUND + 40
    assert set(text.replace("…", "").split()) <= set(text_of(pieces).split())  # no word is cut


def test_what_is_short_between_marks_stays_whole() -> None:
    pieces = [("Dull.", 0), (" A short one. ", 1), ("Bad.", 2), (f" {AFTER}", 3)]
    assert excerpt(pieces, {0, 2})[:3] == pieces[:3]


def test_of_a_text_without_marks_the_beginning_is_shown() -> None:
    (start, dots) = excerpt([(AFTER, 0)], {7})
    assert AFTER.startswith(start[0])
    assert dots == (" …", -1)


def test_a_text_without_spaces_is_cut_too() -> None:
    text = text_of(excerpt([("片" * 500, 0), ("坏。", 1)], {1}))
    assert text == f"… {'片' * AROUND}坏。"


def test_the_decisive_sentence_of_a_long_text_is_not_below_the_end_of_its_card(ran: Callable[..., Run]) -> None:
    sentences = [f"The film number {number} was good and not bad." for number in range(40)]
    run = ran(" ".join(sentences))
    settings = replace(run.request.settings, unit="sentence")
    assert settings.unit == "sentence"
    units = run.whole.encoding.units if run.whole is not None else ()
    last = len(units) - 1
    answer = replace(answer_of(run), status="supported", words=(last,), refusal="")
    html = answer_head.markup(run, run, answer)
    shown = html.partition('class="answer-text">')[2].partition("</div></div>")[0]
    assert "<mark>" in shown
    assert len(shown) < LONG
    assert "number 0 " not in shown
    whole = answer_head.markup(run, run, Answer("pending"))
    assert "number 0 " in whole.partition('class="answer-text">')[2]  # before there is an answer


@pytest.mark.parametrize("provisional", [False, True])
def test_words_that_are_named_are_marked_also_where_nothing_is_decided(
    ran: Callable[..., Run], *, provisional: bool
) -> None:
    run = ran("a good film but dull and very bad plot not")
    answer = replace(answer_of(run), status="open", words=(1,), refusal="", p=0.5, orders=19, provisional=provisional)
    html = answer_head.markup(run, run, answer)
    assert "“good”" in html
    assert 'class="answer-input undecided"' in html
    assert "<mark>good</mark>" in html
    refused = answer_head.markup(run, run, replace(answer, refusal="The input has 3 words."))
    assert ("“good”" in refused, "<mark>" in refused) == (False, False)
    decided = answer_head.markup(run, run, replace(answer, status="supported"))
    assert 'class="answer-input">' in decided
    assert 'title="The word that stands first in the mean rank of the compared methods.' in decided
    assert "stands first in the mean rank" not in html


def test_an_answer_that_more_methods_may_change_is_so_far(ran: Callable[..., Run]) -> None:
    run = ran("a good film but dull and very bad plot not")
    answer = replace(answer_of(run), status="supported", words=(1,), refusal="", p=0.05, provisional=True)
    assert ">So far, “good” " in answer_head.markup(run, run, answer)
    assert "So far" not in answer_head.markup(run, run, replace(answer, provisional=False))


def test_only_an_operator_that_may_answer_otherwise_is_offered(ran: Callable[..., Run]) -> None:
    run = ran("a good film but dull and very bad plot not")
    answer = replace(answer_of(run), status="supported", p=0.05, holds=(("delete", True), ("zero", False)))
    assert answer_head.other_erasures(answer, run.comparison()) == ["zero"]
    assert answer_head.other_erasures(replace(answer, holds=()), run.comparison()) == ["delete", "zero"]
    assert answer_head.other_erasures(replace(answer, p=None), run.comparison()) == []


def test_the_sheet_is_told_of_the_first_decisive_unit(ran: Callable[..., Run]) -> None:
    run = ran("a good film but dull and very bad plot not")
    assert run.current is not None
    answer = replace(answer_of(run), status="supported", words=(5, 3))
    run.current = replace(run.current, answer=answer)
    assert score_sheet.first_decisive(run) == 3
    run.current = replace(run.current, answer=replace(answer, status="open"))
    assert score_sheet.first_decisive(run) == -1


def test_what_leads_so_far_stays_while_the_rest_is_computed(ran: Callable[..., Run]) -> None:
    earlier, again = (
        ran("a good film but dull and very bad plot not"),
        ran("a good film but dull and very bad plot not"),
    )
    assert earlier.current is not None
    leads = replace(answer_of(earlier), status="open", words=(5, 3), provisional=True, p=None, orders=0, exact=False)
    assert leads.leading
    earlier.current = replace(earlier.current, answer=leads)
    again.current, again.earlier, again.status = None, earlier, "running"
    assert answer_head.shown_answer(again) == (earlier, leads)
    again.request = replace(again.request, label="negative")
    assert answer_head.shown_answer(again)[0] is again


def test_the_first_bar_says_what_its_probability_is(ran: Callable[..., Run]) -> None:
    of_class, contrast = ran(), ran(label="positive", versus="negative")
    assert "p(positive) of the input" in answer_head.markup(of_class, of_class, answer_of(of_class))
    meaning = "p(positive) / (p(positive) + p(negative)) of the input"
    assert meaning in answer_head.markup(contrast, contrast, answer_of(contrast))
