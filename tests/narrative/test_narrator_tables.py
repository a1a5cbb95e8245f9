from typing import Any

from explainers.methods.narrator_specs import narrator_spec
from explainers.report.narrator_overview import unselected_sentences
from explainers.report.narrator_tables import (
    COLUMNS,
    TEXTS,
    examples_page,
    narrator_cells,
    narrator_markdown,
    sentence_markdown,
    truth_markdown,
)
from explainers.report.tables import plus_minus

CAUSE = narrator_spec("cause").name
FIGURE = {"mean": 0.5, "low": 0.4, "high": 0.62}


def row(method: str, **changed: Any) -> dict[str, Any]:
    figures = {name: FIGURE for name, _ in COLUMNS}
    gains = {name: {"mean": 0.1, "low": -0.05, "high": 0.25} for name in ("composite_gain", "agreement_gain")}
    texts = {name: 0.25 for name, _ in TEXTS}
    return {"method": method, **figures, **gains, **texts, "constraint_met": {"mean": 0.875}, **changed}


def test_an_interval_is_shown_as_half_its_width() -> None:
    assert plus_minus()(FIGURE) == "0.500 ± 0.110"


def test_a_narrator_without_c2_has_no_figure_of_it() -> None:
    phi = row("cause_phi")
    del phi["ccmr_c2"]
    first, second = narrator_cells([phi, row("cause")])
    assert (first["method"], first["CCMR read by C2 ↑"]) == ("φ", "–")
    assert second["CCMR read by C2 ↑"] == "0.500 ± 0.110"
    assert (second["words"], second["BLEU-4 ↑"]) == ("0.2", "0.250")


def test_ccmr_never_stands_without_the_share_that_states_a_class() -> None:
    header = narrator_markdown([row("cause_phi")]).splitlines()[0]
    assert "CCMR ↑ | of counterfactuals, states a class ↑ | composite ↑" in header
    assert "agreement F1 ↑ | states a class ↑" in header


def test_the_truth_of_reasons_has_a_table_only_where_it_was_checked() -> None:
    assert truth_markdown([row("cause_phi")]) == ""
    assert "cannot be told" not in narrator_markdown([row("cause_phi")])
    earlier = row("cause_phi", reason_true=FIGURE, reason_undecided=FIGURE, reason_true_of_other=FIGURE)
    table = truth_markdown([earlier])
    assert table in narrator_markdown([earlier])
    assert "on topic" not in table
    assert table.splitlines()[-1] == "| φ | 0.500 ± 0.110 | 0.500 ± 0.110 | 0.500 ± 0.110 |"


def test_right_reasons_stand_beside_true_ones_and_by_class() -> None:
    checked = row("cause", reason_true=FIGURE, reason_on_topic=FIGURE, reason_right=FIGURE, reason_right_neutral=FIGURE)
    header = truth_markdown([checked]).splitlines()[0]
    assert header == (
        "| method | reason true of the input ↑ | on topic ↑ | right: true and on topic ↑ | right: neutral |"
    )


GIVEN = {"method": "given_reason", "name": "people's reason", "own_words": FIGURE, "bleu_4": None, "distinct_1": 0.5}


def test_what_narrators_are_compared_with_stands_below_them_with_a_dash_for_what_it_lacks() -> None:
    measured = row("cause", own_words=FIGURE, distinct_per_100=42.25, word_effect=FIGURE)
    words, use = sentence_markdown([measured], [GIVEN])
    assert words.splitlines()[-2:] == [f"| {CAUSE} | 0.500 ± 0.110 | 42.2 |", "| people's reason | 0.500 ± 0.110 | – |"]
    assert use.splitlines()[-2:] == [f"| {CAUSE} | +0.500 [+0.400, +0.620] |", "| people's reason | – |"]
    baseline = {**GIVEN, **{name: 0.25 for name, _ in TEXTS}, "bleu_4": None}
    texts = narrator_markdown([measured], [baseline]).split("\n\n")[1]
    assert texts.splitlines()[-1].startswith("| people's reason | 0.250 | 0.250 | – |")
    assert sentence_markdown([row("cause")]) == []


