"""The panel of sentences, as data, and what its component may do with it."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
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
from explainers.report.narratives import BEING_GENERATED, NOTE, ONLY_CLASS
from explainers.report.narrator_overview import QUESTION, TrackRecord
from explainers.results.decision import Settings
from explainers.results.events import Failure, Narrative, NarrativeCheck

Ran = Callable[..., Run]
SENTENCE = "The answer is positive because the films were good."
CAUSE = NARRATORS.get("cause")
SCRIPT = "<script>alert(1)</script>"


def narrative(text: str = SENTENCE, stated: int | None = 1, **rest: Any) -> Narrative:
    method, read = rest.get("method", "cause"), rest.get("read", (0.2, 0.8))
    return Narrative(method, text, stated, read, rest.get("mentions", (1, 2)), 0.125)


def know(run: Run, **changes: Any) -> None:
    """Replaces what is in the run's comparison."""
    run.current = replace(run.comparison(), **changes)


def entry_of(run: Run, *narratives: Narrative, checks: tuple[NarrativeCheck, ...] = ()) -> dict[str, Any]:
    know(run, narratives=narratives, narrative_checks=checks)
    (entry,) = payload(run)["entries"]
    result: dict[str, Any] = entry
    return result


def answers(entry: dict[str, Any]) -> list[tuple[str, str]]:
    return [(check["state"], check["answer"]) for check in entry["checks"]]


def test_a_model_without_narrators_shows_nothing(ran: Ran) -> None:
    assert payload(ran())["entries"] == []


def test_the_words_of_the_input_are_linked_in_whatever_form(ran: Ran) -> None:
    entry = entry_of(ran("a good film but dull"), narrative())
    assert [piece for piece in entry["sentence"] if piece[1]] == [("films", [2]), ("good", [1])]
    assert "".join(text for text, _ in entry["sentence"]) == SENTENCE
    assert entry["mentions"] == [{"text": "good", "units": [1]}, {"text": "film", "units": [2]}]


def test_a_word_that_stands_twice_is_one_chip(ran: Ran) -> None:
    entry = entry_of(ran("good film good"), narrative(mentions=(0, 1, 2)))
    assert entry["mentions"] == [{"text": "good", "units": [0, 2]}, {"text": "film", "units": [1]}]


def test_the_verdict_waits_for_the_checks_of_all_sentences(ran: Ran) -> None:
    run = ran("a good film but dull")
    entry_of(run, narrative())
    assert payload(run)["verdict"] == ONLY_CLASS  # the run is over and nothing else was checked
    checks = (NarrativeCheck("cause", use_note="it is short", used=True, full=0.9, removed=0.1),)
    know(run, narrative_checks=checks)
    assert payload(run)["verdict"].startswith("Best supported: CAuSE + word losses. It names the model's class, and")
    run.status = "running"
    run.request = replace(run.request, narrators=("cause", "cause_phi"))
    assert payload(run)["verdict"] == BEING_GENERATED


def test_after_a_word_was_removed_the_others_keep_their_numbers(ran: Ran) -> None:
    entry = entry_of(ran("a good film but dull", removed=(0,)), narrative(mentions=(0, 1)))
    assert [mention["units"] for mention in entry["mentions"]] == [[1], [2]]


@pytest.mark.parametrize(
    ("stated", "state", "answer", "detail"),
    [
        (1, "yes", "yes", "The sentence states positive, which the model predicts."),
        (0, "no", "no", "The sentence states negative; the model predicts positive."),
        (None, "none", "names none", "The sentence states no class."),
    ],
)
def test_the_stated_class_is_compared_in_words(
    ran: Ran, stated: int | None, state: str, answer: str, detail: str
) -> None:
    check = entry_of(ran("a good film"), narrative(stated=stated, mentions=()))["checks"][0]
    assert check == {"state": state, "answer": answer, "detail": detail}


@pytest.mark.parametrize(
    ("check", "truth", "use"),
    [
        (NarrativeCheck("cause", True, "so", True, "", 0.9, 0.4, (0.8, 0.9)), ("yes", "yes"), ("yes", "yes")),
        (NarrativeCheck("cause", False, "not so", False, "", 0.9, 0.9, (0.8, 0.9)), ("no", "no"), ("no", "no")),
        (
            NarrativeCheck("cause", None, "no rules are known that could check it", None, "few", 0.9, 0.9),
            ("none", "not checked"),
            ("none", "undecided"),
        ),
        (NarrativeCheck("cause", None, "a box is covered"), ("none", "undecided"), ("none", "not checked")),
    ],
)
def test_each_check_has_a_state_and_a_word(
    ran: Ran, check: NarrativeCheck, truth: tuple[str, str], use: tuple[str, str]
) -> None:
    assert answers(entry_of(ran("a good film"), narrative(), checks=(check,)))[1:] == [truth, use]


