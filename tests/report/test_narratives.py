"""The sentences of the narrators, in a document and in a terminal."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from explainers.report.document import document
from explainers.report.narratives import narrative_lines, narratives_section
from explainers.report.terminal import comparison_lines
from explainers.results.comparison import Comparison, Failure
from explainers.results.narrative import Narrative

Compared = Callable[..., Comparison]


@pytest.fixture
def comparison(compared: Compared) -> Comparison:
    return compared("good film")


def narrated(comparison: Comparison, stated: int | None, text: str = "The answer is yes.") -> Comparison:
    return replace(comparison, narratives=(Narrative("cause", text, stated, (), (0,), 0.1),))


def test_a_model_without_narrators_has_no_such_part(comparison: Comparison) -> None:
    assert narratives_section(comparison) == ""
    assert "In words" not in document(comparison)


def test_it_is_stated_whether_the_class_is_the_models(comparison: Comparison) -> None:
    shares = comparison.probabilities
    best, worst = shares.index(max(shares)), shares.index(min(shares))
    labels = comparison.question.model.labels
    assert f"states {labels[best]}, as the model" in narratives_section(narrated(comparison, best))
    (line,) = narrative_lines(narrated(comparison, worst))
    assert f"states {labels[worst]}, not the model's class" in line
    assert "states no class" in narratives_section(narrated(comparison, None))


def test_sentences_are_marked_as_generated_and_their_words_as_derived(comparison: Comparison) -> None:
    page = document(narrated(comparison, 0))
    first = comparison.question.encoding.units[0].text
    assert "CAuSE <small>generated</small>" in page
    assert f"mentions (derived): {first}" in page


def test_generated_text_is_displayed_and_not_interpreted(comparison: Comparison) -> None:
    assert "&lt;script&gt;" in narratives_section(narrated(comparison, 0, "<script>alert(1)</script>"))


def test_a_narrator_that_failed_says_why_and_has_no_card(comparison: Comparison) -> None:
    failed = replace(comparison, failures=(Failure("cause", "The file is damaged."),))
    assert document(failed).count("The file is damaged.") == 1


@pytest.mark.parametrize("method", ["cause_phi", "cause_phi_ts", "cause"])
def test_the_terminal_has_a_line_per_narrator(comparison: Comparison, method: str) -> None:
    changed = replace(comparison, narratives=(Narrative(method, "The answer is no.", 0, (), (), 0.1),))
    assert [
        line for line in comparison_lines(changed) if line.startswith(f"{method:22}") and "The answer is no." in line
    ]