def test_the_card_shows_every_example_of_the_narrator_that_is_right_most_often() -> None:
    rows = [row("cause_phi", reason_right=FIGURE), row("cause", reason_right={**FIGURE, "mean": 0.6})]
    examples = [
        shown(true={"cause": True}, on_topic={"cause": True}),
        shown(true={"cause": None}, on_topic={"cause": True}),
        shown(true={"cause": True}, on_topic={"cause": None}, pair=None, pictured=True),
    ]
    title, table = unselected_sentences(rows, examples)
    assert f"the sentences of {CAUSE}, which scores highest by right reasons" in title
    assert [line.split(" | ")[2] for line in table.splitlines()[2:]] == ["yes", "no", "–"]
    assert "| A dog runs. → A cat \\| sleeps. | neutral |" in table
    assert "| (image) A dog runs. |" in table
    assert list(unselected_sentences([row("cause")], examples)) == list(unselected_sentences(rows, [])) == []


def test_the_page_says_whether_a_reason_is_true_where_that_was_checked() -> None:
    page = examples_page([shown(true={"cause_phi": False, "cause": None})], "command", ("premise", "hypothesis"))
    assert "| φ | neutral | no | The answer is neutral because" in page
    assert f"| {CAUSE} | **contradiction** | cannot be told | The answer is contradiction. |" in page
    assert "reason true" not in examples_page([shown()], "command", ("premise", "hypothesis"))


def test_gains_are_over_the_first_narrator_with_their_interval() -> None:
    text = narrator_markdown([row("cause_phi"), row("cause")])
    assert f"{CAUSE} against φ: composite +0.100 [-0.050, +0.250], agreement F1 +0.100 [-0.050, +0.250]" in text
    assert "reached for 87.5% of the items; CCMR is over these." in text
    assert "φ against φ" not in text


def shown(**changed: Any) -> dict[str, Any]:
    return {
        "text": "A dog runs.",
        "pair": "A cat | sleeps.",
        "pictured": False,
        "label": "contradiction",
        "predicted": "neutral",
        "people": ["A dog is no cat.", "It runs."],
        "cause_phi": "The answer is neutral because | .",
        "cause": "The answer is contradiction.",
        **changed,
    }


def test_a_class_that_is_not_the_models_is_bold() -> None:
    page = examples_page([shown(), shown(cause="Hm.")], "command", ("premise", "hypothesis"))
    assert "| φ | neutral | The answer is neutral because \\| . |" in page
    assert f"| {CAUSE} | **contradiction** | The answer is contradiction. |" in page
    assert f"| {CAUSE} | **none** | Hm. |" in page


def test_the_class_that_is_stated_is_one_of_the_models() -> None:
    rows = [shown(predicted="yes", cause="The answer is yes.", cause_phi="The answer is neutral.")]
    page = examples_page(rows, "command", ("question",), ("no", "yes"))
    assert f"| {CAUSE} | yes | The answer is yes. |" in page
    assert "| φ | **none** | The answer is neutral. |" in page


def test_what_people_say_stands_beside_it() -> None:
    page = examples_page([shown(), shown(label="neutral")], "command", ("premise", "hypothesis"))
    assert "## 1. neutral (the data say contradiction)" in page
    assert "## 2. neutral\n" in page
    assert page.count("People: A dog is no cat. · It runs.") == 2
    assert "The first 2 items" in page
    assert page.count("Premise: A dog runs.") == page.count("Hypothesis: A cat | sleeps.") == 2


def test_a_picture_is_shown_with_its_text() -> None:
    page = examples_page([shown(pair=None, pictured=True)], "command", ("text",), reasons="The generator")
    assert "![the image](examples/1.png)" in page
    assert "Text: A dog runs." in page
    assert "The generator: A dog is no cat." in page
