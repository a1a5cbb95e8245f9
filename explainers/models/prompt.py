"""A prompt that turns a causal language model into a classifier: a text with slots, and a word for each class.

A prompt file is YAML:

    template: |-
      Review: {text}
      Sentiment:
    classes:           # name of the class: the word that the model would write after the template
      negative: negative
      positive: positive
    chat: false        # whether the template is a message in the chat format of the model's tokenizer
    read: first        # how a word of several tokens is read: by its first token, or by the mean over its tokens
    adapter: false     # whether weights that were trained for the prompt lie beside the file, as of a shipped one

A model with a prompt is named `MODEL:PROMPT`, where PROMPT is a file of assets/prompts without its suffix, or the key
of a prompt that was saved to `<store>/prompts`. The key is a checksum over the prompt, so that a name always means the
same.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from uuid import uuid4

import yaml  # type: ignore[import-untyped]
from pydantic import TypeAdapter, ValidationError

from explainers.errors import ExplanationError, ModelUnavailable, refused_fields
from explainers.installation import ASSETS, keep_private, make_store, store

PROMPTS = ASSETS / "prompts"
SUFFIX = ".yaml"
TEXT, PAIR = "{text}", "{text_pair}"
INPUT_NAMES = {1: ("text",), 2: ("text", "second text")}
LONGEST_TEMPLATE, LONGEST_WORD, MOST_CLASSES = 20_000, 100, 100  # characters, characters, classes
LONGEST_FILE = 2**20  # bytes
PROMPT_NAME = re.compile(r"[\w-]{1,40}", re.ASCII)
EXAMPLE = "template: |-\n  Review: {text}\n  Sentiment:\nclasses:\n  negative: negative\n  positive: positive\n"

Reading = Literal["first", "mean"]  # of a class word: by its first token, or by the mean over its tokens
READINGS: tuple[Reading, ...] = get_args(Reading)

DEFAULT_PROMPT = "sst2"
MOST_SAVED = 1_000  # prompts in the store; beyond them those that were saved longest ago go


@dataclass(frozen=True)
class PromptCard:
    """What is known of a prompt at a model: its text, per class the word and its tokens, and p(class) of empty texts.

    With `read` "first" the first token of a word decides: p(class) is its probability among the first tokens of all
    words. With "mean" it is the softmax over classes of the mean log-probability of the word's tokens, each after those
    before it.
    """

    template: str
    words: tuple[str, ...]
    tokens: tuple[tuple[str, ...], ...]
    prior: tuple[float, ...]
    chat: bool = False
    adapter: bool = False
    read: Reading = "first"


class PromptError(ModelUnavailable):
    """The prompt cannot be used; the message says what is missing."""


@dataclass(frozen=True)
class Prompt:
    """`classes` maps each class to its word. Raises `PromptError` for a prompt that cannot classify."""

    template: str
    classes: dict[str, str]
    chat: bool = False
    adapter: bool = False
    read: Reading = "first"

    def __post_init__(self) -> None:
        if self.read not in READINGS:
            raise PromptError(f"The field read must be {' or '.join(READINGS)}, not {str(self.read)[:40]!r}.")
        stripped = {name.strip(): word.strip() for name, word in self.classes.items()}
        if len(stripped) < len(self.classes):
            raise PromptError("Two classes have the same name. Give every class a name of its own.")
        object.__setattr__(self, "template", self.template.rstrip())
        object.__setattr__(self, "classes", stripped)
        check(self)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.classes)

    @property
    def input_names(self) -> tuple[str, ...]:
        return INPUT_NAMES[len(self.slots)]

    @property
    def slots(self) -> tuple[str, ...]:
        """The slots in the template, in order: that of the text, and that of the second text where there is one."""
        return tuple(slot for slot in (TEXT, PAIR) if slot in self.template)

    @property
    def key(self) -> str:
        """12 hexadecimal digits that differ where template, classes, format or reading differ."""
        content = [self.template, list(self.classes.items()), self.chat]
        content += [self.read] if self.read != "first" else []  # a prompt keeps the key that it had before
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]

    def as_yaml(self) -> str:
        content = {"template": self.template, "classes": self.classes, "chat": self.chat}
        content |= {"adapter": True} if self.adapter else {}
        content |= {"read": self.read} if self.read != "first" else {}
        return str(yaml.dump(content, Dumper=LiteralDumper, sort_keys=False, allow_unicode=True, width=2**16))


class LiteralDumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes texts of several lines as they are read, not in quotes."""