def test_the_numbers_stand_beside_the_word(ran: Ran) -> None:
    check = NarrativeCheck("cause", False, "the image shows 1 of them", True, "", 0.95, 0.41, (0.9, 0.9))
    _, truth, use = entry_of(ran("a good film"), narrative(), checks=(check,))["checks"]
    assert truth["detail"] == "The image shows 1 of them. Checked by the generator's rules."
    assert use["detail"] == (
        "p(positive) without the named words: 0.95 → 0.41; "
        "without as many random words 0.90 on average, 0.90 at the lowest."
    )


def test_a_sentence_that_names_no_word_has_nothing_to_erase(ran: Ran) -> None:
    assert answers(entry_of(ran("a good film"), narrative(mentions=())))[2] == ("none", "names no word")


def test_checks_that_are_to_come_have_their_place_and_after_a_stop_none_is_waited_for(ran: Ran) -> None:
    run = ran("a good film")
    run.status = "running"
    assert answers(entry_of(run, narrative()))[1:] == [("waiting", "…")] * 2
    run.status = "stopped"
    assert answers(entry_of(run, narrative()))[1:] == [("none", "not checked")] * 2


def test_equal_sentences_are_one_entry_with_all_names_and_their_lines_stay_reserved(ran: Ran) -> None:
    run = ran("a good film")
    texts = {"cause_phi": SENTENCE, "cause_phi_ts": "The answer is negative.", "cause": SENTENCE}
    know(run, narratives=tuple(narrative(text, method=method) for method, text in texts.items()))
    data = payload(run)
    assert [(entry["id"], entry["name"]) for entry in data["entries"]] == [
        ("cause_phi cause", f"φ and {CAUSE.name}"),
        ("cause_phi_ts", "φ + TS"),
    ]
    assert [about["name"] for about in data["entries"][0]["about"]] == ["φ", CAUSE.name]
    assert data["lines"] == 3


def test_until_a_sentence_comes_that_of_the_run_before_is_shown_as_old(ran: Ran) -> None:
    before, run = ran("a good film"), ran("a good film", removed=(0,))
    know(before, narratives=(narrative(),), narrative_checks=(NarrativeCheck("cause", True, "so"),))
    run.previous, run.status, run.request = before, "running", replace(run.request, narrators=("cause",))
    (entry,) = payload(run)["entries"]
    assert (entry["old"], entry["status"], answers(entry)[1]) == (True, "done", ("yes", "yes"))
    assert [units for _, units in entry["sentence"] if units] == [[2], [1]]  # of the earlier run, which had every word
    new = entry_of(run, narrative(mentions=()))
    assert (new["old"], [units for _, units in new["sentence"] if units]) == (False, [])


def test_only_the_chosen_narrators_have_a_line(ran: Ran) -> None:
    run = ran("a good film")
    run.request, run.status = replace(run.request, narrators=("cause_phi", "cause")), "running"
    assert [entry["id"] for entry in payload(run)["entries"]] == ["cause_phi", "cause"]


def test_the_class_that_c2_reads_is_named_where_there_is_a_c2(ran: Ran) -> None:
    run = ran("a good film")

    def reading(read: tuple[float, ...]) -> str:
        return str(entry_of(run, narrative(mentions=(), read=read))["about"][0]["reading"])

    assert reading((0.2, 0.8)) == "C2 reads positive, 0.80, as the model."
    assert reading((0.7, 0.3)) == "C2 reads negative, 0.70, unlike the model."
    assert "No second classifier" in reading(())


def test_an_entry_has_the_narrators_caution_and_every_deviation(ran: Ran) -> None:
    entry, spec = entry_of(ran(), narrative()), CAUSE
    (about,) = entry["about"]
    assert (about["name"], about["deviations"], about["seconds"]) == (spec.name, list(spec.deviations), "0.12 s")
    assert spec.caution in about["caution"]


def test_a_narrator_that_failed_says_why(ran: Ran) -> None:
    run = ran()
    know(run, failures=(Failure("cause", f"Damaged {SCRIPT}."),))
    (entry,) = payload(run)["entries"]
    assert (entry["status"], entry["problem"], entry["sentence"]) == ("failed", f"Damaged {SCRIPT}.", [])


