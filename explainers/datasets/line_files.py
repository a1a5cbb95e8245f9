"""Files with a row per line, JSON lines or texts, read without holding the file in memory."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from explainers.datasets.tables import Record, Source, has_surrogates, opened, parsed_json, text_lines
from explainers.errors import DataUnavailable

TEXTS = ".txt"
JSON_LINES = (".jsonl", ".ndjson")
TEXT_COLUMN = "text"


def is_line_file(name: str) -> bool:
    return Path(name).suffix.lower() in (*JSON_LINES, TEXTS)


def is_text_file(name: str) -> bool:
    return Path(name).suffix.lower() == TEXTS


def line_records(source: Source, name: str) -> Iterator[Record]:
    """Yield the lines that are not empty: of JSON lines every object, its values as texts and null as "", of other
    files the text in the column "text", with the line ends of `str.splitlines`, as `user_texts.parse_lines`."""
    of_texts = is_text_file(name)
    with opened(source, name) as file:
        for line, text in enumerate(text_lines(file, name, "\n"), start=1):
            if not text.strip():
                continue
            if has_surrogates(text):
                yield line, DataUnavailable(f"Line {line:,} is not UTF-8. Save the file as UTF-8.")
                continue
            if of_texts:
                yield from ((line, {TEXT_COLUMN: part}) for part in text.splitlines() if part.strip())
                continue
            try:
                value = parsed_json(text)
            except DataUnavailable as error:
                yield line, DataUnavailable(f"Line {line:,}: {error}")
                continue
            if isinstance(value, dict):
                yield line, {str(key): _cell_text(cell) for key, cell in value.items()}
            else:
                yield line, DataUnavailable(f"Line {line:,} is not a JSON object.")


def _cell_text(cell: Any) -> str:
    """Return a value as a table would hold it: lists and objects as JSON."""
    if cell is None:
        return ""
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else str(cell)