def _literal(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


LiteralDumper.add_representer(str, _literal)


def check(prompt: Prompt) -> None:
    """Raises `PromptError` with a sentence for the first thing that is missing or too much."""
    template, words = prompt.template, list(prompt.classes.values())
    counts = template.count(TEXT), template.count(PAIR)
    if not counts[0]:
        raise PromptError(f"The template has no slot {TEXT}. Write {TEXT} where the text goes.")
    twice = next((slot for slot, count in zip((TEXT, PAIR), counts, strict=True) if count > 1), None)
    if twice is not None:
        raise PromptError(f"The template has the slot {twice} {max(counts)} times. Write it once.")
    if counts[1] and template.index(PAIR) < template.index(TEXT):
        raise PromptError(f"The slot {TEXT} must stand before {PAIR}.")
    if len(template) > LONGEST_TEMPLATE:
        raise PromptError(f"The template has {len(template):,} characters; at most {LONGEST_TEMPLATE:,} are read.")
    if not 2 <= len(words) <= MOST_CLASSES:
        raise PromptError(f"A prompt needs 2 to {MOST_CLASSES} classes, each with a word; there are {len(words)}.")
    if not all(prompt.classes) or not all(words):
        raise PromptError("Every class needs a name and a word.")
    same = next((word for word in words if words.count(word) > 1), None)
    if same is not None:
        raise PromptError(f"Two classes have the word {same!r}. Give each class a word of its own.")
    broken = next((text for text in (*prompt.classes, *words) if len(text.splitlines()) > 1), None)
    if broken is not None:
        raise PromptError(f"{broken!r} has a line break. Names and words of classes stand in one line.")
    longest = max((*prompt.classes, *words), key=len)
    if len(longest) > LONGEST_WORD:
        raise PromptError(f"{longest[:40]!r}… is too long for a class; at most {LONGEST_WORD} characters are read.")


PROMPT = TypeAdapter(Prompt)
FIELDS = ("template", "classes", "chat", "adapter", "read")


class TextLoader(yaml.BaseLoader):  # type: ignore[misc]
    """Reads every value as text, so that yes and 1 are words, whatever its tag says. Refuses aliases, and a key that
    comes twice."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):  # a few of them stand for billions of words
            raise PromptError("A prompt file has no aliases (*name). Write the text in full.")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise PromptError(f"{twice!r} comes twice. Give every field and every class a name of its own.")
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def parsed_prompt(content: str, name: str) -> Prompt:
    """The prompt in the text of a YAML file; `name` is for messages. Raises `PromptError`."""
    try:
        fields = yaml.load(content, Loader=TextLoader)  # a BaseLoader: texts, lists, mappings
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise PromptError(f"{name} is not YAML{where}. A prompt file looks like this:\n{EXAMPLE}") from error
    if not isinstance(fields, dict):
        raise PromptError(f"{name} holds no prompt. A prompt file looks like this:\n{EXAMPLE}")
    unknown = sorted(set(map(str, fields)) - {*FIELDS})
    if unknown:
        raise PromptError(f"{name} has the field {unknown[0]!r}; a prompt has {', '.join(FIELDS)}.")
    try:
        return PROMPT.validate_python(fields)
    except ValidationError as error:
        raise PromptError(f"{name} cannot be used. {refused_fields(error)}") from error


def read_prompt(path: Path) -> Prompt:
    """Raises `PromptError` for a file that is missing, too large or no prompt."""
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise PromptError(f"{path.name} takes {path.stat().st_size:,} bytes; a prompt at most {LONGEST_FILE:,}.")
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PromptError(f"The prompt {path.name} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise PromptError(f"The prompt {path.name} is not UTF-8 text.") from error
    return parsed_prompt(content, path.name)


def shipped_prompts() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in PROMPTS.glob(f"*{SUFFIX}")))


def saved_folder() -> Path:
    return store() / "prompts"


def prompt_named(name: str) -> Prompt:
    """The shipped or saved prompt. Raises `PromptError` if there is none."""
    if PROMPT_NAME.fullmatch(name):
        for folder in (PROMPTS, saved_folder()):
            if (folder / f"{name}{SUFFIX}").is_file():
                return read_prompt(folder / f"{name}{SUFFIX}")
    raise PromptError(
        f"There is no prompt {name[:40]!r} here. Choose one of: {', '.join(shipped_prompts())}; or write it again, "
        "because prompts are saved on the machine on which they were written."
    )


def save_prompt(prompt: Prompt) -> str:
    """Writes it to the store, and returns its key. Raises `ExplanationError` if that is not possible."""
    path = saved_folder() / f"{prompt.key}{SUFFIX}"
    if path.is_file():
        return prompt.key
    try:
        make_store()
        path.parent.mkdir(exist_ok=True, mode=0o700)
        for old in sorted(path.parent.glob(f"*{SUFFIX}"), key=lambda file: file.stat().st_mtime)[: -MOST_SAVED + 1]:
            old.unlink(missing_ok=True)
        fresh = path.with_suffix(f".{uuid4().hex}.new")  # another session may save the same one
        fresh.write_text(prompt.as_yaml(), encoding="utf-8")
        keep_private(fresh, 0o600)
        fresh.replace(path)
    except OSError as error:
        raise ExplanationError(f"The prompt cannot be saved to {path.parent}: {error.strerror or error}.") from error
    return prompt.key


def prompted_version(language: str, adapter: str, prompt: Prompt, rendered: str) -> str:
    """The version of a language model with a prompt: from its own version, the SHA-256 of the adapter's weights or "",
    the prompt, and the template in the chat format where it has one."""
    parts = (f"{language} {adapter}".strip(), prompt.key, rendered)
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def split_name(name: str) -> tuple[str, str]:
    """From `MODEL:PROMPT` to both; the second is empty where there is no prompt, as for a folder that is called so."""
    if folder_named(name) is not None:
        return name, ""
    model, colon, prompt = name.rpartition(":")
    return (model, prompt) if colon and model and PROMPT_NAME.fullmatch(prompt) and not _is_drive(model) else (name, "")


def folder_named(name: str) -> Path | None:
    """The folder of this name, links resolved; None where there is none."""
    try:
        path = Path(name).expanduser()
        return path.resolve() if name and path.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long, the home of an unknown user, or NUL in it
        return None


def _is_drive(model: str) -> bool:
    """The C of C:\\folder."""
    return len(model) == 1
