"""Prompted reasons: what is asked, what is read from the reply, and the rows beside those of a reading."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from explainers.errors import DataUnavailable, ModelUnavailable
from explainers.models.frozen_model import FrozenModel
from explainers.narrative import text_metrics
from explainers.studies import prompting
from explainers.studies.prompting import PROMPTED, Written, document, measure, messages, pair_of, reply, shots
from explainers.studies.readings.measure import PEOPLE, ReadItem
from tests.models.prompted.conftest import CHAT, KINDS, language_model

LABELS = ("entailment", "neutral", "contradiction")


class Scorer:
    """Every text has one state, so that every score is 1."""

    def states(self, texts: Sequence[str]) -> dict[str, Any]:
        import torch

        return dict.fromkeys(texts, torch.ones(1, 1))


@pytest.fixture
def reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A reading of one pair, by a narrator and a person."""
    monkeypatch.setattr(prompting, "FOLDER", tmp_path)
    monkeypatch.setattr(
        prompting, "shots", lambda count: [(("one", "two"), "The answer is neutral because so.")][:count]
    )
    key = [
        {"id": "1", "writer": "cause", "input": 0, "right": True, "references": ["a dog", "b", "c"], "checked": None},
        {"id": "2", "writer": PEOPLE, "input": 0, "right": True, "references": ["b", "c"], "checked": None},
    ]
    (tmp_path / "r.key.jsonl").write_text("".join(json.dumps(row) + "\n" for row in key), encoding="utf-8")
    shown = "PREMISE: the film was good HYPOTHESIS: the film was bad"
    (tmp_path / "r.items.csv").write_text(
        f"id,input,class,reason\n1,{shown},neutral,a cat\n2,{shown},neutral,a dog\n", encoding="utf-8"
    )
    return "r"


def test_shots_are_of_different_classes_with_a_reason_that_holds() -> None:
    first, second = shots(2)
    assert first[0] != second[0]
    assert [text.split()[3] for _, text in (first, second)] == ["entailment", "contradiction"]
    assert all(" because " in text for _, text in (first, second))
    assert shots(0) == []


def test_a_chat_has_the_shots_before_the_pair() -> None:
    given = [(("one", "two"), "The answer is neutral because so.")]
    first, answer, last = messages(("a man", "a boy"), LABELS, given)
    assert answer == {"role": "assistant", "content": given[0][1]}
    assert "entailment, neutral or contradiction" in last["content"]
    assert last["content"].endswith("Premise: a man\nHypothesis: a boy")
    assert first["content"].endswith("Premise: one\nHypothesis: two")


def test_the_reply_is_the_first_line_that_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    from explainers.studies.architectures import tokenizer_of

    network, tokenizer = language_model("llama"), tokenizer_of(KINDS["llama"])
    tokenizer.chat_template = CHAT
    asked: list[dict[str, Any]] = []
    generate: Callable[..., Any] = network.generate

    def generated(**inputs: Any) -> Any:
        asked.append(inputs)
        return generate(**inputs)

    monkeypatch.setattr(network, "generate", generated)
    text = reply(network, tokenizer, [{"role": "user", "content": "film was long"}])
    assert text
    assert "film was long" not in text
    assert tokenizer.decode(asked[0]["input_ids"][0]).split()[1:4] == ["film", "was", "long"]
    monkeypatch.setattr(tokenizer, "decode", lambda *_args, **_kinds: "\n The answer is x.\nMore")
    assert reply(network, tokenizer, [{"role": "user", "content": "film"}]) == "The answer is x."


def test_prompted_sentences_stand_beside_those_of_the_reading(
    bert: FrozenModel, reading: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bert, "labels", LABELS)
    monkeypatch.setattr(prompting, "predicted_class", lambda _model, _encoding: 1)
    replies = iter(["I do not know.", "It is neutral because the film is a dog"])
    written = measure(bert, reading, lambda _chat: next(replies), lambda _sentence: None)
    zero, two = PROMPTED.format(0), PROMPTED.format(2)
    assert [(one.writer, one.stated, one.predicted) for one in written] == [
        ("cause", 1, 1),
        (PEOPLE, 1, 1),
        (zero, text_metrics.NONE, 1),
        (two, 1, 1),
    ]
    assert written[-1].references == ("a dog", "b", "c")  # not those that a person's reason is compared with
    table = prompting.results(written, LABELS, Scorer())  # type: ignore[arg-type]
    rows = {line.split(" | ")[0]: line for line in table.markdown([zero, two, "cause", PEOPLE]).splitlines()}
    assert rows[f"| {zero}"].startswith(f"| {zero} | 1 | 0 | 0.000 | 0 | 0.000 |")
    assert rows[f"| {two}"].startswith(f"| {two} | 1 | 100 | 1.000 | 100 |")
    assert "| – |" in rows[f"| `{PEOPLE}`"]  # a person agrees with no model
    text = document(written, LABELS, Scorer(), "command")  # type: ignore[arg-type]
    assert "| the film was good | the film was bad | neutral | It is neutral because the film is a dog |" in text


def test_a_reading_of_images_and_a_missing_one_are_refused(bert: FrozenModel) -> None:
    with pytest.raises(DataUnavailable, match="not about a pair of texts"):
        pair_of(ReadItem("1", "STATEMENT: a box", "neutral", "so"))
    with pytest.raises(DataUnavailable, match="There is no reading 'gone'"):
        measure(bert, "gone", lambda _chat: "", lambda _sentence: None)


def test_without_smollm2_its_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.models.smollm2.smollm2_folder", lambda: None)
    with pytest.raises(ModelUnavailable, match="Fetch it with"):
        prompting.smollm2_writer()


def test_a_sentence_without_a_reason_has_none_to_compare() -> None:
    only = [Written("cause", ("a", "b"), 0, 0, "The answer is entailment.", ("x",))]
    row = prompting.results(only, LABELS, Scorer()).markdown(["cause"]).splitlines()[-1]  # type: ignore[arg-type]
    assert row.startswith("| `cause` | 1 | 100 | 1.000 | 0 | 0.000 |")
