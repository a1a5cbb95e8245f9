"""A person writes a prompt for a language model, in Chromium."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from app.model_pool import ROOTS_VARIABLE
from explainers.installation import STORE_VARIABLE
from explainers.models.prompt import Prompt, save_prompt, split_name
from explainers.studies.architectures import WORDS, tokenizer_of
from tests.browser.conftest import Visit as Window
from tests.browser.conftest import press_until, running_app
from tests.models.prompted.conftest import KINDS, language_model

pytestmark = pytest.mark.browser
TEXT = "the plot seemed quite loud"
METHODS = {"gradient": "", "learned": "", "attention": "", "controls": "", "perturbation": "Occlusion"}
PROMPT = Prompt("the film was very long {text} and there was", {"no": "old", "yes": "new"})
MANY = Prompt("the film {text} was", {f"class {word}": word for word in WORDS[:28]})
Visit = Callable[..., Window]


@pytest.fixture(scope="module")
def language_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of an app that may read a folder with a small language model, and that folder."""
    folder = tmp_path_factory.mktemp("prompts")
    language_model("llama").save_pretrained(folder / "llama")
    tokenizer_of(KINDS["llama"]).save_pretrained(folder / "llama")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ROOTS_VARIABLE, str(folder))
        patch.setenv(STORE_VARIABLE, str(folder / "store"))
        for prompt in (PROMPT, MANY):
            save_prompt(prompt)
        with running_app(folder / "store") as address:
            yield address, str(folder / "llama")


@pytest.fixture
def server(language_models: tuple[str, str]) -> str:
    return language_models[0]


def write_prompt(page: Page, template: str, words: str) -> None:
    page.get_by_role("button", name="Prompt", exact=True).click()
    page.get_by_role("textbox", name="Template").fill(template)
    page.get_by_role("textbox", name="Class words").fill(words)
    page.get_by_role("button", name="Use this prompt").click()


def test_a_prompt_is_written_and_its_faults_are_sentences(visit: Visit, language_models: tuple[str, str]) -> None:
    model = f"{language_models[1]}:{PROMPT.key}"
    window = visit(model=model, text=TEXT, few=False, **METHODS).done()
    page = window.page
    expect(page.get_by_text("The class words “old” (no) and “new” (yes) have")).to_be_visible()
    write_prompt(page, "the film was", "no = old\nyes = new")
    expect(page.get_by_text("The template has no slot {text}")).to_be_visible()
    expect(page.get_by_role("textbox", name="Template")).to_have_value("the film was")
    page.keyboard.press("Escape")
    expect(page.get_by_role("textbox", name="Template")).to_be_hidden()

    before = page.url
    write_prompt(page, "the scene {text} felt", "dull = long\nbright = bright")
    expect(page).not_to_have_url(before)
    expect(page.get_by_role("textbox", name="Template")).to_be_hidden()  # it closes when the prompt is used
    window.done()
    expect(page.get_by_text("The class words “long” (dull) and “bright” have")).to_be_visible()
    for word in ("dull", "bright"):
        expect(page.locator(".bars")).to_contain_text(word)

    write_prompt(page, "the scene {text} felt", "no = old film\nyes = old plot")
    expect(page.get_by_text("begin with the same token")).to_be_visible()
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_value(TEXT)

    second = visit(page.url)
    expect(second.page.get_by_text("begin with the same token")).to_be_visible()


def test_methods_of_the_model_before_do_not_come_back(visit: Visit, language_models: tuple[str, str]) -> None:
    window = visit(model="sst2", text=TEXT, few=False).done()
    page = window.page
    methods = page.get_by_role("button", name="methods · edit")
    before = methods.text_content() or ""
    press_until(methods, page.get_by_role("dialog").get_by_role("button", name="CIMI", exact=True))
    page.keyboard.press("Escape")
    box = page.get_by_role("combobox", name="Model", exact=True)
    box.fill(f"{language_models[1]}:{PROMPT.key}")
    box.press("Enter")
    expect(methods).not_to_have_text(before)
    window.done()
    after = methods.text_content() or ""  # learned methods are not fitted to this model
    write_prompt(page, "the film was", "no = old\nyes = new")
    expect(page.get_by_text("The template has no slot {text}")).to_be_visible()
    window.done()
    expect(methods).to_have_text(after)


def test_a_class_is_searched_among_many(visit: Visit, language_models: tuple[str, str]) -> None:
    name = split_name(f"{language_models[1]}:{MANY.key}")
    window = visit(model=":".join(name), text=TEXT, few=False, **METHODS).done()
    page = window.page
    expect(page.get_by_text("likeliest of 28 classes")).to_be_visible()
    box = page.get_by_role("combobox", name="Class to explain")
    box.click()
    box.fill("earl")
    expect(page.get_by_role("option")).to_have_count(1)
    box.press("Enter")
    window.done()
    expect(page.get_by_text("the explanations are for class early")).to_be_visible()
