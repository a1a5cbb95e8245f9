"""What each paper (or, where it is silent, its authors' code) sets for its training, by the names of our settings.

A shipped training that differs must say so among the deviations of its method: `unnamed_deviations` compares the two.
A changed setting needs a changed list, and a new setting a line here. Importing this module does not load torch.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Value = object


@dataclass(frozen=True)
class PaperSetting:
    """`values` are those of the paper; () where any value is as good. A deviation from them is a sentence in which
    `word` stands, and with `number` also our value."""

    values: tuple[Value, ...] = ()
    word: str = ""
    number: bool = False


ANY = PaperSetting()
OF_THE_DATA_SET = ("of the data set",)  # where a paper has a network and a training for each of its data sets
COMMON = {"seed": ANY, "method": ANY, "distribution": ANY, "precision": PaperSetting(("float32",), "bfloat16")}
LEARNED_SETTINGS: Mapping[str, Mapping[str, PaperSetting]] = {
    "aml": {
        **COMMON,
        "lambda_p": ANY,
        "lambda_inv": ANY,
        "lambda_a": ANY,
        "select": ANY,
        "replacement": PaperSetting(("mask",), "ways to mask"),
        "dropout": PaperSetting((0.0,), "dropout"),
        "rank": PaperSetting((0,), "LoRA adapter"),
        "epochs": PaperSetting((10,), "epochs", number=True),
        "batch": PaperSetting((20,), "batches", number=True),
        "learning_rate": PaperSetting((4e-5,), "epochs at", number=True),
        "weight_decay": PaperSetting((0.01,), "weight decay", number=True),
    },
    "cimi": {
        **COMMON,
        "sufficiency": PaperSetting((1.0,), "sufficiency term", number=True),
        "intervention_weight": ANY,
        "weak_supervision": PaperSetting((1.0,), "weak-supervision", number=True),
        "sparsity": PaperSetting((0.0,), "price for the mean mask", number=True),
        "states": PaperSetting((True,), "hidden states"),
        "intervention": PaperSetting(("mse",), "intervention term"),
        "epsilon": PaperSetting((0.2,), "ε is", number=True),
        "discrete": PaperSetting(("no",), "discrete"),
        "erasure": PaperSetting(("zero",), "blending with the mask token"),
        "hidden": PaperSetting((64,), "hidden", number=True),
        "select": PaperSetting(("last",), "best on validation texts is kept"),
        "epochs": PaperSetting((50, 100), "epochs", number=True),
        "validations": ANY,  # how often the best is looked for: see select
        "batch": PaperSetting((32,), "batches", number=True),
        "learning_rate": PaperSetting((0.001,), "epochs at", number=True),
        "weight_decay": PaperSetting((0.0,), "weight decay", number=True),
    },
    "ciem": {
        **COMMON,
        "layer": PaperSetting((0,), "layer"),
        "r": ANY,
        "alpha": PaperSetting((0.9,), "α", number=True),
        "tau": PaperSetting((1.0,), "τ", number=True),
        "cross_entropy": PaperSetting((True,), "cross-entropy"),
        "conditional": PaperSetting((True,), "conditional"),
        "decoder_input": ANY,
        "erasure": PaperSetting(("zero",), "mask token in S⊙X"),
        "hidden": ANY,
        "select": PaperSetting(("last",), "best on validation texts is kept"),
        "epochs": PaperSetting((10,), "epochs", number=True),
        "validations": ANY,  # how often the best is looked for: see select
        "batch": PaperSetting((64,), "batches of", number=True),
        "learning_rate": PaperSetting((2e-4,), "epochs at", number=True),
        "weight_decay": PaperSetting((0.0,), "weight decay", number=True),
    },
    "cxplain": {
        **COMMON,
        "erasure": PaperSetting(("delete",), "mask token where"),
        "select": PaperSetting(("loss",), "best by AOPC-C − AOPC-S"),
        "epochs": PaperSetting(OF_THE_DATA_SET, "epochs at", number=True),
        "validations": ANY,  # how often the best is looked for: see select
        "batch": PaperSetting(OF_THE_DATA_SET, "batches of", number=True),
        "learning_rate": PaperSetting(OF_THE_DATA_SET, "epochs at", number=True),
        "weight_decay": PaperSetting(OF_THE_DATA_SET, "weight decay", number=True),
    },
    "ivra": {
        **COMMON,
        "criterion": ANY,
        "norm": PaperSetting(("softmax", "sparsemax"), "NORM"),
        "levels": PaperSetting(("feature+head+layer",), "levels"),
        "smat": ANY,
        "relaxation": PaperSetting(("hard",), "cut is relaxed"),
        "temperature": ANY,
        "last_temperature": ANY,
        "student_rate": ANY,
        "consistency": PaperSetting(("ratio",), "1 − the correlation"),
        "epochs": PaperSetting((20,), "epochs", number=True),
        "validations": ANY,  # how often the best is looked for: see select
        "batch": PaperSetting((64,), "batches of", number=True),
        "learning_rate": PaperSetting((3e-5, 1e-4, 3e-4), "epochs at", number=True),
        "weight_decay": ANY,
        "select": ANY,
    },
}
_NARRATOR: Mapping[str, PaperSetting] = {
    **COMMON,
    "losses": ANY,  # which narrator it is
    "leak": PaperSetting(("published",), "label leak is closed"),
    "soft": ANY,
    "inputs": PaperSetting((False,), "state that φ reads"),
    "words": PaperSetting((False,), "class that φ is about to generate"),
    "ends": PaperSetting((True,), "ends=false"),
    "share": PaperSetting((0.2,), "neurons", number=True),
    "layer": PaperSetting((None,), "every token's states"),
    "reads": PaperSetting(("state",), "attends to"),
    "language": PaperSetting(("gpt2",), "language model is"),
    "adapter_rank": PaperSetting((0,), "adapters"),
    "half_precision": PaperSetting((False,), "half precision"),
    "start": PaperSetting(("",), "starts from"),
    "epochs": PaperSetting((5,), "epochs", number=True),
    "phi_epochs": PaperSetting((0,), "with L_φ alone", number=True),
    "keep": PaperSetting(("last",), "keep=best"),
    "point_once": PaperSetting((False,), "point_once"),
    "match_certainty": PaperSetting((False,), "match_certainty"),
    "more_examples": PaperSetting((0,), "further draws", number=True),
    "batch": PaperSetting((32,), "batches", number=True),
    "learning_rate": PaperSetting((1e-4,), "learning rate", number=True),
}
LOSS_SETTINGS = ("leak", "inputs", "words", "share")  # of losses that φ alone does not have


def paper_settings(method: str, recipe: Mapping[str, Value]) -> Mapping[str, PaperSetting]:
    """The paper's settings of a learned method or a narrator, by the settings that its losses read."""
    if method in LEARNED_SETTINGS:
        return LEARNED_SETTINGS[method]
    return {
        name: ANY if recipe.get("losses") == "phi" and name in LOSS_SETTINGS else setting
        for name, setting in _NARRATOR.items()
    } | ({"inputs": ANY, "share": ANY} if recipe.get("losses") == "phi_ts" else {})


def unnamed_deviations(method: str, recipe: Mapping[str, Value], deviations: Sequence[str]) -> list[str]:
    """The settings of a training that differ from the paper's and are not among the deviations, as `name=value`.

    A setting that nobody has compared with the paper counts as well.
    """
    known = paper_settings(method, recipe)
    return [
        f"{name}={value}"
        for name, value in recipe.items()
        if name not in known or not _named(known[name], value, deviations)
    ]


def _named(setting: PaperSetting, value: Value, deviations: Sequence[str]) -> bool:
    if not setting.values or value in setting.values:
        return True
    sentences = [text for text in deviations if setting.word and setting.word in text]
    if not setting.number:
        return bool(sentences)
    written = re.compile(rf"(?<![\d.]){re.escape(_written(value))}(?![\d]|\.\d)")
    return any(written.search(text) for text in sentences)


def _written(value: Value) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
