"""What the narrators say, in a document and in a terminal."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from explainers.api import Comparison
from explainers.comparison import Failed
from explainers.narrative.narrative import Narrative
from explainers.report import in_words
from explainers.report.document import document
from explainers.report.terminal import lines

Compared = Callable[..., Comparison]


@pytest.fixture
def comparison(compared: Compared) -> Comparison:
    return compared("good film")


def spoken(comparison: Comparison, stated: int | None, text: str = "The answer is yes.") -> Comparison:
    return replace(comparison, narratives=(Narrative("cause", text, stated, (), (0,), 0.1),))


def test_a_model_without_narrators_has_no_such_part(comparison: Comparison) -> None:
    assert in_words.section(comparison) == ""
    assert "In words" not in document(comparison)


def test_it_is_said_whether_the_class_is_the_models(comparison: Comparison) -> None:
    shares = comparison.probabilities
    best, worst = shares.index(max(shares)), shares.index(min(shares))
    labels = comparison.question.model.labels
    assert f"states {labels[best]}, as the model" in in_words.section(spoken(comparison, best))
    assert f"states {labels[worst]}, not the model's class" in "\n".join(in_words.lines(spoken(comparison, worst)))
    assert "states no class" in in_words.section(spoken(comparison, None))


def test_sentences_are_marked_as_generated_and_their_words_as_derived(comparison: Comparison) -> None:
    page = document(spoken(comparison, 0))
    first = comparison.question.encoding.units[0].text
    assert "CAuSE <small>generated</small>" in page
    assert f"mentions (derived): {first}" in page


def test_what_was_generated_is_shown_and_not_obeyed(comparison: Comparison) -> None:
    assert "&lt;script&gt;" in in_words.section(spoken(comparison, 0, "<script>alert(1)</script>"))


def test_a_narrator_that_failed_says_why_and_has_no_card(comparison: Comparison) -> None:
    failed = replace(comparison, failures=(Failed("cause", "The file is damaged."),))
    assert document(failed).count("The file is damaged.") == 1


@pytest.mark.parametrize("method", ["cause_phi", "cause_phi_ts", "cause"])
def test_the_terminal_has_a_line_per_narrator(comparison: Comparison, method: str) -> None:
    said = replace(comparison, narratives=(Narrative(method, "The answer is no.", 0, (), (), 0.1),))
    assert [line for line in lines(said) if line.startswith(f"{method:22}") and "The answer is no." in line]
