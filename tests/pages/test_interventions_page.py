import copy
import io
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from torch import nn
from transformers import GPT2LMHeadModel

from app import model_info, model_pool
from app import session as sessions
from app.compare import session
from app.interventions import computations, examples, heading, inputs
from app.interventions.inputs import PlainInput
from explainers.datasets.example import Example
from explainers.errors import ModelUnavailable
from explainers.methods.narrator_specs import NARRATORS
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import classifier_head
from explainers.models.tasks import generated_example
from explainers.narrative import narrate
from explainers.narrative.counterfactual import ChangingExchange
from explainers.narrative.interchange import linear_layers
from explainers.narrative.language import language_of, vocabulary
from explainers.narrative.narrator import Narrator
from explainers.narrative.sentences import head_states

Opened = Callable[..., Any]
SCRIPT = "<script>alert(1)</script>"
PAIRS = (
    Example("the good film", "a good plot"),
    Example("a dull film", "the film was very bad"),
    Example("not good", "good"),
    Example(f"very dull {SCRIPT}", "unwatchable , bad"),
    Example("the plot", "a film was not the plot"),
    Example("good good good", "bad"),
)


class Interventions:
    """The page in the hands of a person."""

    def __init__(self, opened: Opened, **address: str | None) -> None:
        self.page = opened("pages/interventions.py", **address)
        self.at = self.page.at

    def run(self) -> "Interventions":
        self.at.run()
        assert not self.at.exception, self.at.exception
        return self

    def choose(self, key: str, value: object) -> "Interventions":
        self.at.get_by_key(key).set_value(value)
        return self.run()

    @property
    def texts(self) -> str:
        elements = [*self.at.markdown, *self.at.caption, *self.at.info, *self.at.error]
        return "\n".join([*(element.value for element in elements), *self.page.plain()])

    @property
    def errors(self) -> list[str]:
        return list(self.page.sentences)

    @property
    def obeyed(self) -> bool:
        """Return whether a tag stands anywhere on the page."""
        texts = [element.value for element in (*self.at.markdown, *self.at.caption, *self.at.error)]
        return any("<script" in text for text in (*texts, self.page.html))

    @property
    def shares(self) -> list[dict[str, str]]:
        rows: list[dict[str, str]] = self.at.table[0].value.to_dict("records")
        return rows

    @property
    def bars(self) -> list[str]:
        """The three bar charts in words: C1 and C2 after the intervention, C1 after ν."""
        return re.findall(r'aria-label="([^"]*)"', self.page.html)


@pytest.fixture
def speaks(speaker: FrozenModel, narrators: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, own_engine: None) -> None:
    """The small model with narrators is the only one, with a small set of pairs."""

    def load(name: str, **_rest: object) -> FrozenModel:
        if name != "speaker":
            raise ModelUnavailable(f"The model {name!r} is not available.")
        return speaker

    monkeypatch.setattr(catalog, "load", load)
    for module in (sessions, model_pool, model_info.bundle_cards, computations):
        monkeypatch.setattr(module, "bundle_names", lambda: ("speaker",))
    card = {"labels": list(speaker.labels), "texts": ["premise", "hypothesis"], "sha256": "1"}
    monkeypatch.setattr(model_info.bundle_cards, "read_card", lambda _folder: card)
    monkeypatch.setattr(examples, "shipped_pairs", lambda _model: PAIRS)
    st.cache_data.clear()


@pytest.fixture
def page(opened: Opened, speaks: None) -> Interventions:
    return Interventions(opened)


@pytest.mark.usefixtures("small")
def test_without_narrators_the_page_says_what_to_do(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computations, "bundle_names", lambda: ("small",))
    page = Interventions(opened)
    assert [message.value for message in page.at.info] == [heading.NO_NARRATORS]
    assert not page.at.selectbox


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("1", "owner/other has no narrators. The Compare page can explain it."),
        ("", "owner/other is not loaded. Open it on Compare."),
    ],
)
def test_why_the_model_of_compare_is_not_offered(
    page: Interventions, monkeypatch: pytest.MonkeyPatch, version: str, sentence: str
) -> None:
    monkeypatch.setattr(heading, "visit", lambda: SimpleNamespace(model="owner/other"))
    monkeypatch.setattr(heading, "model_info", lambda _pool, _name: model_info.ModelInfo(version=version))
    page.run()
    assert sentence in page.texts


