"""Which inputs are shown as errors of narrators, and what the page says of them."""

from typing import Any

import pytest

from explainers.narrative.text_metrics import sentence_bleu
from explainers.studies.narratives import error_sections, sentence_errors

LABELS = ("entailment", "neutral", "contradiction")
GIVEN = "the dog runs over the green field today"
SAYS = "The answer is {} because {}."


def record(phi: str, cause: str, predicted: str = "neutral", **changed: Any) -> dict[str, Any]:
    """A dog and a cat, with a reason that people gave, and the sentences of two narrators."""
    texts = {"text": "A dog runs.", "pair": "A cat sleeps.", "pictured": False, "label": "neutral", "people": [GIVEN]}
    return {**texts, "predicted": predicted, "cause_phi": phi, "cause": cause, **changed}


FAR, CLOSE = "the dog is here", "the dog runs over a field"


def test_the_bleu_of_a_sentence_is_1_for_a_given_reason_and_0_without_one() -> None:
    assert sentence_bleu("The dog runs over it", ["a cat", "the dog runs over it"]) == pytest.approx(1)
    assert sentence_bleu("", [GIVEN]) == sentence_bleu("a dog", []) == 0
    assert 0 < sentence_bleu(FAR, [GIVEN]) < sentence_bleu(CLOSE, [GIVEN]) < 1


@pytest.mark.parametrize(
    ("phi", "cause", "is_one"),
    [
        (SAYS.format("entailment", CLOSE), SAYS.format("neutral", FAR), True),
        (SAYS.format("entailment", FAR), SAYS.format("neutral", CLOSE), False),  # the faithful one is closer
        (SAYS.format("neutral", CLOSE), SAYS.format("neutral", FAR), False),  # both state the model's class
        (SAYS.format("entailment", CLOSE), SAYS.format("contradiction", FAR), False),  # neither does
        (SAYS.format("hmm", CLOSE), SAYS.format("neutral", FAR), False),  # no class is no other class
        (SAYS.format("entailment", CLOSE), "The answer is neutral.", False),  # no reason to compare with
        (SAYS.format("entailment", FAR), SAYS.format("neutral", FAR), False),  # equally close
    ],
)
def test_a_trade_off_needs_another_class_and_a_closer_reason(phi: str, cause: str, *, is_one: bool) -> None:
    errors = sentence_errors([record("The answer is neutral.", "Hm."), record(phi, cause)], LABELS)
    assert [(off.number, off.plausible, off.faithful) for off in errors.trade_offs] == (
        [(1, "cause_phi", "cause")] if is_one else []
    )


def test_the_pair_of_narrators_with_the_largest_difference_is_taken() -> None:
    middle = SAYS.format("entailment", "the dog runs over")
    (largest,) = sentence_errors(
        [record(middle, SAYS.format("neutral", FAR), cause_phi_ts=SAYS.format("contradiction", CLOSE))], LABELS
    ).trade_offs
    assert (largest.plausible, largest.faithful) == ("cause_phi_ts", "cause")
    assert largest.closeness == (sentence_bleu(CLOSE, [GIVEN]), sentence_bleu(FAR, [GIVEN]))


def test_by_words_a_reason_is_wrong_if_none_of_its_words_is_in_the_input() -> None:
    elsewhere, own = SAYS.format("neutral", "a man eats neutrally"), SAYS.format("neutral", "dogs may not sleep")
    records = [
        record(elsewhere, own),
        record(elsewhere, elsewhere),
        record(elsewhere, SAYS.format("entailment", "a man eats")),  # of another class
        record("The answer is neutral.", own),  # without a reason
    ]
    errors = sentence_errors(records, LABELS)
    assert not errors.by_rules
    assert errors.class_right.inputs == {"cause_phi": (0, 1, 2), "cause": (0, 1, 3)}
    assert errors.class_right.wrong == {"cause_phi": (0, 1, 2), "cause": (1,)}
    assert errors.class_right.most_often_wrong == [1, 0, 2]  # of both narrators, then in order
    assert errors.shown(2) == [0, 1]


@pytest.mark.parametrize(
    ("true", "on_topic", "counted", "wrong"),
    [
        (True, True, True, False),
        (False, True, True, True),
        (None, True, True, True),
        (True, False, True, True),
        (True, None, False, False),  # the given reasons are about another class
    ],
)
def test_by_rules_a_reason_is_right_if_it_is_true_and_on_topic(
    true: bool | None, on_topic: bool | None, counted: bool, wrong: bool
) -> None:
    sentence = SAYS.format("neutral", "a man eats")
    one = record(sentence, sentence)
    del one["cause"]
    errors = sentence_errors([one | {"true": {"cause_phi": true}, "on_topic": {"cause_phi": on_topic}}], LABELS)
    assert errors.by_rules
    assert ("cause_phi" in errors.class_right.inputs, errors.class_right.wrong_about(0) == ["cause_phi"]) == (
        counted,
        wrong,
    )


def page(records: list[dict[str, Any]]) -> str:
    return error_sections(sentence_errors(records, LABELS), records, ("premise", "hypothesis"), LABELS, "People")


def test_the_page_has_the_rule_the_count_and_at_most_five_of_either_kind() -> None:
    one = record(SAYS.format("entailment", CLOSE), SAYS.format("neutral", "a man | eats"), label="contradiction")
    text = page([record("The answer is neutral.", "Hm."), *[one] * 7])
    first, second = text.split("## The class is right, the reason is not")
    assert "This holds for 7 of 8 inputs. Below, in the order of the test part: the first 5." in first
    assert "higher BLEU-4 of the reason alone" in first
    assert first.count("\n### Input ") == second.count("\n### Input ") == 5
    assert "### Input 2: neutral (the data say contradiction)\n\nPremise: A dog runs.\n\nHypothesis: A cat" in first
    assert f"| φ | **entailment** | {sentence_bleu(CLOSE, [GIVEN]):.3f} | {SAYS.format('entailment', CLOSE)} |" in first
    assert f"People: {GIVEN}" in first
    assert "no content word, class names apart, stands in the text" in second
    assert "| CAuSE + word losses | 7 | 7 |" in second
    assert "| neutral | The answer is neutral because a man \\| eats. |" in second


def test_where_there_are_no_errors_the_page_says_so() -> None:
    text = page([record(SAYS.format("neutral", "dogs"), SAYS.format("neutral", "a cat"))])
    assert text.count("This holds for none of 1 inputs.") == 2
    assert "### " not in text
    checked = record("The answer is neutral.", "Hm.", true={}, on_topic={})
    assert "By the generator's rules" in page([checked])


def test_an_image_has_the_number_of_its_input() -> None:
    text = page([record("Hm.", "Hm."), record(SAYS.format("neutral", "men"), "Hm.", pictured=True, pair=None)])
    assert "### Input 2: neutral\n\n![the image](examples/2.png)" in text
