import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from app import model_info, model_pool
from app import session as sessions
from app.compare import answer_head
from app.compare import engine as engines
from app.compare.engine import Engine
from app.compare.runs import Request, Run, answer_of
from app.compare.state import NO_OTHER, PREDICTED
from app.compare.stored_results import OWN_TEXT, curated_examples
from explainers.datasets.example import Example
from explainers.methods.registry import METHODS, applicable, default_methods, groups, select
from explainers.models import catalog, smollm2
from explainers.models.bundle_cards import bundle_names
from explainers.models.frozen_model import FrozenModel
from explainers.models.text import bundle
from explainers.report.wording import visible
from explainers.results.answer import CONSENSUS, Answer
from tests.pages.conftest import DEFAULT, Page

Opened = Callable[..., Any]
FIRST, SECOND = curated_examples()[:2]
ODD_TEXTS = {
    "one word": "good",
    "one letter": "a",
    "only punctuation": "?!... --",
    "spaces": "  good \n\n film\t",
    "script": "<script>alert(1)</script> good",
    "quotes": """it's "good" 'film' `bad`""",
    "markdown": "# good **bad** [film](javascript:alert(1)) $x^2$ :red[dull]",
    "NUL": "good\x00film",
    "escape codes": "\x1b[31mgood\x7f",
    "emoji": "good 👩‍👩‍👧 film 🎬",
    "right to left": "فيلم رائع good",
    "a formula of a table": "=1+1 good",
}
EMPTY = "The text is empty. Type at least one word."


