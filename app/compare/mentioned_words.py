"""Which words of the input a sentence mentions, in whatever form, and where they stand in it."""

from typing import TYPE_CHECKING

from app.compare.heat_maps import remaining
from app.compare.runs import Run
from explainers.narrative.content_words import WORD, content, stem
from explainers.report.text import visible

if TYPE_CHECKING:
    from explainers.results.narrative import Narrative


def mentioned(run: Run, narrative: "Narrative") -> dict[str, tuple[str, list[int]]]:
    """By stem: a word of the input that the sentence mentions, with all its unit numbers in the whole text."""
    if run.whole is None:
        return {}
    units, numbers = run.whole.encoding.units, remaining(run)
    words: dict[str, tuple[str, list[int]]] = {}
    for index in narrative.mentions:
        number = numbers[index]
        if units[number].kind == "patch":  # its name was not written by the narrator
            continue
        for word in content(units[number].text)[:1]:
            words.setdefault(stem(word), (visible(units[number].text), []))[1].append(number)
    return words


def pieces(text: str, words: dict[str, tuple[str, list[int]]]) -> list[tuple[str, list[int]]]:
    """The sentence cut into words and what lies between them; each with the units that it mentions."""
    result: list[tuple[str, list[int]]] = []
    end = 0
    for match in WORD.finditer(text):
        units = next((words[stem(word)][1] for word in content(match[0]) if stem(word) in words), [])
        if units:
            result += [(visible(text[end : match.start()]), []), (visible(match[0]), units)]
            end = match.end()
    return [*result, (visible(text[end:]), [])]
