"""What stands below a figure, and the miniatures of the list."""

import base64
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from app.compare.stored_results import stored_answer
from app.reading.live import address, whose_answer
from app.reading.observed import expectation_sentence, figure_sentences
from app.reading.story import Expectation, LiveExample, request_of, stories
from app.reading.view import miniature, story_miniature
from explainers.comparison.answer import answered
from explainers.results.comparison import Comparison

STATE = LiveExample("sst2", ("aml", "lime", "random"), example="Mixed feelings")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """AML with an AOPC-C of 0.25 and LIME with 0.75, neither of them noisy."""
    answer = stored_answer(request_of(STATE))
    assert answer is not None
    whole, values = answer.result.comparison, {"aml": 0.25, "lime": 0.75}
    results = [
        replace(result, metrics={**result.metrics, "aopc_c": values[result.attribution.method]}, noise={})
        if result.attribution.method in values
        else result
        for result in whole.results
    ]
    return replace(whole, results=tuple(results))


@pytest.mark.parametrize(
    ("above", "below", "end"),
    [
        ("lime", "aml", "0.750 against 0.250, as expected."),
        ("aml", "lime", "0.250 against 0.750, the opposite."),
        ("aml", "aml", "0.250 against 0.250, level."),
    ],
)
def test_a_figure_says_whether_it_shows_what_its_text_expects(
    comparison: Comparison, above: str, below: str, end: str
) -> None:
    expected = Expectation("one is larger", f"metric/{above}/aopc_c", f"metric/{below}/aopc_c")
    assert expectation_sentence(comparison, expected) == f"Expected: one is larger. Here: {end}"


def test_the_sentence_names_the_highest_and_the_lowest_of_the_methods_of_the_step(comparison: Comparison) -> None:
    sentence = figure_sentences(comparison, STATE)[0]
    assert sentence.startswith(
        "LIME has the highest AOPC-C here, 0.750, and AML the lowest, 0.250; random orders have "
    )


def test_what_the_answer_says_of_methods_is_said_of_those_of_the_step(comparison: Comparison) -> None:
    answer = answered(comparison, finished=True).answer
    assert answer is not None
    assert len(answer.order) > 6
    shown = replace(
        answer,
        supported=("aml", "lime"),
        differs=(("cimi", (1,)),),
        random=("ivra", "occlusion", "random"),
        single="cimi",
    )
    text = " ".join(figure_sentences(replace(comparison, answer=shown), STATE))
    assert f"By the consensus of {answer.compared} methods: “" in text
    assert "here: AML, LIME. Not shown to be better than random: IvRA. Not tested, because IvRA" in text
    assert "IvRA, tested before, failed: Random." in text
    assert "CIMI" not in text
    assert "Occlusion" not in text


def test_an_answer_of_methods_beyond_the_step_is_not_called_that_of_the_step(comparison: Comparison) -> None:
    answer = answered(comparison, finished=True).answer
    assert answer is not None
    assert answer.compared > len(STATE.methods)
    assert whose_answer(answer, STATE) == f"From {answer.compared} methods, also those that this step does not show."
    own = replace(answer, compared=2, members=STATE.methods[:2])
    assert whose_answer(own, STATE) == (
        "From 2 methods of this step. Compare uses more methods, so its answer may differ."
    )
    assert whose_answer(replace(own, compared=0, members=()), STATE) == ""


def test_the_address_asks_about_the_input_of_the_step() -> None:
    assert address(STATE) == {"model": "sst2", "example": "Mixed feelings"}
    own = LiveExample("nli", text="a", pair="b", label="neutral", erasure="zero")
    assert address(own, (0, 3))["removed"] == "0.3"
    assert address(own) == {"model": "nli", "text": "a", "pair": "b", "class": "neutral", "erase": "zero"}


def test_a_miniature_has_a_line_for_each_method_and_one_for_random_orders(comparison: Comparison) -> None:
    data = miniature(comparison, STATE.methods).partition("base64,")[2].partition('"')[0]
    drawn = ElementTree.fromstring(base64.b64decode(data))
    assert [child.tag.partition("}")[2] for child in drawn[1]] == 3 * ["polyline"]


def test_every_story_has_a_miniature() -> None:
    assert all(story_miniature(story) for story in stories())
