"""Text and numbers on their way into a document. What people typed is displayed as it is and never interpreted.

Here are also the names of what all documents speak of: erasure operators, units, and the predictions for parts.
"""

import html
import math
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explainers.models.inputs.encoding import Erasure, Unit
from explainers.results.events import AblatedInputs

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison
    from explainers.results.decision import Decision, ModelCard


CONTROL_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
WHITE_SPACE = "\t\n\r"
DIRECTION_MARKS = dict.fromkeys([0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
UNDEFINED = "–"


def visible(text: str) -> str:
    """Control characters as their symbols, and what no document may contain, such as lone surrogates, as U+FFFD."""
    return "".join("\ufffd" if _forbidden(letter) else letter for letter in text.translate(CONTROL_PICTURES))


def _forbidden(letter: str) -> bool:
    code = ord(letter)
    control = unicodedata.category(letter) in ("Cc", "Cs") and letter not in WHITE_SPACE
    return control or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def escaped(text: str) -> str:
    """For HTML and XML, between tags and inside quoted attributes alike."""
    return html.escape(visible(text), quote=True)


def one_line(text: str, longest: int = 60) -> str:
    """Without line breaks and direction marks, cut after `longest` characters."""
    line = " ".join(visible(text).translate(DIRECTION_MARKS).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def target_name(decision: "Decision", longest: int = 60) -> str:
    """The name of what is explained, "A" or "A rather than B", each class cut after `longest` characters."""
    return decision.target.name([one_line(label, longest) for label in decision.card.labels])


def the_class(decision: "Decision") -> str:
    """What stands before the name of a class, "the class "; nothing before "A rather than B"."""
    return "" if decision.target.is_contrast else "the class "


def number(value: float, *, signed: bool = False) -> str:
    """Three significant digits with a real minus sign."""
    return f"{float(value) + 0.0:{'+' if signed and value else ''}.3g}".replace("-", "−")


def decimals(value: float | None, places: int = 2) -> str:
    """A fixed number of decimals, with a real minus sign and no minus zero; "–" for None and NaN."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{round(float(value), places) + 0.0:.{places}f}".replace("-", "−")


def sampled(samples: int) -> str:
    """ "with 500 samples", or that sampling stops by itself."""
    return f"with {samples:,} samples" if samples else "until settled"


def join_names(names: Sequence[str]) -> str:
    """ "A", "A and B", "A, B and C"."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def ablated_inputs_line(ablated: AblatedInputs) -> str:
    """ "Premise alone: neutral 0.62 · hypothesis alone: … · swapped: …"."""
    names = (f"{ablated.names[0]} alone", f"{ablated.names[1].lower()} alone", "swapped")
    pairs = zip(names, ablated.predictions, strict=False)
    return " · ".join(f"{name}: {_top_class(ablated.labels, probabilities)}" for name, probabilities in pairs)


def labels_line(card: "ModelCard", probabilities: Sequence[float]) -> str:
    """Which labels of a multi-label model are on; empty for other models."""
    if not card.multi_label:
        return ""
    on = [one_line(card.labels[index]) for index in labels_on(card, probabilities)]
    return (
        f"On, with a probability of at least {ON}: {join_names(on)}." if on else f"No label reaches {ON}: none is on."
    )


def labels_on(card: "ModelCard", probabilities: Sequence[float]) -> list[int]:
    """The numbers of the labels of a multi-label model that are on, the likeliest first; empty for other models."""
    order = sorted(range(len(card.labels)), key=lambda index: -probabilities[index])
    return [index for index in order if probabilities[index] >= ON] if card.multi_label else []


ON = 0.5  # the probability from which a label of a multi-label model is on
FEW, SAME = 0.05, 0.02  # of the probability


def class_words_line(decision: "Decision") -> str:
    """What to know of the answer of a language model; empty for other models. As "The class words “bad” (negative) and
    “good” (positive) have 93.4 % of the probability, other words the rest. Without a text: negative 0.46, positive
    0.54."."""
    prompt, share = decision.card.prompt, decision.share_of_words
    if prompt is None or share is None:
        return ""
    labels = [one_line(label) for label in decision.card.labels]
    words = [
        f"“{one_line(word)}”{'' if word == label else f' ({label})'}"
        for word, label in zip(prompt.words, labels, strict=True)
    ]
    lines = [f"The class words {join_names(words)} have {_percent(share)} of the probability, other words the rest."]
    if prompt.adapter:
        lines.append("The prompt's adapter was trained on these words alone, so that their share says nothing.")
    for word, tokens in zip(prompt.words, prompt.tokens, strict=True):
        parts = [f"“{one_line(token.strip())}”" for token in tokens]
        if len(tokens) > 1 and prompt.read == "mean":
            lines.append(f"Of “{one_line(word)}” the mean over its tokens is read: {join_names(parts)}.")
        elif len(tokens) > 1:
            lines.append(f"Of “{one_line(word)}” only the first token, {parts[0]}, is read.")
    prior = zip(labels, prompt.prior, strict=True)
    lines.append(f"Without a text: {', '.join(f'{name} {decimals(p)}' for name, p in prior)}.")
    return " ".join(lines)


def class_words_warning(decision: "Decision", probabilities: Sequence[float]) -> str:
    """Why the answer of a language model says little; empty where it does not, and for other models."""
    prompt, share = decision.card.prompt, decision.share_of_words
    if prompt is None or share is None:
        return ""
    lines = []
    if share < FEW and not prompt.adapter:
        lines.append(
            f"The class words have {_percent(share)} of the probability: the model would rather write something else, "
            "and says little about your classes. Examples in the prompt, or other words, make the answer its own."
        )
    if max(abs(p - alone) for p, alone in zip(probabilities, prompt.prior, strict=True)) < SAME:
        lines.append("The template alone, without the text, gives the same answer.")
    return " ".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 else "less than 0.1 %"


def _top_class(labels: tuple[str, ...], probabilities: tuple[float, ...]) -> str:
    best = int(np.argmax(probabilities))
    return f"{one_line(labels[best])} {decimals(probabilities[best])}"


OPERATORS: dict[Erasure, str] = {
    "mask": "words are masked",
    "delete": "words are deleted",
    "zero": "embeddings are zeroed",
    "blur": "the image is blurred",
}
WITH_PATCHES: dict[Erasure, str] = {  # for an image with text
    "mask": "words and patches are masked",
    "delete": "words and patches are deleted",
    "blur": "patches are blurred and words are masked",
}


def holding_clauses(holds: Sequence[tuple[Erasure, bool]], comparison: "Comparison") -> tuple[str, str]:
    """Return what the operators under which something holds do, and those under which it does not; such as "words are
    masked or words are deleted", empty where there are none."""
    clauses = OPERATORS | (WITH_PATCHES if comparison.decision.encoding.multimodal else {})
    return (
        _either([clauses[erasure] for erasure, held in holds if held]),
        _either([clauses[erasure] for erasure, held in holds if not held]),
    )


def _either(clauses: Sequence[str]) -> str:
    return " or ".join([", ".join(clauses[:-1]), clauses[-1]]) if len(clauses) > 1 else "".join(clauses)


def name_of_units(decision: "Decision") -> str:
    """ "word", "token", "sentence", "example", "patch", or "unit" where there are several kinds."""
    kinds = {unit.kind for unit in decision.encoding.units}
    if kinds == {"patch"}:
        return "patch"
    return "unit" if "patch" in kinds else decision.settings.name_of_unit


def plural(name: str) -> str:
    return "patches" if name == "patch" else f"{name}s"


def counted(number: int, name: str) -> str:
    """Return "1 input" or "2,000 inputs"."""
    return f"{number:,} {name if number == 1 else plural(name)}"


def share_line(share: float | None) -> str:
    """How the importance is divided between image and text; `share` is the image's, 0…1."""
    if share is None:
        return ""
    return f"image {decimals(100 * share, 0)} % · text {decimals(100 - 100 * share, 0)} % of the importance"


def quoted_unit(unit: Unit, text: str) -> str:
    """`text` is the unit's text, ready for display: quoted for a word, the position for a patch; "the symbol “.”" where
    it has neither letter nor digit."""
    if unit.kind == "patch":
        return f"the patch in {text}"
    return f"“{text}”" if any(letter.isalnum() for letter in text) else f"the symbol “{text}”"


def quoted_among(comparison: "Comparison", at: int) -> str:
    """A patch by its position; a word with its text of a pair, and numbered if it occurs there more than once."""
    units, unit = comparison.decision.encoding.units, comparison.decision.encoding.units[at]
    if unit.kind == "patch":
        return quoted_unit(unit, one_line(unit.text))
    same = [index for index, other in enumerate(units) if (other.text, other.segment) == (unit.text, unit.segment)]
    occurrence = [f"number {same.index(at) + 1} of {len(same)}"] if len(same) > 1 else []
    part = "" if comparison.decision.settings.unit == "example" else comparison.names[unit.segment].lower()
    details = ", ".join([*filter(None, [part]), *occurrence])
    return f"{quoted_unit(unit, one_line(unit.text))}{f' ({details})' if details else ''}"


def duration(seconds: float) -> str:
    """Rounded to seconds, minutes or tenths of hours."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
