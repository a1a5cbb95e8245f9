"""The examples in a prompt, which can be explained as units: which of them carry the answer to the person's text.

Blank lines cut a template into blocks. The block with the slot is the question, and goes on after its last slot: there
the answer is asked for. An example is a block before it that reads like the question with a text in every slot and an
answer behind it. Other blocks, such as an instruction, are the
template's own text and never units.
"""

import re
from typing import NamedTuple

from explainers.errors import ExplanationError
from explainers.models.prompt import PAIR, TEXT

BLOCK = re.compile(r"[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")
NO_EXAMPLES = (
    "The prompt has no examples that could be explained. An example is a block of the template, between blank lines, "
    "that reads like the one with {text}, with a text and an answer filled in; after the text the block must go on, as "
    "with “Label:”."
)
SEVERAL = "Two examples of the prompt stand in one block. Put a blank line between them."


class PromptExample(NamedTuple):
    """Its characters `start` to `end` in the template; it is erased with the blank lines up to `stop`."""

    start: int
    end: int
    stop: int


def prompt_examples(template: str) -> tuple[PromptExample, ...]:
    """The examples in a template, in order. Raises `ExplanationError` where there are none, or two in one block."""
    blocks = [match.span() for match in BLOCK.finditer(template)]
    slot = template.index(TEXT)
    question = next(number for number, (_, end) in enumerate(blocks) if slot < end)
    around = re.split(f"{re.escape(TEXT)}|{re.escape(PAIR)}", template[slice(*blocks[question])])
    around = [part.strip() for part in around]
    if not around[-1]:  # the answer is asked for in another block, or every block with a text would read like it
        raise ExplanationError(NO_EXAMPLES)
    alike = re.compile(r"\s*\S.*?\s*".join(map(re.escape, around)) + r"\s*\S.*", re.DOTALL)
    begin = re.compile(f"^{re.escape(around[0])}" if around[0] else re.escape(next(filter(None, around))), re.MULTILINE)
    examples = []
    for number, (start, end) in enumerate(blocks[:question]):
        block = template[start:end]
        if alike.fullmatch(block.strip()):
            if len(begin.findall(block)) > 1:
                raise ExplanationError(SEVERAL)
            examples.append(PromptExample(start, end, blocks[number + 1][0]))
    if not examples:
        raise ExplanationError(NO_EXAMPLES)
    return tuple(examples)


def has_examples(template: str) -> bool:
    """Whether a template has examples that can be told apart."""
    try:
        return bool(prompt_examples(template))
    except ExplanationError:
        return False
