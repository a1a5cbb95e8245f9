import re

import pytest
from markdown_it import MarkdownIt

from app.markdown import markdown
from explainers.models.catalog import load

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
TYPED = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[link](javascript:alert(1))",
    "![picture](https://example.org/x.png)",
    "<https://example.org>",
    "**bold** _it_ `code` ~~gone~~",
    "| a | b |",
    "&lt;b&gt; &#60;",
    "\\*escaped\\*",
    "# not a title",
    "[a]: https://example.org",
)


def tokens(text: str) -> set[str]:
    """The kinds of everything that Markdown finds in a sentence."""
    inline = [child for token in READER.parse(text) for child in token.children or ()]
    return {token.type for token in [*READER.parse(text), *inline]}


@pytest.mark.parametrize("typed", TYPED)
def test_markdown_and_html_are_shown_as_typed(typed: str) -> None:
    sentence = f"There is no model '{markdown(typed)}'."
    assert tokens(sentence) <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special"}
    (inline,) = (token for token in READER.parse(sentence) if token.type == "inline")
    assert "".join(child.content for child in inline.children or ()) == f"There is no model '{typed}'."


@pytest.mark.parametrize(
    "typed", ["# title", "- list", "+ list", "> quote", "1. list", "---", "```", "a\n===", "a\n\nb"]
)
def test_nothing_that_is_typed_begins_a_block(typed: str) -> None:
    assert tokens(markdown(typed)) <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special"}


@pytest.mark.parametrize("typed", ["$x^2$", "$$x$$", ":smile:", ":red[text]", ":material/home:", ":small[x]"])
def test_formulas_emoji_codes_and_colours_have_no_sign_that_is_not_escaped(typed: str) -> None:
    assert not re.search(r"(?<!\\)[$:\[\]]", markdown(typed))


def test_nul_and_line_breaks_are_left_out() -> None:
    assert markdown("a\x00b\nc") == "ab c"


def test_letters_of_every_script_stay() -> None:
    assert markdown("naïve 🎬 فيلم 映画") == "naïve 🎬 فيلم 映画"


@pytest.mark.parametrize("name", TYPED)
def test_the_sentence_about_an_unknown_model_is_one_harmless_sentence(name: str) -> None:
    with pytest.raises(Exception, match="is not available") as refused:
        load(name)
    shown = markdown(str(refused.value))
    assert tokens(shown) <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special"}
