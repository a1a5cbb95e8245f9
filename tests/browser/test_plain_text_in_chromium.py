"""Every place of a page that is given what people and libraries wrote shows it, letter by letter, and obeys nothing."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from explainers.studies.speed import measure
from tests.browser.conftest import PATIENCE

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
TYPED = (
    "http://a.example/x https://b.example www.c.example someone@d.example",
    ":material/home: :material_home: :streamlit: :smile: :red[red] :blue-background[x] :small[x] :rainbow[x]",
    "a -> b <- c <-> d -- e >= f <= g ~= h",
    "**bold** __bold__ _it_ ~~gone~~ `code` $x^2$ [a](http://e.example) ![a](http://f.example/x.png) [^1] <b>b</b>",
    "# title - list 1. list > quote | a | b | :shortcode: &amp; \\* ==mark==",
)
SCRIPT = f"""
import streamlit as st
from app import plain_text
from app.plain_text import Bold

TYPED = {TYPED!r}
with st.container(key="select"):
    st.selectbox("one", TYPED)
for number, typed in enumerate(TYPED):
    for draw in (plain_text.error, plain_text.warning, plain_text.success, plain_text.caption, plain_text.paragraph):
        with st.container(key=f"{{draw.__name__}}-{{number}}"):
            draw(typed)
    with st.container(key=f"bullets-{{number}}"):
        plain_text.bullets([typed])
    with st.container(key=f"multi-{{number}}"):
        st.multiselect("many", [typed], default=[typed], key=f"m{{number}}")
    with st.container(key=f"code-{{number}}"):
        st.code(typed, "sh")
    with st.container(key=f"json-{{number}}"):
        st.json({{typed: typed}})
    with st.container(key=f"label-{{number}}"):
        st.text_area(plain_text.label(typed, "Text"), key=f"a{{number}}", placeholder=typed)
"""
DRAWN = ("error", "warning", "success", "caption", "paragraph", "bullets", "multi", "code")
OBEYED = "a, img, strong, em, del, mark, sup, .katex, [data-testid=stIconMaterial], [role=img]"


@pytest.fixture(scope="module")
def sinks(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    script = tmp_path_factory.mktemp("sinks") / "sinks.py"
    script.write_text(SCRIPT, encoding="utf-8")
    port = measure.free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless=true"]
    with subprocess.Popen([*command, f"--server.port={port}"], cwd=ROOT, stdout=-3, stderr=-3) as process:
        measure.wait_for(port)
        context = chromium.new_context(reduced_motion="reduce")
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"http://127.0.0.1:{port}/")
        expect(page.locator(f".st-key-label-{len(TYPED) - 1} textarea")).to_be_visible()
        yield page
        context.close()
        process.terminate()


def part(page: Page, kind: str, number: int) -> Locator:
    return page.locator(f".st-key-{kind}-{number}")


@pytest.mark.parametrize("number", range(len(TYPED)))
@pytest.mark.parametrize("kind", DRAWN)
def test_it_is_shown_letter_by_letter(sinks: Page, kind: str, number: int) -> None:
    expect(part(sinks, kind, number)).to_contain_text(TYPED[number])
    assert not part(sinks, kind, number).locator(OBEYED).count()


@pytest.mark.parametrize("number", range(len(TYPED)))
def test_a_tree_of_values_makes_no_links(sinks: Page, number: int) -> None:
    expect(part(sinks, "json", number)).to_contain_text(TYPED[number].split()[0])
    assert not part(sinks, "json", number).locator("a, img, strong, em").count()


@pytest.mark.parametrize("number", range(len(TYPED)))
def test_a_label_is_made_of_words_or_another_one(sinks: Page, number: int) -> None:
    expect(part(sinks, "label", number).locator("label").first).to_have_text("Text")


def test_a_list_of_choices_shows_it_too(sinks: Page) -> None:
    box = sinks.locator(".st-key-select")
    expect(box.locator("input").first).to_have_value(TYPED[0])
    box.get_by_role("button", name="Open").click()
    options = sinks.get_by_role("option")
    expect(options).to_have_text(list(TYPED))
    assert not options.locator(OBEYED).count()