def place_of(page: Page, key: str) -> tuple[int, ...]:
    """The numbers of the widget's block and of the blocks around it, among their siblings."""

    def found(block: Any, path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for number, child in block.children.items():
            if getattr(child, "key", None) == key:
                yield *path, number
            if hasattr(child, "children"):
                yield from found(child, (*path, number))

    (place,) = found(page.at.main, ())
    return place


def general_groups() -> list[str]:
    """The groups of methods that need nothing but a text, each of which has its pills."""
    return [group for group in groups() if any(spec.group == group and not spec.needs for spec in METHODS)]


@pytest.mark.usefixtures("small")
class TestWithASmallModel:
    """A class only to name the fixture once."""

    def test_a_browser_that_has_missed_the_first_run_draws_what_the_address_asks_for(self, opened: Opened) -> None:
        # in the later runs session state does not tell it again
        page = opened(
            text="A fine film", erase="delete", top="30", seed="7", sort="faithfulness", large="true"
        ).settle()
        drawn = {
            widget.label: list(widget.proto.default) if isinstance(widget.value, list) else widget.proto.default
            for widget in (*page.at.text_area, *page.at.number_input, *page.at.toggle)
        }
        assert drawn["Text"] == "A fine film"
        assert drawn["Seed"] == 7
        assert drawn["Large type"] is True
        assert {box.label: box.options[box.proto.default] for box in page.at.selectbox}["Example"] == OWN_TEXT
        for group in page.at.get("button_group"):
            assert list(group.proto.default) == list(group.indices)
        assert list(page.at.slider[0].proto.default) == [30]

    def test_it_opens_with_an_example_that_is_being_explained(self, opened: Opened, gate: Event) -> None:
        gate.clear()
        page = opened(**DEFAULT)
        assert page.text == FIRST.text
        assert page.state.run.active
        methods = [spec.id for spec in applicable(select(default_methods()), Example(""))]
        assert [card["id"] for card in page.sheet["rows"]] == [CONSENSUS, *methods]
        assert page.at.button(key="stop")
        gate.set()
        page.settle()
        assert {card["status"] for card in page.sheet["rows"]} == {"done"}
        assert "".join(piece for piece, _ in page.sheet["segments"][0]) == FIRST.text

    def test_the_sheet_keeps_its_place_when_the_buttons_of_an_open_answer_come(
        self, opened: Opened, gate: Event, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def open_in_the_end(run: Run) -> Answer:
            return answer_of(run) if run.active else replace(answer_of(run), status="open", p=0.5)

        monkeypatch.setattr(answer_head, "answer_of", open_in_the_end)
        gate.clear()
        page = opened(**DEFAULT)
        before = place_of(page, "sheet")
        assert not [button for button in page.at.button if str(button.key).startswith("answer ")]
        gate.set()
        page.settle()
        assert [button for button in page.at.button if str(button.key).startswith("answer ")]
        assert place_of(page, "sheet") == before

    def test_everything_is_there_when_a_run_is_done(self, opened: Opened) -> None:
        page = opened(**DEFAULT).settle()
        keys = {element.key for element in page.at.main if getattr(element, "key", None)}
        assert {"sheet", "curves", "again", "undo", "back"} <= keys
        assert not page.at.get("plotly_chart")  # its script is large
        page.choose("agree", True)
        assert page.at.get_by_key("matrix")
        assert not page.sentences
        assert not page.plain("warning")
        for label in ("negative", "neutral", "positive"):
            assert f">{label}</span>" in page.html
        downloads = page.at.get("download_button")
        assert len(downloads) == 7
        assert not any(download.disabled for download in downloads)

    def test_files_wait_until_the_run_is_over(self, opened: Opened, gate: Event) -> None:
        page = opened().settle()
        gate.clear()
        page.press("again")
        gate.set()
        page.settle()
        assert not any(button.disabled for button in page.at.get("download_button"))

    @pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
    def test_any_text_is_shown_as_it_was_typed(self, opened: Opened, text: str) -> None:
        page = opened().write(text)
        assert page.text == text
        assert not page.sentences
        assert "".join(piece for piece, _ in page.sheet["segments"][0]) == visible(text)
        assert {card["status"] for card in page.sheet["rows"]} == {"done"}

    @pytest.mark.parametrize("text", ["", "   ", "\n\t"])
    def test_nothing_to_explain_is_one_sentence(self, opened: Opened, text: str) -> None:
        page = opened().write(text)
        assert page.plain("warning") == [EMPTY]
        assert page.text == text
        page.write("good film")
        assert not page.plain("warning")
        assert page.words == ["good", "film"]

    def test_the_last_good_explanation_stays_below_the_sentence(self, opened: Opened) -> None:
        page = opened().settle().write("")
        assert page.plain("warning") == [EMPTY]
        assert "".join(piece for piece, _ in page.sheet["segments"][0]) == FIRST.text
        assert "Below: the last comparison that worked." in [caption.value for caption in page.at.caption]

    @pytest.mark.parametrize("text", ["good " * 20_000, "x" * 100_000], ids=["words", "one word"])
    def test_a_hundred_thousand_characters_stay_in_the_box_and_what_is_left_out_is_said(
        self, opened: Opened, text: str
    ) -> None:
        page = opened().write(text)
        assert page.text == text
        assert not page.sentences
        assert "text" not in page.address
        if page.state.run.whole.encoding.warning:
            (warning,) = page.plain("warning")
            assert re.search(r"only [\d,]+ of 100,000 characters are read and explained\.$", warning)
        assert len(page.at.get_by_key("sheet").proto.json) < 1_000_000

    def test_a_word_that_is_removed_changes_the_prediction_and_comes_back(self, opened: Opened) -> None:
        page = opened(text="good film bad plot").settle()
        before = page.state.run.probabilities
        page.remove(2)
        assert page.address["removed"] == "2"
        assert page.sheet["removed"] == [2]
        assert page.words == ["good", "film", "bad", "plot"]
        assert all(list(card["cells"]) == ["0", "1", "3"] for card in page.sheet["rows"])
        assert page.state.run.probabilities != before
        assert f"{before[0]:.3f} → " in page.html
        page.press("back").settle()
        assert "removed" not in page.address
        assert page.state.run.probabilities == before
        assert f"{before[0]:.3f} → " not in page.html

    def test_a_word_can_come_back_alone(self, opened: Opened) -> None:
        page = opened(text="good film bad plot").settle().remove(0, 2).remove(2)
        assert page.address["removed"] == "2"
        assert page.sheet["removed"] == [2]

    def test_removing_every_word_is_one_sentence_and_they_come_back(self, opened: Opened) -> None:
        page = opened(text="good film").settle().remove(0, 1)
        assert page.sentences == ["All words are removed. Restore at least one to explain the decision."]
        assert page.words == ["good", "film"]
        page.press("back").settle()
        assert not page.sentences

    def test_another_text_begins_with_all_its_words(self, opened: Opened) -> None:
        page = opened(removed="1").settle().write("good film")
        assert page.state.controls.removed == ()
        assert page.address["text"] == "good film"

    def test_choosing_an_example_replaces_the_text(self, opened: Opened) -> None:
        page = opened().settle().choose("example", SECOND.title)
        assert page.text == SECOND.text
        assert "".join(piece for piece, _ in page.sheet["segments"][0]) == SECOND.text
        assert "text" not in page.address

    def test_typing_makes_it_an_own_text(self, opened: Opened) -> None:
        page = opened(example=SECOND.title).settle().write("good film")
        assert page.at.get_by_key("example").value == OWN_TEXT
        assert page.address["text"] == "good film"

    def test_the_address_restores_the_view(self, opened: Opened) -> None:
        view = {
            "text": "good film <b>bad</b>",
            "class": "neutral",
            "erase": "delete",
            "unit": "token",
            "removed": "1",
            "top": "50",
            "scale": "shared",
            "seed": "3",
            "sort": "DFFOT",
        }
        page = opened(**view).settle()
        request = page.state.run.request
        assert (request.example.text, request.label, request.removed) == ("good film <b>bad</b>", "neutral", (1,))
        assert (request.settings.erasure, request.settings.unit, request.settings.seed) == ("delete", "token", 3)
        assert request.settings.samples == 50
        assert page.at.slider(key="top").value == 50
        assert page.at.get_by_key("sort").value == "DFFOT"
        assert view.items() <= page.address.items()

    @pytest.mark.parametrize(
        "wrong",
        [
            {"example": "no such", "class": "no such", "removed": "²", "samples": "many", "nothing": "known"},
            {"versus": "no such", "erase": "blur", "removed": "9" * 5000, "samples": "3", "sort": "<script>"},
            {"unit": "letter", "removed": "-1.999.x", "top": "1000", "perturbation": "no such"},
        ],
        ids=lambda wrong: ", ".join(wrong),
    )
    def test_an_address_with_nonsense_opens_the_page(self, opened: Opened, wrong: dict[str, str]) -> None:
        page = opened(**wrong).settle().settle()  # what cannot be removed is dropped, and asked anew
        assert page.text == FIRST.text
        assert not page.sentences
        assert page.state.run.status == "done"

    def test_the_class_to_explain(self, opened: Opened) -> None:
        page = opened(text="good film").settle()
        explained = page.at.get_by_key("class")
        assert list(explained.options) == [PREDICTED, "negative", "neutral", "positive"]
        predicted = page.state.run.comparison().label
        other = next(label for label in ("negative", "neutral", "positive") if label != predicted)
        page.choose("class", other)
        assert page.state.run.comparison().label == other
        assert f"The model predicts {predicted}" in page.html
        assert page.choose("class", PREDICTED).state.run.comparison().label == predicted

    def test_one_class_rather_than_another(self, opened: Opened) -> None:
        page = opened(text="good film was not dull", **{"class": "neutral", "versus": "positive"}).settle()
        assert list(page.at.get_by_key("versus").options) == [NO_OTHER, "negative", "positive"]
        comparison = page.state.run.comparison()
        _, neutral, positive = comparison.probabilities
        assert comparison.probability == pytest.approx(neutral / (neutral + positive))
        assert "the explanations are for neutral rather than positive." in page.html
        page.choose("versus", NO_OTHER)
        assert "versus" not in page.address
        assert page.state.run.comparison().explained == "neutral"
        page.state.undo()
        page.settle()
        assert page.state.run.comparison().explained == "neutral rather than positive"
        assert page.address["versus"] == "positive"
        assert page.choose("class", "positive").state.run.request.versus is None  # not rather than itself

    def test_the_predicted_class_rather_than_itself_is_a_sentence(self, opened: Opened) -> None:
        page = opened(text="good film").settle()
        predicted = page.state.run.comparison().label
        page.choose("versus", predicted)
        (sentence,) = page.sentences
        assert sentence.startswith(f"The predicted class is {predicted}, and it cannot be compared with itself.")
        assert page.text == "good film"

    @pytest.mark.parametrize(("key", "value"), [("erase", "delete"), ("erase", "zero"), ("unit", "token")])
    def test_settings_change_the_question(self, opened: Opened, key: str, value: str) -> None:
        page = opened(text="good unwatchable film").settle().choose(key, value)
        settings = page.state.run.request.settings
        assert value in (settings.erasure, settings.unit)
        assert len(page.words) == (5 if value == "token" else 3)  # un ##watch ##able
        assert page.state.run.status == "done"

    def test_units_of_another_kind_are_all_there(self, opened: Opened) -> None:
        page = opened(text="good unwatchable film", removed="1").settle().choose("unit", "token")
        assert page.state.controls.removed == ()

    def test_one_method_alone(self, opened: Opened) -> None:
        page = opened().settle()
        for group in general_groups():
            page.at.get_by_key(group.lower()).set_value(["Occlusion"] if group == "Perturbation" else [])
        page.settle()
        assert [card["name"] for card in page.sheet["rows"]] == ["Occlusion"]
        assert "Agreement needs two finished methods." in [caption.value for caption in page.at.caption]

    def test_no_method_at_all_is_a_sentence(self, opened: Opened) -> None:
        page = opened().settle()
        for group in general_groups():
            page.at.get_by_key(group.lower()).set_value([])
        page.settle()
        assert "No method is chosen. Choose at least one." in page.html
        assert not page.sentences
        assert page.words

    def test_every_method_at_once(self, opened: Opened) -> None:
        page = opened(text="good film").settle()
        for group in general_groups():
            names = [spec.name for spec in METHODS if spec.group == group and not spec.needs]
            page.at.get_by_key(group.lower()).set_value(names)
        page.settle()
        methods = {spec.id for spec in METHODS if not spec.needs}
        assert {card["id"] for card in page.sheet["rows"]} == {CONSENSUS, *methods}
        assert {card["status"] for card in page.sheet["rows"]} == {"done"}

    def test_sorting_and_the_top_share_reach_the_rows_without_another_run(self, opened: Opened) -> None:
        page = opened(text="good film bad plot", **DEFAULT).settle()
        run = page.state.run
        page.choose("top", 50)
        for card in page.sheet["rows"]:
            ranks = [cell["rank"] for cell in card["cells"].values() if float(cell["score"].split()[0]) > 0]
            assert sum(cell["top"] for cell in card["cells"].values()) == sum(rank <= 2 for rank in ranks)
        page.choose("sort", "AOPC-C")
        _consensus, *compared, last = (card["id"] for card in page.sheet["rows"])
        assert last == "faml"  # was optimised on these metrics
        metrics = [run.result(method).metrics["aopc_c"] for method in compared]
        assert metrics == sorted(metrics, reverse=True)
        assert page.state.run is run

    def test_stop_keeps_what_is_finished_and_the_rest_can_go_on(self, opened: Opened, gate: Event) -> None:
        gate.clear()
        page = opened()
        page.press("stop")
        gate.set()
        page.settle()
        assert page.state.run.status == "stopped"
        assert "Stopped. Finished results stay." in [caption.value for caption in page.at.caption]
        page.press("again").settle()
        assert page.state.run.status == "done"

    def test_compute_again_computes_again(self, opened: Opened) -> None:
        page = opened(text="good film").settle()
        first = page.state.run
        page.press("again").settle()
        assert page.state.run is not first
        assert not any(column.remembered for column in page.state.run.columns.values())

    def test_a_second_session_finds_the_results(self, opened: Opened) -> None:
        opened(text="good film").settle()
        page = opened(text="good film").settle()
        assert all("remembered from" in card["detail"]["facts"][-1] for card in page.sheet["rows"][1:])
        assert "2 methods, remembered from before." in page.captions

    def test_another_question_stops_the_one_before(self, opened: Opened, gate: Event) -> None:
        gate.clear()
        page = opened()
        first = page.state.run
        page.at.text_area(key="text").set_value("good film")
        page.run()
        gate.set()
        page.settle()
        assert first.meter.cancel.is_set()
        assert page.words == ["good", "film"]

    @pytest.mark.parametrize(
        "name", ["owner/none", "no such model", "../../etc", "<img src=x onerror=alert(1)>", "**b**"]
    )
    def test_an_unknown_model_is_one_sentence_and_the_text_stays(
        self, opened: Opened, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        submit = Engine.submit

        def submit_and_wait(engine: Engine, request: Request) -> Run:
            run = submit(engine, request)
            while run.active:
                time.sleep(0.01)
            return run

        # AppTest cannot run a page twice on which a name was typed that is no option
        monkeypatch.setattr(Engine, "submit", lambda engine, request, **_rest: submit_and_wait(engine, request))
        page = opened(text="good film", model=name)
        assert page.sentences == [f"The model {name!r} is not available. Choose one of: small."]
        assert page.text == "good film"

    def test_a_mistake_of_ours_is_one_sentence(self, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("explainers.attribution.lime.Lime.refine", lambda *_args: 1 / 0)
        page = opened(text="good film", **DEFAULT).settle()
        feet = {card["id"]: card["problem"] for card in page.sheet["rows"] if card["status"] == "failed"}
        assert feet == {"lime": "Internal error in Crosslight (ZeroDivisionError)."}
        done = [card["id"] for card in page.sheet["rows"] if card["status"] == "done"]
        assert {"occlusion", "gradient_x_input"} <= set(done)

    def test_a_method_that_fails_says_why_in_its_card(self, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_args: object) -> None:
            from explainers.errors import ExplanationError

            raise ExplanationError("Occlusion cannot do this.")

        monkeypatch.setattr("explainers.attribution.occlusion.Occlusion.attribute", refuse)
        page = opened(text="good film").settle()
        (card,) = (card for card in page.sheet["rows"] if card["id"] == "occlusion")
        assert (card["status"], card["problem"]) == ("failed", "Occlusion cannot do this.")
        assert page.state.run.status == "done"

    def test_labels_of_a_model_are_shown_as_text(
        self, opened: Opened, model: FrozenModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        labels = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "**[a](javascript:b)**")
        hostile = replace(model, labels=labels)
        monkeypatch.setattr(catalog, "load", lambda name, **_rest: hostile)
        card = {"labels": list(labels), "sha256": "1"}
        monkeypatch.setattr(model_info.bundle_cards, "read_card", lambda _folder: card)
        page = opened(text="good film").settle()
        assert "<script>" not in page.html
        assert "<img" not in page.html
        assert "&lt;script&gt;" in page.html
        assert not [caption for caption in page.at.caption if "**[a]" in caption.value]
        assert page.plain("caption")[0].endswith("and **[a](javascript:b)**.")  # letter by letter, as HTML

    def test_choices_survive_a_visit_to_another_page(self, opened: Opened) -> None:
        page = opened(text="good film bad", erase="zero").settle().remove(1)
        request = page.state.run.request
        page.at.switch_page("pages/methods.py")
        page.run()
        page.at.switch_page("pages/compare.py")
        page.settle()
        assert page.state.run.request == request
        assert page.text == "good film bad"


@pytest.mark.usefixtures("own_engine")
class TestADamagedBundle:
    """Its card can be read, its weights cannot."""

    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        folder = tmp_path / "sst2"
        folder.mkdir()
        (folder / "card.json").write_text('{"labels": ["negative", "positive"], "sha256": "0", "recipe": {"rank": 0}}')
        monkeypatch.setattr(model_info.bundle_cards, "BUNDLES", tmp_path)
        for module in (model_info.bundle_cards, sessions, model_pool):
            monkeypatch.setattr(module, "bundle_names", lambda: ("sst2",))
        monkeypatch.setattr(bundle, "base_folder", lambda: tmp_path)
        return folder

    @pytest.mark.parametrize(
        ("weights", "why"),
        [
            (None, "weights.safetensors is missing"),
            (b"\x00", "the checksum of weights.safetensors is not the one on its card"),
        ],
        ids=["missing", "changed"],
    )
    def test_the_sentence_says_what_is_wrong_and_what_to_do(
        self, opened: Opened, folder: Path, weights: bytes | None, why: str
    ) -> None:
        if weights is not None:
            (folder / "weights.safetensors").write_bytes(weights)
        page = opened().settle()
        assert page.sentences == [
            f"The model 'sst2' is damaged: {why}. Restore its files with `git checkout -- assets/bundles/sst2`."
        ]
        assert page.text == FIRST.text

    def test_a_card_that_cannot_be_read(self, opened: Opened, folder: Path) -> None:
        (folder / "card.json").write_text("{")
        page = opened().settle()
        assert page.sentences[0].startswith("The model 'sst2' is damaged: card.json cannot be read.")


@pytest.mark.usefixtures("own_engine")
def test_without_any_bundle_the_page_offers_a_model(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CROSSLIGHT_STORE", str(tmp_path))
    for module in (model_info.bundle_cards, sessions, model_pool):
        monkeypatch.setattr(module, "bundle_names", lambda: ())
    page = opened().settle()
    assert not page.sentences
    assert "smollm2:sst2 needs SmolLM2, a language model that is not on this machine" in page.html


@pytest.mark.usefixtures("small")
def test_a_comparison_that_lacks_smollm2_begins_when_it_is_there(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_names: str, **_rest: object) -> FrozenModel:
        raise smollm2.LanguageModelMissing("SmolLM2 is not on this machine yet.")

    with monkeypatch.context() as missing:
        missing.setattr(catalog, "load", load)
        missing.setattr(engines, "smollm2_folder", lambda: None)
        page = opened(text="a good film but dull").settle()
        assert (page.state.run.status, page.sentences) == ("failed", [])
        assert "small needs SmolLM2, a language model that is not on this machine" in page.html
        assert page.settle().state.run.status == "failed"  # nothing is tried again before it is there
    monkeypatch.setattr(engines, "smollm2_folder", lambda: Path("there"))
    page.settle()
    assert page.state.run.status == "done"
    assert "needs SmolLM2" not in page.html


@pytest.mark.skipif("sst2" not in bundle_names(), reason="the bundle sst2 is not in assets/bundles")
@pytest.mark.usefixtures("own_engine")
def test_the_real_model_explains_praise(opened: Opened) -> None:
    page = opened(text="A wonderful film.").settle()
    assert page.state.run.comparison().label == "positive"
    (card,) = (card for card in page.sheet["rows"] if card["id"] == "occlusion")
    best = min(card["cells"], key=lambda unit: card["cells"][unit]["rank"])
    assert page.words[int(best)] == "wonderful"
