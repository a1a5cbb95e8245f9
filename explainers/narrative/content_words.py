"""The reason of a sentence, its words that carry meaning, and their stems. Importing this does not load torch."""

import re

WORD = re.compile(r"\w+(?:['’-]\w+)*")
OPENING = "The answer is"  # with which every sentence begins
STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be because been being but by can could do does doing for from had has have he her his in "
        "into is it its may might not of on one or our she so some than that the their them then there they this to "
        f"was were what when which while who will with would you {OPENING.lower()}",
    )
)


def reason_of(text: str) -> str:
    """What stands after "because", without the full stop; "" where no reason is given."""
    return text.partition(" because ")[2].strip().rstrip(".")


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def content(text: str) -> list[str]:
    """The words that carry meaning, in lower case."""
    return [word for word in words(text) if word not in STOP]


def stem(word: str) -> str:
    """A word without a common English ending, so that "dancing" and "dances" are one."""
    for ending, rest in (("ies", "y"), ("ing", ""), ("es", ""), ("ed", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return (word.removesuffix(ending) + rest).removesuffix("e")
    return word.removesuffix("e") if len(word) > 3 else word