def test_it_opens_with_an_intervention_and_a_check_already_made(page: Interventions) -> None:
    assert not page.errors
    assert len(page.bars) == 3
    assert "entailment: 0." in page.bars[0]
    assert page.shares[0]["how often"] == "C1 and C2 agree before the intervention"
    assert page.shares[0]["ordered pairs"] == "30"
    for spec in NARRATORS:
        assert spec.name in page.page.plain("paragraph")
    assert "The class " in page.texts


def test_the_same_example_as_base_and_source_changes_nothing(page: Interventions) -> None:
    first = page.at.selectbox(key="base").value
    page.choose("source", first)
    for row in page.bars[0].split("; "):
        before, after = re.findall(r"\d\.\d{3}", row)
        assert before == after
    assert "stays with" in page.texts


def test_all_neurons_make_the_base_the_source(page: Interventions) -> None:
    page.choose("which", "typed").choose("neurons", "0-127")
    assert not page.errors
    after = [float(number) for number in re.findall(r"(\d\.\d{3}) after", page.bars[0])]
    base, source = page.at.selectbox(key="base").value, page.at.selectbox(key="source").value
    page.choose("base", source).choose("source", base)
    before = [float(number) for number in re.findall(r"(\d\.\d{3}) before", page.bars[0])]
    assert after == pytest.approx(before, abs=0.002)


def test_bad_neurons_are_reported(page: Interventions) -> None:
    page.choose("which", "typed")
    for typed, sentence in (("a", "is not a neuron"), ("5-900", "from 0 to 127"), ("", "from 0 to 127")):
        page.choose("neurons", typed)
        (error,) = page.errors
        assert sentence in error


def test_another_draw_and_another_narrator_are_another_intervention(page: Interventions) -> None:
    before = page.bars[:2]
    page.choose("draw", 7)
    after = page.bars[:2]
    page.choose("narrator", "φ + TS")
    assert before != after
    assert page.bars[0] == after[0]
    assert "C2, reading φ + TS, before and after" in page.texts


@pytest.mark.usefixtures("speaks")
def test_the_address_restores_the_view(opened: Opened) -> None:
    page = Interventions(opened, draw="7", narrator="φ + TS", which="typed", neurons="3-5")
    assert page.at.get_by_key("narrator").value == "φ + TS"
    assert page.at.get_by_key("neurons").value == "3-5"
    assert "3 neurons, the same in each" in page.texts


def test_from_a_mixed_state_the_narrator_generates_a_new_sentence(page: Interventions) -> None:
    assert "The mixed state, generated" not in page.texts
    layers = page.at.get_by_key("layer").options
    page.choose("layer", layers[0])
    assert "The mixed state, generated" in page.texts
    assert not page.errors


def test_a_pair_can_be_typed_and_stays_text(page: Interventions) -> None:
    page.choose("base", examples.TYPED)
    page.choose("base premise", f"a good film {SCRIPT}").choose("base hypothesis", "dull")
    assert not page.errors
    assert SCRIPT not in page.page.html
    assert not page.obeyed
    page.choose("base hypothesis", "  ")
    assert page.errors == ["The hypothesis of the base is missing. Type at least one word."]


def test_a_pair_of_the_set_stays_text(page: Interventions) -> None:
    page.choose("base", inputs.list_entry(4, PlainInput(PAIRS[3].text, PAIRS[3].pair or "")))
    assert SCRIPT in page.texts
    assert not page.obeyed
    assert SCRIPT not in page.page.html


def test_own_pairs_come_from_a_table(page: Interventions) -> None:
    page.choose("set", examples.OWN)
    assert "Choose a file to continue" in page.texts
    assert not page.bars
    table = b"premise,hypothesis\nthe good film,a good plot\na dull film,the film was very bad\nnot good,bad\n"
    page.at.get_by_key("pairs file").upload("mine.csv", table, "text/csv")
    page.run()
    assert "3 different pairs" in page.texts
    assert page.shares[0]["ordered pairs"] == "6"
    page.choose("set", examples.SHIPPED)
    assert page.shares[0]["ordered pairs"] != "6"
    page.choose("set", examples.OWN)
    assert "Given before: mine.csv." in page.texts
    assert page.shares[0]["ordered pairs"] == "6"
    page.at.button(key="remove pairs file").click()
    page.run()
    assert "Choose a file to continue" in page.texts


