"""What a prompt must have, its file, and the names by which it is found."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from explainers.errors import ExplanationError
from explainers.installation import STORE_VARIABLE
from explainers.models import prompt as prompts
from explainers.models.prompt import (
    EXAMPLE,
    LONGEST_TEMPLATE,
    Prompt,
    PromptError,
    parsed_prompt,
    prompt_named,
    read_prompt,
    save_prompt,
    saved_folder,
    shipped_prompts,
    split_name,
)

CLASSES = {"no": "bad", "yes": "good"}


@pytest.mark.parametrize(
    ("template", "classes", "sentence"),
    [
        ("Review: {txt}", CLASSES, "The template has no slot {text}."),
        ("{text} {text}", CLASSES, "the slot {text} 2 times"),
        ("{text} {text_pair} {text_pair}", CLASSES, "the slot {text_pair} 2 times"),
        ("{text_pair} {text}", CLASSES, "{text} must stand before {text_pair}"),
        ("{text}" + "x" * LONGEST_TEMPLATE, CLASSES, "20,006 characters"),
        ("{text}", {"yes": "good"}, "2 to 100 classes, each with a word; there are 1"),
        ("{text}", {"no": "bad", "yes": " "}, "name and a word"),
        ("{text}", {"no": "good", "yes": "good "}, "'good'"),
        ("{text}", {"no": "bad\nnews", "yes": "good"}, "has a line break"),
        ("{text}", {"no": "bad", "no ": "good"}, "Two classes have the same name"),
        ("{text}", {"no": "x" * 101, "yes": "good"}, "too long for a class"),
    ],
)
def test_what_is_missing_is_a_sentence(template: str, classes: dict[str, str], sentence: str) -> None:
    with pytest.raises(PromptError, match=re.escape(sentence)):
        Prompt(template, classes)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("template: '{text}'\nclasses: {a: b, a: c}", "'a' comes twice"),
        ("template: a\ntemplate: b", "'template' comes twice"),
        ("template: [", "p.yaml is not YAML in line 1"),
        ("- a", "p.yaml holds no prompt"),
        ("", "p.yaml holds no prompt"),
        ("template: '{text}'", "classes is missing"),
        (EXAMPLE + "few: 1", "the field 'few'"),
        (EXAMPLE + "chat: often", "chat must be true or false, not 'often'"),
        (EXAMPLE + "read: last", "read must be 'first' or 'mean', not 'last'"),
        ("template: '{text}'\nclasses: 3", "classes must be an object"),
        ("a: &a [*a]\ntemplate: *a", "no aliases"),
        ("a: &a [x, x]\nb: &b [*a, *a]\ntemplate: *b", "no aliases"),
        ("template: !!python/object/apply:os.system ['true']", "p.yaml"),
    ],
)
def test_a_wrong_file_is_a_sentence(content: str, sentence: str) -> None:
    with pytest.raises(PromptError, match=re.escape(sentence)):
        parsed_prompt(content, "p.yaml")


def test_words_that_yaml_knows_stay_words() -> None:
    prompt = parsed_prompt("template: '{text}?'\nclasses: {yes: yes, no: no, 1: 1.0}\nchat: true", "p.yaml")
    assert prompt.classes == {"yes": "yes", "no": "no", "1": "1.0"}
    assert prompt.chat


def test_a_file_gives_the_prompt_again() -> None:
    prompt = Prompt("# “{text}”\n\n  and: {text_pair}\n\nthe\t", {"né": "1: 2", "- b": "'c' #"}, chat=True)
    assert parsed_prompt(prompt.as_yaml(), "p.yaml") == prompt
    mean = replace(prompt, read="mean")
    assert parsed_prompt(mean.as_yaml(), "p.yaml") == mean
    assert prompt.input_names == ("text", "second text")


def test_a_prompt_that_reads_the_first_token_keeps_its_key_and_its_file() -> None:
    prompt = Prompt("{text}?", CLASSES)
    assert prompt.key == "5014c2ec8380"
    assert "read" not in prompt.as_yaml()
    assert replace(prompt, read="mean").key != prompt.key


def test_an_unknown_reading_is_a_sentence() -> None:
    with pytest.raises(PromptError, match="read must be first or mean, not 'last'"):
        Prompt("{text}?", CLASSES, read="last")  # type: ignore[arg-type]


def test_a_key_tells_prompts_apart() -> None:
    prompts = [
        Prompt("{text}.", CLASSES),
        Prompt("{text}", CLASSES),
        Prompt("{text}", dict(reversed(CLASSES.items()))),
        Prompt("{text}", CLASSES, chat=True),
    ]
    assert len({prompt.key for prompt in prompts}) == 4
    assert Prompt("{text}.\n", CLASSES).key == prompts[0].key


def test_a_saved_prompt_is_found_by_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    prompt = Prompt("{text}.", CLASSES)
    with pytest.raises(PromptError, match="There is no prompt"):
        prompt_named(prompt.key)
    assert save_prompt(prompt) == save_prompt(prompt) == prompt.key
    assert prompt_named(prompt.key) == prompt
    (path,) = saved_folder().iterdir()
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_store_that_cannot_be_written_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store").write_text("a file")
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    with pytest.raises(ExplanationError, match="cannot be saved"):
        save_prompt(Prompt("{text}.", CLASSES))


def test_the_store_keeps_the_prompts_that_were_saved_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.setattr(prompts, "MOST_SAVED", 3)
    keys = [save_prompt(Prompt(f"{{text}} {number}", CLASSES)) for number in range(3)]
    for age, key in enumerate(reversed(keys)):
        os.utime(saved_folder() / f"{key}.yaml", (1000 - age, 1000 - age))
    keys.append(save_prompt(Prompt("{text} 3", CLASSES)))
    assert {path.stem for path in saved_folder().iterdir()} == set(keys[1:])


def test_a_folder_may_be_called_as_a_model_with_a_prompt(tmp_path: Path) -> None:
    (tmp_path / "llama:8b").mkdir()
    assert split_name(f"{tmp_path}/llama:8b") == (f"{tmp_path}/llama:8b", "")
    assert split_name(f"{tmp_path}/llama:8b:sst2") == (f"{tmp_path}/llama:8b", "sst2")


@pytest.mark.parametrize("name", ["none", "../../etc/passwd", "a/b", "", "x" * 41])
def test_an_unknown_name_is_a_sentence(name: str) -> None:
    with pytest.raises(PromptError, match="There is no prompt"):
        prompt_named(name)


def test_shipped_prompts_can_be_read() -> None:
    assert "sst2" in shipped_prompts()
    assert [name for name in shipped_prompts() if prompt_named(name).adapter] == ["completion"]
    assert prompt_named("completion").key == prompt_named("sst2").key  # the adapter has a name of its own
    assert all(prompt_named(name).labels for name in shipped_prompts())


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("owner/model:sst2", ("owner/model", "sst2")),
        ("owner/model@main:0a1b2c", ("owner/model@main", "0a1b2c")),
        ("/a/b:c", ("/a/b", "c")),
        ("/a:b/c", ("/a:b/c", "")),
        ("C:\\models", ("C:\\models", "")),
        ("C:sst2", ("C:sst2", "")),
        (":sst2", (":sst2", "")),
        ("model:", ("model:", "")),
        ("sst2", ("sst2", "")),
    ],
)
def test_a_name_has_a_model_and_a_prompt(name: str, parts: tuple[str, str]) -> None:
    assert split_name(name) == parts


def test_files_that_are_no_text_are_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="cannot be read"):
        read_prompt(tmp_path / "missing.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PromptError, match="not UTF-8"):
        read_prompt(tmp_path / "binary.yaml")
    (tmp_path / "large.yaml").write_text("#" * (2**20 + 1))
    with pytest.raises(PromptError, match="1,048,577 bytes"):
        read_prompt(tmp_path / "large.yaml")
