"""What the server remembers for addresses: how much, how long, and for whom."""

import pytest

from app.compare import kept_inputs
from app.compare.kept_inputs import (
    TEXTS_NAME,
    ServerMemory,
    address_of,
    find_image,
    find_texts,
    name_of,
    remember_image,
    remember_texts,
)
from explainers.datasets.example import InputImage


def test_the_oldest_are_forgotten_where_all_are_too_large_together() -> None:
    memory = ServerMemory(most_bytes=10)
    for name in ("a", "b"):
        memory.remember(name, 5, (name, ""))
    memory.remember("a", 5, ("a", ""))  # given again, so that b is the oldest
    memory.remember("c", 5, ("c", ""))
    assert [memory.find(name) for name in "abc"] == [("a", ""), None, ("c", "")]
    memory.remember("d", 11, ("d", ""))  # larger than the memory
    assert [memory.find(name) for name in "acd"] == [("a", ""), ("c", ""), None]
    memory.remember("a", 10, ("a", ""))
    assert [memory.find(name) for name in "ac"] == [("a", ""), None]


def test_what_is_too_old_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(kept_inputs.time, "monotonic", lambda: now[0])
    memory = ServerMemory(seconds=60)
    memory.remember("a", 1, ("a", ""))
    now[0] = 60.0
    assert memory.find("a") == ("a", "")
    now[0] = 60.5
    assert memory.find("a") is None


def test_a_name_has_128_bits_and_is_of_one_kind() -> None:
    image = InputImage(b"any")
    text, picture = remember_texts(("a long text", "")), remember_image(image)
    assert len(text) == len(picture) == 32
    assert (find_image(picture), find_image(text)) == (image, None)
    assert (find_texts(text), find_texts(picture)) == (("a long text", ""), None)
    assert name_of(("a", "b")) != name_of(("a b", ""))


def test_an_address_holds_short_texts_and_the_name_of_long_ones() -> None:
    assert address_of(("short", "")) == {"text": "short"}
    assert address_of(("short", "x" * 400)) == {"text": "short", "pair": "x" * 400}
    long = ("short", "x" * 401)
    assert address_of(long) == {TEXTS_NAME: name_of(long)}
    assert find_texts(name_of(long)) == long
