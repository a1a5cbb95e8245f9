"""What a person or a model's author typed, made harmless for Streamlit's Markdown."""

import re

SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~:$&])")


def markdown(text: str) -> str:
    """The text so that Markdown, LaTeX, HTML, emoji codes and colour directives in it are shown as typed."""
    return SPECIAL.sub(r"\\\1", text.replace("\x00", "").replace("\n", " "))
