"""A language model with a prompt on the Compare page, and the popover in which the prompt is written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.compare import score_sheet
from app.model_pool import ROOTS_VARIABLE
from explainers.installation import STORE_VARIABLE
from explainers.models.prompt import Prompt, prompt_named, save_prompt, saved_folder, split_name
from tests.models.prompted.conftest import KINDS, language_model
from tests.pages.conftest import Page

pytestmark = pytest.mark.usefixtures("own_engine")
TEXT = "the plot seemed quite loud"
PROMPT = Prompt("the film was very long {text} and there was", {"no": "old", "yes": "new"})
Opened = Callable[..., Page]


@pytest.fixture
def page(opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    """The page with a small language model and the prompt."""
    from explainers.studies.architectures import tokenizer_of

    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.setenv(ROOTS_VARIABLE, str(tmp_path))
    folder = tmp_path / "llama"
    language_model("llama").save_pretrained(folder)
    tokenizer_of(KINDS["llama"]).save_pretrained(folder)
    return opened(model=f"{folder}:{save_prompt(PROMPT)}", text=TEXT).settle()


def use(page: Page, **fields: object) -> Page:
    """Fills the form and sends it."""
    for name, value in fields.items():
        page.at.get_by_key(f"prompt {name}").set_value(value)
    next(button for button in page.at.button if button.label == "Use this prompt").click()
    return page.settle()


def problem(page: Page) -> str:
    return " ".join(page.plain("error"))


def test_its_answer_comes_with_what_to_know_of_it(page: Page) -> None:
    run = page.state.run
    assert run is not None
    assert run.status == "done"
    assert run.request.settings.erasure == "delete"
    assert "erase" not in page.address
    assert page.words == TEXT.split()
    assert any(line.startswith("The class words “old” (no) and “new” (yes) have") for line in page.captions)
    assert page.control("erase").value == "delete"


def test_the_fields_hold_the_prompt(page: Page) -> None:
    assert page.at.text_area(key="prompt template").value == PROMPT.template
    assert page.at.text_area(key="prompt words").value == "no = old\nyes = new"
    assert page.at.text_input(key="prompt model").value == split_name(page.state.controls.model)[0]


def test_another_prompt_is_another_model(page: Page) -> None:
    page.choose("class", "yes")
    use(page, template="the film {text} was", words="bad = long\n\ngood = short\nlate")
    model, key = split_name(page.state.controls.model)
    assert prompt_named(key) == Prompt("the film {text} was", {"bad": "long", "good": "short", "late": "late"})
    assert page.address["model"] == f"{model}:{key}"
    assert page.state.controls.class_ == "the predicted one"
    assert page.state.run is not None
    assert page.state.run.status == "done"
    assert page.at.get_by_key("class").options[1:] == ["bad", "good", "late"]
    assert page.text == TEXT
    page.state.undo()
    page.run()
    assert page.at.text_area(key="prompt template").value == PROMPT.template


def test_a_wrong_prompt_is_a_sentence_and_stays_in_its_field(page: Page) -> None:
    before = page.state.controls.model
    right = {"model": split_name(before)[0], "template": PROMPT.template, "words": "no = old\nyes = new"}
    cases: list[tuple[dict[str, str], str]] = [
        ({"template": "the film was"}, "no slot {text}"),
        ({"words": "no = old"}, "2 to 100 classes"),
        ({"words": "no = old\nno = new"}, "The class 'no' comes twice"),
        ({"words": ""}, "there are 0"),
        ({"model": "owner/model:sst2"}, "has a prompt already"),
        ({"model": "sst2"}, "'sst2' is a classifier and reads no prompt"),
        ({"model": " "}, "Name a language model"),
        ({"model": "/etc"}, "is not available"),
    ]
    for fields, sentence in cases:
        use(page, **{**right, **fields})
        assert sentence in problem(page), fields
        for name, value in fields.items():
            assert page.at.get_by_key(f"prompt {name}").value == value
        assert page.state.controls.model == before
    use(page, **right)
    assert not problem(page)


def test_the_examples_of_the_prompt_are_units(page: Page) -> None:
    assert list(page.control("unit").options) == ["auto", "word", "token", "sentence"]
    shots = ("the plot was old", "the film was new")
    use(page, template="\n\n".join((*(f"{shot} and so late" for shot in shots), "the {text} and so")))
    page.choose("unit", "example")
    run = page.state.run
    assert run is not None
    assert run.status == "done"
    assert run.whole is not None
    assert [unit.text for unit in run.whole.encoding.units] == [f"{shot} and so late" for shot in shots]
    assert page.address["unit"] == "example"
    assert score_sheet.labels(run) == ["Examples", "Text"]
    examples, text = score_sheet.segments(run)
    assert [number for _, number in examples if number >= 0] == [0, 1]
    assert text == [(TEXT, -1)]
    use(page, template="the film {text} was")
    assert page.state.controls.unit == "auto"
    assert page.words == TEXT.split()


def test_the_model_itself_can_be_asked(page: Page) -> None:
    assert any(pills.key == "asked" for pills in page.at.button_group)
    page.at.get_by_key("asked").set_value(["Self-ranking"])
    page.settle()
    run = page.state.run
    assert run is not None
    result = run.result("self_ranking")
    assert result is not None
    assert len(set(result.attribution.scores)) > 1
    assert page.address["asked"] == "Self-ranking"


def test_words_that_begin_alike_are_a_sentence_of_the_run(page: Page) -> None:
    use(page, words="no = old film\nyes = old plot")
    assert "begin with the same token" in problem(page)
    assert page.text == TEXT
    use(page, read="mean")
    assert not problem(page)
    assert prompt_named(split_name(page.state.controls.model)[1]).read == "mean"
    assert any("Of “old film” the mean over its tokens is read: “old” and “film”." in line for line in page.captions)
    assert page.at.get_by_key("prompt read").value == "mean"
    page.choose("prompt start", "sst2")
    assert page.at.get_by_key("prompt read").value == "first"


def test_names_of_classes_may_have_any_sign(page: Page) -> None:
    prompt = Prompt("the film {text} was", {"x=1": "old", "a = b": "new", "c": "long"})
    use(page, template=prompt.template, words="x=1 = old\na = b = new\nc: long")
    assert prompt_named(split_name(page.state.controls.model)[1]) == prompt
    before = page.state.controls.model
    use(page)
    assert page.state.controls.model == before


def test_a_wrong_model_saves_nothing(page: Page) -> None:
    before = sorted(saved_folder().iterdir())
    use(page, model="/etc", template="the film {text} felt")
    assert sorted(saved_folder().iterdir()) == before


def test_a_prompt_with_an_adapter_stays_where_nothing_was_changed(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    from app.compare import question_form

    monkeypatch.setattr(question_form.model_pool, "roots", lambda: None)
    name = split_name(page.state.controls.model)[0]
    for key in ("completion", "sst2"):
        page.state.change(model=f"{name}:{key}")
        page.run()
        use(page)
        assert page.state.controls.model == f"{name}:{key}"
    assert not page.at.get_by_key("prompt start").options[-1].startswith("the film {text} was")
    use(page, template="the film {text} was")
    words = ", ".join(prompt_named("sst2").classes.values())
    assert page.at.get_by_key("prompt start").options[-1] == f"the film {{text}} was ({words})"
    assert split_name(page.state.controls.model)[1] not in ("completion", "sst2")


def test_a_shipped_prompt_fills_the_fields(page: Page) -> None:
    page.choose("prompt start", "sst2")
    assert page.at.text_area(key="prompt template").value == prompt_named("sst2").template


def test_an_unknown_prompt_is_a_sentence(opened: Opened, page: Page) -> None:
    other = opened(model=f"{split_name(page.state.controls.model)[0]}:nothing", text=TEXT).settle()
    assert "There is no prompt 'nothing' here" in problem(other)
    assert other.at.text_area(key="prompt template").value == prompt_named("sst2").template


def test_examples_have_as_many_texts_as_the_prompt(page: Page) -> None:
    examples = page.at.get_by_key("example").options
    assert "Mixed feelings" in examples
    assert "Paraphrase" not in examples
    use(page, template="the film {text} but there {text_pair} was")
    examples = page.at.get_by_key("example").options
    assert "Paraphrase" in examples
    assert "Mixed feelings" not in examples


@pytest.mark.usefixtures("both")
def test_an_embedded_classifier_has_no_prompt(opened: Opened) -> None:
    page = opened(model="sst2", text="A fine film").settle()
    assert not [box for box in page.at.text_area if box.key == "prompt template"]
    assert not any(pills.key == "asked" for pills in page.at.button_group)