def test_own_columns_are_chosen_and_what_was_chosen_stays(page: Interventions) -> None:
    page.choose("set", examples.OWN)
    table = b"no,claim,source text\n1,a good plot,the good film\n2,the film was very bad,a dull film\n3,bad,not good\n"
    page.at.get_by_key("pairs file").upload("mine.csv", table, "text/csv")
    page.run()
    boxes = [page.at.selectbox(key=f"{which} column").value for which in ("first", "second")]
    assert boxes == ["claim", "source text"]  # the longest one, and not the numbers of the rows
    assert "3 different pairs" in page.texts
    page.choose("first column", "source text").choose("second column", "claim")
    last = inputs.list_entry(3, PlainInput("not good", "bad"))
    assert last in page.at.selectbox(key="base own").options
    page.choose("base own", last).choose("set", examples.SHIPPED).choose("set", examples.OWN)
    assert page.at.selectbox(key="base own").value == last
    page.choose("first column", "no")
    assert "“no” holds numbers alone. Is it the column of the texts?" in page.texts
    page.choose("first column", "claim")
    assert page.errors == ["The column 'claim' cannot hold both texts of a pair. Choose another one."]


def test_columns_whose_names_tell_nothing_are_read_in_the_order_of_the_file(page: Interventions) -> None:
    page.choose("set", examples.OWN)
    table = b"a,b\nthe plot,the good film was dull\nbad,the film was very bad\n"
    page.at.get_by_key("pairs file").upload("mine.csv", table, "text/csv")
    page.run()
    assert [page.at.selectbox(key=f"{which} column").value for which in ("first", "second")] == ["a", "b"]


def test_a_bad_table_is_a_sentence(page: Interventions) -> None:
    page.choose("set", examples.OWN)
    page.at.get_by_key("pairs file").upload("mine.csv", b"note\n1\n", "text/csv")
    page.run()
    assert page.errors == ["A pair needs two columns, such as premise and hypothesis, and mine.csv does not have them."]
    assert not page.bars


def test_the_same_question_is_not_computed_again(page: Interventions, speaker: FrozenModel) -> None:
    while session.engine().queue:  # the Compare page's run, which was opened first
        time.sleep(0.01)
    calls: list[int] = []
    handle = speaker.module.register_forward_pre_hook(lambda *_args: calls.append(1))
    page.run()
    assert not calls
    page.choose("draw", 3)
    assert len(calls) == 1  # base and source together; the states of the set are remembered
    handle.remove()


def likeliest(bars: str, when: str) -> str:
    """The class with the highest probability "before" or "after", from a bar chart in words."""
    shares: list[tuple[str, str]] = re.findall(rf"(\w+): [^;]*?(\d\.\d{{3}}) {when}", bars)
    return max(shares, key=lambda share: float(share[1]))[0]


def test_it_opens_with_an_exchange_that_changes_the_models_class(page: Interventions) -> None:
    assert likeliest(page.bars[0], "before") != likeliest(page.bars[0], "after")
    assert "The intervention moves the model from" in page.texts
    assert "Chosen because it changes the model's class" in page.texts
    page.choose("base", page.at.selectbox(key="source").value)
    assert "None of the draws 0 to 99 changes the model's class for this base and source." in page.texts
    assert "Chosen because" not in page.texts


def test_where_no_exchange_changes_the_class_the_page_says_so(
    opened: Opened, speaks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computations, "first_change", lambda *_args: None)
    nothing = "in hidden 1, none of the draws 0 to 19 changes the model's class for any two of the first 6"
    monkeypatch.setattr(computations, "changing_draws", lambda *_args: ())
    page = Interventions(opened)
    assert nothing in page.texts
    assert "None of the draws 0 to 99 changes the model's class for this base and source" in page.texts
    assert page.at.selectbox(key="base").value.startswith("1. ")
    monkeypatch.setattr(computations, "changing_draws", lambda *_args: (0, 25))
    page.run()
    assert "2 of the draws 0 to 99 change the model's class for this base and source" in page.texts
    assert nothing not in page.texts  # beside what was found it would read as a contradiction
    assert "Chosen because" not in page.texts


def opens_with(monkeypatch: pytest.MonkeyPatch, base: int, source: int, draw: int) -> None:
    monkeypatch.setattr(computations, "first_change", lambda *_args: ChangingExchange(base, source, draw))
    monkeypatch.setattr(computations, "changing_draws", lambda *_args: (draw,))


