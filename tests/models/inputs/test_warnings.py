import csv
import gzip
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from explainers.errors import ExplanationError
from explainers.models.inputs.encoding import Encoding, encode
from explainers.models.inputs.requirements import (
    FOREIGN,
    IDENTICAL,
    input_warnings,
    looks_foreign,
)
from explainers.models.text.base_weights import base_folder
from explainers.models.text.bundle import base_tokenizer

FOREIGN_TEXTS = {
    "German": "Ein wunderbarer Film, der mich von Anfang bis Ende begeistert hat.",
    "German, a no": "Das ist nicht gut und ich habe es nicht gern gesehen.",
    "German, a scene": "Kinder spielen draußen im Park mit einem roten Ball.",
    "French": "Je me suis ennuyé pendant deux heures devant ce film.",
    "French, a scene": "Un homme joue de la guitare dans la rue. Une femme dort.",
    "Spanish": "Una película maravillosa que me emocionó de principio a fin.",
    "Spanish, a scene": "Los niños juegan afuera con una pelota roja.",
    "Italian": "Un film bellissimo che mi ha commosso dall'inizio alla fine.",
    "Finnish": "Elokuva oli aivan liian pitkä ja todella tylsä alusta loppuun.",
    "Turkish": "Bu film çok uzun ve gerçekten sıkıcıydı, hiç beğenmedim.",
    "Chinese": "这部电影非常精彩，演员的表演令人难忘。",
    "Chinese, a scene": "一个男人在街上弹吉他。",
    "Japanese": "とても素晴らしい映画で、最後まで楽しめました。",
    "Korean": "이 영화는 너무 길고 지루했습니다 정말로 실망했어요",
    "Russian": "Замечательный фильм, который тронул меня до слёз.",
    "Arabic": "فيلم رائع أثر في من البداية إلى النهاية",
}
ENGLISH_TEXTS = (
    "A charming and often affecting journey.",
    "Although the ending feels rushed, the villain is never more than a cartoon.",
    "A naïve little café romance 🎬 that left me smiling 😀",
    "Boring, boring, boring: two dull hours with dull people in dull rooms.",
    "Two dogs chase a frisbee across the lawn.",
    "Der Untergang is a very good film.",
)
DATA = Path(__file__).parents[4] / "shared" / "data"


@lru_cache(maxsize=1)
def english_only() -> Tokenizer:
    return base_tokenizer(base_folder(), 256)


def read(*texts: str) -> Encoding:
    try:
        return encode(english_only(), texts, "word")
    except ExplanationError as error:
        pytest.skip(f"the base weights are not here: {error}")


def unknown() -> int | None:
    return english_only().token_to_id("[UNK]")


@pytest.mark.parametrize("text", FOREIGN_TEXTS.values(), ids=FOREIGN_TEXTS)
def test_another_language_is_noticed(text: str) -> None:
    encoding = read(text)
    assert looks_foreign(encoding, unknown())
    assert input_warnings("sst2", encoding, foreign=True) == FOREIGN.format(name="sst2")
    assert input_warnings("owner/model", encoding, foreign=False) == ""


@pytest.mark.parametrize("text", ENGLISH_TEXTS)
def test_english_is_not(text: str) -> None:
    assert not looks_foreign(read(text), unknown())


@pytest.mark.parametrize("text", ["Sehr schön, wirklich wunderbar!", "很好", "", "?!... 1234 5678 90 12 34 56"])
def test_of_a_few_words_nothing_is_guessed(text: str) -> None:
    assert not looks_foreign(read(text), unknown())


def test_a_hypothesis_in_another_language_is_noticed_too() -> None:
    assert looks_foreign(read("Two dogs.", "Zwei Hunde laufen durch den Schnee und spielen mit einem Ball."), unknown())


@pytest.mark.parametrize(
    ("name", "columns", "texts"),
    [("sst2/dev.tsv.gz", ("text",), 872), ("esnli/dev.tsv.gz", ("premise", "hypothesis"), 2000)],
)
def test_of_a_thousand_english_texts_less_than_five_are_called_foreign(
    name: str, columns: tuple[str, ...], texts: int
) -> None:
    if not (DATA / name).is_file():
        pytest.skip(f"there is no {name} beside the project")
    with gzip.open(DATA / name, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:texts]
    alarms = sum(looks_foreign(read(*(row[column] for column in columns)), unknown()) for row in rows)
    assert alarms < 0.005 * len(rows)


def test_many_unknown_tokens_are_noticed(pieces_tokenizer: Callable[[tuple[str, ...]], Tokenizer]) -> None:
    strange = encode(pieces_tokenizer(("good", "film")), ("good xa xb xc xd film",), "word")
    assert looks_foreign(strange, 1)
    assert not looks_foreign(strange, None)


def test_equal_texts_are_noticed_and_joined_with_what_was_cut(
    pieces_tokenizer: Callable[[tuple[str, ...]], Tokenizer],
) -> None:
    small = pieces_tokenizer(("good", "film"))
    assert input_warnings("m", encode(small, ("good film", " good film"), "word"), foreign=False) == IDENTICAL
    small.enable_truncation(5)
    warning = input_warnings("m", encode(small, ("good film", "good film"), "word"), foreign=False)
    assert warning.startswith("The text is too long for this model: it reads ")
    assert warning.endswith(f" are explained. {IDENTICAL}")


def test_a_long_premise_never_cuts_the_hypothesis_away() -> None:
    encoding = read("A man sleeps on a bench. " * 500, "Somebody is awake.")
    assert [unit.text for unit in encoding.units if unit.segment == 1] == ["Somebody", "is", "awake", "."]
    assert len(encoding.ids) == 256
    assert "and 18 of 18 characters" in encoding.warning
