"""What a column of a person's table probably holds, by its name."""

from collections.abc import Sequence

NAMES = {  # in lower case, the likeliest first
    "text": ("text", "sentence", "review", "premise", "sentence1", "content"),
    "pair": ("pair", "text_pair", "hypothesis", "sentence2"),
    "label": ("label", "class", "target", "sentiment", "gold_label"),
    "id": ("id", "key", "idx", "guid"),
    "image": ("image", "picture", "file", "path"),
    "rationale": ("rationale", "rationales"),
}


def guessed(kind: str, columns: Sequence[str]) -> str:
    """Return the column that probably holds what `NAMES` knows; for texts the first one where none is called so, for
    everything else then ""."""
    by_name = {column.strip().casefold(): column for column in reversed(columns)}
    named = next((by_name[name] for name in NAMES[kind] if name in by_name), "")
    return named or (columns[0] if kind == "text" and columns else "")