def test_another_model_moves_the_opening_but_not_what_a_person_chose(
    opened: Opened, speaks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens_with(monkeypatch, 0, 1, 5)
    page = Interventions(opened)
    options = page.at.selectbox(key="base").options
    opens_with(monkeypatch, 2, 3, 9)  # as for another model and the same set
    page.run()
    assert [page.at.get_by_key(key).value for key in ("base", "source", "draw")] == [options[2], options[3], 9]
    assert "Chosen because" in page.texts
    page.run()  # without another change everything stays
    assert [page.at.get_by_key(key).value for key in ("base", "source", "draw")] == [options[2], options[3], 9]
    page.choose("draw", 7).choose("base", options[4])
    opens_with(monkeypatch, 0, 1, 5)
    page.run()
    assert [page.at.get_by_key(key).value for key in ("base", "source", "draw")] == [options[4], options[1], 7]


def test_the_layer_stays_for_a_model_of_other_sizes(page: Interventions, monkeypatch: pytest.MonkeyPatch) -> None:
    page.choose("layer", "state")
    assert page.at.get_by_key("which").label == "Neurons (of 16)"
    head = computations.HeadInfo(("entailment", "neutral", "contradiction"), (12, 8))
    monkeypatch.setattr(computations, "head_info", lambda *_args: head)
    page.run()
    assert page.at.get_by_key("which").label == "Neurons (of 12)"
    assert page.at.get_by_key("layer").value == "state"
    assert "The mixed state, generated" in page.texts


@pytest.fixture
def images(multimodal: None, tiny_language: Callable[..., GPT2LMHeadModel], monkeypatch: pytest.MonkeyPatch) -> None:
    """A small model of images is the only one with narrators, which nothing but chance has trained."""
    model = catalog.load("scenes")
    some = [generated_example(f"scene {number}") for number in range(101, 113)]
    layers = model.module.get_submodule("base_model.encoder.layer")
    assert isinstance(layers, nn.ModuleList)
    layers.append(copy.deepcopy(layers[0]))  # so that there is a middle layer, which some narrators see
    last = linear_layers(classifier_head(model))[-1]
    last.bias.data -= head_states(model, some).logits.mean(0)  # so that not all images get the same class
    words = vocabulary([f"The answer is {label} because it is." for label in model.labels], model.labels)
    language = language_of(words)
    narrators = {
        spec.id: Narrator(
            classifier_head(model),
            tiny_language(language.size, reads_tokens=spec.reads_tokens),
            language,
            spec.losses,
            layer=int(spec.reads_tokens),
            reads=spec.reads,
        ).requires_grad_(False)
        for spec in NARRATORS
    }
    fitted = [SimpleNamespace(method=id, path=Path(__file__)) for id in narrators]
    monkeypatch.setattr(computations, "bundle_names", lambda: ("scenes",))
    monkeypatch.setattr(computations, "available_artifacts", lambda name, *_rest: fitted if name == "scenes" else ())
    monkeypatch.setattr(narrate, "load_narrator", lambda _model, method: (None, narrators[method]))
    monkeypatch.setattr(computations, "narrator_card", lambda *_args: {"recipe": {"losses": "cause"}})
    monkeypatch.setattr(examples, "GENERATED", 12)
    st.cache_data.clear()


@pytest.fixture
def image_page(opened: Opened, images: None) -> Interventions:
    return Interventions(opened)


def test_a_model_of_images_gets_generated_examples_with_their_images(image_page: Interventions) -> None:
    assert not image_page.errors
    assert len(image_page.bars) == 3
    assert "steps all 128 neurons of this layer have taken part" in image_page.texts
    assert image_page.shares[0]["ordered pairs"] == "132"  # 12 · 11
    base = image_page.at.selectbox(key="base image").value
    assert base.startswith("scene 1")
    assert generated_example(base.partition(":")[0]).text in image_page.texts
    assert len(image_page.at.get("image")) == 3  # of base, source and the nearest example of another class
    image_page.choose("set from", 501)
    assert image_page.at.selectbox(key="base image").options[0].startswith("scene 501: ")


def test_another_text_about_an_image_can_be_typed_and_stays_text(image_page: Interventions) -> None:
    image_page.choose("base image", examples.TYPED)
    image_page.choose("base number", 7).choose("base text", f"There is a box. {SCRIPT}")
    assert not image_page.errors
    assert f"There is a box. {SCRIPT}" in image_page.texts
    assert not image_page.obeyed
    image_page.choose("base text", " ")
    assert image_page.errors == ["The text of the base is missing. Type at least one word."]


def test_another_set_moves_the_opening(image_page: Interventions, monkeypatch: pytest.MonkeyPatch) -> None:
    opens_with(monkeypatch, 2, 3, 9)
    image_page.choose("set from", 501)
    values = [str(image_page.at.get_by_key(key).value) for key in ("base image", "source image", "draw")]
    assert [value.partition(":")[0] for value in values] == ["scene 503", "scene 504", "9"]
    assert "Chosen because" in image_page.texts


def test_the_last_set_can_be_opened_and_typed_over(image_page: Interventions) -> None:
    image_page.choose("set from", examples.LAST).choose("base image", examples.TYPED)
    assert not image_page.errors
    number = image_page.at.number_input(key="base number")
    assert examples.LAST <= number.value <= number.max == examples.LAST + examples.GENERATED - 1


@pytest.fixture
def own_images(opened: Opened, images: None, monkeypatch: pytest.MonkeyPatch) -> Interventions:
    """The page for a model of images without a generator."""
    info = model_info.ModelInfo(multimodal=True, version="1")
    monkeypatch.setattr(computations, "model_info", lambda _pool, _name: info)
    return Interventions(opened)


def zipped(rows: str, header: str = "text,image") -> bytes:
    """Five generated images, 101.png to 105.png, and a table with these rows."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mine.csv", f"{header}\n{rows}")
        for number in range(101, 106):
            image = generated_example(f"scene {number}").image
            assert image is not None
            archive.writestr(f"{number}.png", image.png())
    return file.getvalue()


def test_own_images_come_from_an_archive(own_images: Interventions) -> None:
    assert "Choose a file to continue" in own_images.texts
    assert not own_images.bars
    rows = "".join(f"{generated_example(f'scene {number}').text},{number}.png\n" for number in range(101, 106))
    content = zipped(f"{rows}There is a box. {SCRIPT},101.png\nA lost one,gone.png\n")
    own_images.at.get_by_key("images file").upload("mine.zip", content, "application/zip")
    own_images.run()
    assert not own_images.errors
    (left_out,) = own_images.page.plain("warning")
    assert left_out == "Line 8, image 'gone.png': It is missing in the ZIP file. The row is left out."
    assert "6 different texts with images" in own_images.texts
    assert own_images.shares[0]["ordered pairs"] == "30"
    assert len(own_images.bars) == 3
    offered = own_images.at.selectbox(key="base own").options
    assert offered[0].startswith("1. 101.png: ")
    own_images.choose("base own", offered[5])
    assert SCRIPT in own_images.texts
    own_images.choose("base own", examples.TYPED).choose("base file", "105.png").choose("base file text", "A typed one")
    assert "A typed one" in own_images.texts
    assert not own_images.obeyed
    own_images.choose("base file text", "")
    assert own_images.errors[-1] == "The text of the base is missing. Type at least one word."
    assert not [name for name in own_images.at.query_params if name.startswith("base")]
    own_images.at.get_by_key("images file").upload("other.zip", zipped(rows), "application/zip")
    own_images.run()
    assert not own_images.errors
    assert own_images.at.selectbox(key="base own").value != examples.TYPED  # it went with its file


def test_the_columns_of_texts_and_images_are_chosen(own_images: Interventions) -> None:
    rows = "".join(f"x,{generated_example(f'scene {number}').text},{number}.png\n" for number in range(101, 104))
    content = zipped(rows, "by,caption,picture")
    own_images.at.get_by_key("images file").upload("mine.zip", content, "application/zip")
    own_images.run()
    boxes = [own_images.at.selectbox(key=f"{which} column").value for which in ("first", "second")]
    assert boxes == ["caption", "picture"]
    assert "3 different texts with images" in own_images.texts
    own_images.choose("first column", "by")
    assert "3 different texts with images" in own_images.texts
    assert own_images.at.selectbox(key="base own").options[0] == "1. 101.png: x"


def test_a_bad_archive_is_a_sentence(own_images: Interventions) -> None:
    own_images.at.get_by_key("images file").upload("mine.zip", zipped("A box,gone.png\n"), "application/zip")
    own_images.run()
    assert own_images.errors == [
        "No row of mine.csv can be used. Line 2, image 'gone.png': It is missing in the ZIP file. The row is left out."
    ]
    own_images.at.get_by_key("images file").upload("mine.zip", b"PK", "application/zip")
    own_images.run()
    assert own_images.errors == ["mine.zip is not a readable ZIP file. Pack it again."]


@pytest.mark.parametrize(("asked", "shown"), [("two", "two"), ("three", "one"), (None, "one")])
def test_the_model_of_a_compare_address_is_the_one_that_is_shown(
    asked: str | None, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script() -> None:
        import streamlit as st

        from app.interventions import heading
        from app.interventions.state import interventions_state

        interventions_state().begin()
        st.text(heading.narrated_model(None))  # type: ignore[arg-type]

    monkeypatch.setattr(computations, "narrated_models", lambda _pool: {"one": "one", "two": "two"})
    at = AppTest.from_function(script, default_timeout=60)
    if asked:
        at.query_params["model"] = asked
    assert at.run().text[0].value == shown
