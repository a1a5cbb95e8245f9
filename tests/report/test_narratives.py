"""The sentences of the narrators, in a document and in a terminal."""

from collections.abc import Callable
from dataclasses import replace
from html import escape

import pytest

from explainers.report.document import document
from explainers.report.narratives import NO_CLASS, applicable_records, narrative_lines, narratives_section
from explainers.report.narrator_overview import TrackRecord
from explainers.report.terminal import comparison_lines
from explainers.results.comparison import Comparison
from explainers.results.events import NO_WORD, Failure, Narrative, NarrativeCheck

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
    labels = comparison.decision.card.labels
    section = narratives_section(narrated(comparison, best))
    assert f"names the model&#x27;s class: <b>yes</b> <small>The sentence states {labels[best]}" in section
    verdict, _, line, *_ = narrative_lines(narrated(comparison, worst))
    assert verdict == NO_CLASS  # nothing is waited for
    assert line.strip() == (
        f"names the model's class: no. The sentence states {labels[worst]}; the model predicts {labels[best]}."
    )
    assert "names the model&#x27;s class: <b>names none</b>" in narratives_section(narrated(comparison, None))


def test_a_document_and_a_terminal_tell_the_same_three_things(comparison: Comparison) -> None:
    check = NarrativeCheck("cause", False, "the image shows 1 of them", True, "", 0.95, 0.41, (0.9, 0.91))
    checked = replace(narrated(comparison, None), narrative_checks=(check,))
    page, lines = narratives_section(checked), [line.strip() for line in narrative_lines(checked)][2:]
    assert lines[1:] == [
        "true of the input: no. The image shows 1 of them. Checked by the generator's rules.",
        f"used by the model: yes. p({checked.decision.card.labels[checked.predicted]}) without the named words: "
        "0.95 → 0.41; without as many random words 0.91 on average, 0.90 at the lowest.",
    ]
    for line in lines:
        question, _, rest = line.partition(": ")
        answer, _, detail = rest.partition(". ")
        assert f"{escape(question)}: <b>{answer}</b> <small>{escape(detail)}</small>" in page


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (NarrativeCheck("cause", use_note=NO_WORD), "names no word. The sentence names no word of the input."),
        (NarrativeCheck("cause", use_note="There is not enough memory."), "not checked. There is not enough memory."),
        (NarrativeCheck("cause", use_note="it is short", full=0.9, removed=0.0), "0.90 → 0.00. It is short."),
        (NarrativeCheck("cause", used=False, full=0.0, removed=0.0, random_removed=(0.0,)), "no. p("),
    ],
)
def test_why_nothing_can_be_said_about_the_use(comparison: Comparison, check: NarrativeCheck, answer: str) -> None:
    *_, line = narrative_lines(replace(narrated(comparison, None), narrative_checks=(check,)))
    assert answer in line


def test_the_best_supported_sentence_comes_first(comparison: Comparison) -> None:
    check = NarrativeCheck("cause", True, "the image shows 2 of them", True, "", 0.95, 0.41, (0.9, 0.91))
    checked = replace(narrated(comparison, comparison.predicted), narrative_checks=(check,))
    verdict, *_ = narrative_lines(checked)
    assert verdict.startswith("Best supported: CAuSE + word losses. It names the model's class and is true of the")
    assert f"<h2>In words</h2><p>{escape(verdict)}</p>" in narratives_section(checked)


def test_a_record_says_nothing_of_another_kind_of_input_nor_of_a_sentence_without_a_reason(
    comparison: Comparison,
) -> None:
    record, encoding = TrackRecord("93 %", "Of 300 …", 0.93), comparison.decision.encoding
    texts = {"cause": "The answer is yes because the film is good.", "cause_phi": "The answer is yes."}
    narratives = [Narrative(method, text, 0, (), (), 0.1) for method, text in texts.items()]
    records = dict.fromkeys(texts, record)
    assert applicable_records(records, encoding, narratives) == {"cause": record, "cause_phi": None}
    unlike = replace(encoding, unlike_training=True)
    assert applicable_records(records, unlike, narratives) == {"cause": None, "cause_phi": None}


def test_equal_sentences_stand_once_with_all_names(comparison: Comparison) -> None:
    sentences = {"cause_phi": "The answer is yes.", "cause_phi_ts": "The answer is no.", "cause": "The answer is yes."}
    narratives = tuple(Narrative(method, text, 0, (), (), 0.1) for method, text in sentences.items())
    page = narratives_section(replace(comparison, narratives=narratives))
    assert page.count("The answer is yes.") == page.count("The answer is no.") == 1
    assert page.index("<dt>φ and CAuSE + word losses ") < page.index("<dt>φ + TS ")


def test_sentences_are_marked_as_generated_and_their_words_as_derived(comparison: Comparison) -> None:
    page = document(narrated(comparison, 0))
    first = comparison.decision.encoding.units[0].text
    assert "CAuSE + word losses <small>generated</small>" in page
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