@pytest.mark.parametrize(
    "text",
    [f"{SCRIPT} good film", "<img src=x onerror=alert(1)> **good** $film$", "good\x00film \x1b[31m", "فيلم good"],
)
def test_whatever_was_typed_or_generated_stays_text(ran: Ran, text: str) -> None:
    run = ran(text)
    mentions = tuple(range(len(run.comparison().decision.encoding.units)))
    know(run, narratives=(narrative(f"Because {SCRIPT} & {text}", mentions=mentions),))
    data = payload(run, (f"People {SCRIPT}",))
    assert json.loads(json.dumps(data))["reasons"] == [f"People {SCRIPT}"]
    sentence = "".join(piece for piece, _ in data["entries"][0]["sentence"])
    assert SCRIPT in sentence
    assert "&lt;" not in json.dumps(data)


def test_every_name_that_the_component_reads_is_in_the_data(ran: Ran) -> None:
    source = (ASSETS / "words.js").read_text(encoding="utf-8")
    run = ran()
    entry = entry_of(run, narrative())
    assert set(re.findall(r"\bentry\.(\w+)", source)) <= set(entry)
    assert set(re.findall(r"\bcheck\.(\w+)", source)) == set(entry["checks"][0])
    assert set(re.findall(r"\bnarrator\.(reading|seconds|name|idea|caution|deviations)", source)) == set(
        entry["about"][0]
    )
    assert set(re.findall(r"\bdata\.(\w+)", source)) <= {*payload(run), "time"}


def test_no_answer_is_a_tick() -> None:
    assert not re.search("[✓✔☑]", (ASSETS / "words.js").read_text(encoding="utf-8") + NOTE)


@pytest.mark.usefixtures("narrators")
def test_a_run_of_a_model_with_narrators_has_a_line_for_each_from_the_beginning(
    speaker: FrozenModel, monkeypatch: pytest.MonkeyPatch, over: Callable[[Run], Run]
) -> None:
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: speaker)
    engine = Engine(ModelPool())
    example = Example(f"a good film {SCRIPT}", "the plot was dull")
    run = engine.submit(Request("speaker", example, None, (), Settings()))
    over(run)
    assert run.status == "done", run.error
    entries = payload(run)["entries"]
    names = [about["name"] for entry in entries for about in entry["about"]]
    assert names == [
        spec.name for spec in sorted(NARRATORS, key=lambda spec: (spec.reads == "words", not spec.reads_tokens))
    ]
    assert {entry["status"] for entry in entries} == {"done"}
    assert [check.method for check in run.comparison().narrative_checks] == list(NARRATORS.ids)
    know(run, narratives=())
    run.status = "running"
    assert [entry["status"] for entry in payload(run)["entries"]] == ["waiting"] * len(NARRATORS)
    run.status = "stopped"
    assert [entry["problem"] for entry in payload(run)["entries"]] == ["stopped before it was done"] * len(NARRATORS)
    engine.close()


@pytest.mark.usefixtures("narrators")
def test_nothing_is_drawn_without_entries(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words.st, "subheader", lambda *_a, **_k: pytest.fail("an empty panel"))
    words.show(ran())


def test_how_often_a_narrator_is_right_stands_beside_its_sentence(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"cause_phi": TrackRecord("3 %", "Of 300 …"), "cause": TrackRecord("80 %", "Of 300 others …")}
    monkeypatch.setattr(words.narrator_overview, "track_record", lambda _model, narrator: known.get(narrator))
    run = ran("a good film")
    texts = {"cause_phi": SENTENCE, "cause": SENTENCE, "cause_phi_ts": "No."}
    know(run, narratives=tuple(narrative(text, method=method) for method, text in texts.items()))
    data = payload(run)
    assert data["questions"][-1] == QUESTION
    both, other = (entry["checks"][-1] for entry in data["entries"])
    assert (both["state"], both["answer"]) == ("record", "3 %, 80 %")
    assert both["detail"] == f"φ: Of 300 … {CAUSE.name}: Of 300 others …"
    assert (other["state"], other["answer"]) == ("record", "not known")


def test_no_record_stands_beside_a_sentence_about_another_kind_of_input(
    ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = TrackRecord("80 %", "Of 300 …", 0.8)
    monkeypatch.setattr(words.narrator_overview, "track_record", lambda _model, _narrator: record)
    run = ran("a good film")
    know(run, narratives=(narrative(),), narrative_checks=(NarrativeCheck("cause", True, "", True, ""),))
    data = payload(run)
    assert data["questions"][-1] == QUESTION
    assert "80 %" in data["verdict"]
    assert run.whole is not None
    run.whole = replace(run.whole, encoding=replace(run.whole.encoding, unlike_training=True))
    data = payload(run)
    assert data["questions"][-1] != QUESTION
    assert "80 %" not in data["verdict"]
