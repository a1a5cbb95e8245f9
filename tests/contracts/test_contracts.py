"""The program answers as it did when record.py wrote the files beside this one.

Structure, keys, strings, integers and truth values are equal; numbers are equal as far as fp32 allows. On another
processor, with another number of threads or in other batches a layer's sums come in another order, which changes its
output by a few parts in ten million. With such noise (3e-7 of the largest output of each linear layer) the recorded
probabilities and scores move by at most 1e-5, log-odds by 3e-5, and integrated gradients, whose few steps cross the
steep part of a sigmoid, by 1.5e-4. NUMBERS allows three times that. A method that optimises for each input amplifies
noise step by step, and where two units change places its curve is another one: SEARCHED is for those. Of two units with
equal scores, as LIME's often are, the noise decides which comes first: then the curve has only its shape, too.
"""

import json
import runpy
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from explainers.models.bundle_cards import bundle_names
from explainers.results.answer import CONSENSUS
from explainers.studies.stored_results import same

HERE = Path(__file__).parent
HINT = "If the change is meant, record it: PYTHONPATH=. .venv/bin/python tests/contracts/record.py"
RECORD = runpy.run_path(str(HERE / "record.py"))
NUMBERS = 5e-4
SEARCHED = 0.1
TIE = 2e-6  # the last recorded digit of both scores
JUDGED = ("answer", "other_operators")
ORDERED = ("curve", "metrics")  # of an explanation; with equal scores only their shape is compared
FREE = ("removed", "kept", "model_calls")  # of a searched explanation
pytestmark = pytest.mark.skipif(
    not {"sst2", "nli", "scenes"} <= set(bundle_names()), reason="not all bundles are in assets/bundles"
)


def recorded_methods() -> list[str]:
    answers = recorded("explanations").values()
    methods = dict.fromkeys(explanation["method"] for answer in answers for explanation in answer["explanations"])
    return [method for method in methods if method != CONSENSUS]  # which follows from the others


def recorded(part: str) -> Any:
    return json.loads((HERE / f"{part}.json").read_text(encoding="utf-8"))


def differences(old: Any, new: Any, *, within: float = NUMBERS, at: str = "") -> Iterator[str]:
    """Sentences, each with the path to a value that is another one."""
    if isinstance(old, dict) and isinstance(new, dict):
        if list(old) != list(new):
            yield f"{at}: keys {list(old)} became {list(new)}"
            return
        searched = old.get("method") in RECORD["SEARCHING"] and "curve" in old
        bound = SEARCHED if searched else within
        for key in old:
            if not (key in FREE and bound == SEARCHED):
                one, other = (shape(tree[key]) if key in ORDERED and tied(old) else tree[key] for tree in (old, new))
                yield from differences(one, other, within=bound, at=f"{at}/{key}")
        if searched:
            yield from differences(shape(old), shape(new), at=f"{at}: shape")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{at}: {len(old)} values became {len(new)}"
            return
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, within=within, at=f"{at}/{number}")
    elif not same(old, new, within):
        yield f"{at}: {old!r} became {new!r}"


def tied(explanation: dict[str, Any]) -> bool:
    """Return whether two units have the same score, as far as it is recorded."""
    scores = explanation.get("scores")
    scores = sorted(scores) if isinstance(scores, list) else []
    return any(higher - lower <= TIE for lower, higher in pairwise(scores))


def settled(answer: dict[str, Any], unsettled: bool) -> dict[str, Any]:
    """Without what is decided between methods, where equal scores leave an order open."""
    return {key: value for key, value in answer.items() if not (unsettled and key in JUDGED)}


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shape(part) for key, part in value.items()}
    return len(value) if isinstance(value, list) else type(value).__name__


def printed(old: list[str], new: list[str]) -> Iterator[str]:
    """Numbers as text: the last digit of either may be rounded the other way."""
    if len(old) != len(new):
        yield f"{len(old)} numbers became {len(new)}"
        return
    for one, other in zip(old, new, strict=True):
        digits = min(len(number.partition(".")[2]) for number in (one, other))
        values = [float(number.replace("−", "-")) for number in (one, other)]
        if abs(values[0] - values[1]) > 1.001 * 10**-digits:
            yield f"{one} became {other}"


@pytest.mark.parametrize("model", ["sst2", "nli", "scenes"])
def test_explanations_are_those_recorded(model: str) -> None:
    old = {name: value for name, value in recorded("explanations").items() if name.startswith(f"{model} ")}
    new = RECORD["plain"](RECORD["explanations"]([model], recorded_methods()))
    unsettled = {name for name, answer in old.items() if any(map(tied, answer["explanations"]))}
    old, new = (
        {name: settled(answer, name in unsettled) for name, answer in answers.items()} for answers in (old, new)
    )
    assert list(differences(old, new)) == [], HINT


def test_exports_are_those_recorded() -> None:
    old, new = recorded("exports"), RECORD["plain"](RECORD["exports"]())
    for model in old:
        assert list(printed(old[model].pop("html"), new[model].pop("html"))) == []
    assert list(differences(old, new)) == [], HINT


def test_an_evaluation_is_that_recorded() -> None:
    assert list(differences(recorded("evaluation"), RECORD["plain"](RECORD["evaluation"]()))) == [], HINT


def test_an_address_restores_the_view_recorded() -> None:
    assert list(differences(recorded("addresses"), RECORD["plain"](RECORD["addresses"]()))) == [], HINT


def test_every_method_and_erasure_is_recorded() -> None:
    from explainers import METHODS
    from explainers.models.inputs.encoding import MULTIMODAL_ERASURES

    names = recorded("explanations")
    methods = {explanation["method"] for answer in names.values() for explanation in answer["explanations"]}
    assert methods == {CONSENSUS, *(spec.id for spec in METHODS.declared if spec.needs != "prompt")}, HINT
    assert {name.split()[2] for name in names} == set(MULTIMODAL_ERASURES)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ({"a": 1}, {"b": 1}, r"keys \['a'\] became \['b'\]"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "keys"),
        ([1, 2], [1], "2 values became 1"),
        ({"calls": 3}, {"calls": 4}, "/calls: 3 became 4"),
        ({"p": [0.5]}, {"p": [0.501]}, "/p/0: 0.5 became 0.501"),
        ("aml", "AML", "'aml' became 'AML'"),
        (True, 1, "True became 1"),
        (None, 0.0, "None became 0.0"),
        ({"method": "faml", "curve": {"kept": [0.1]}}, {"method": "faml", "curve": {"kept": [0.1, 0.2]}}, "shape"),
        ({"method": "faml", "scores": [0.5], "curve": {}}, {"method": "faml", "scores": [0.7], "curve": {}}, "0.7"),
    ],
)
def test_a_difference_is_noticed(old: Any, new: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        assert list(differences(old, new)) == []


def test_numbers_may_differ_in_what_fp32_leaves_open() -> None:
    assert list(differences({"p": [0.5, 100.0]}, {"p": [0.50004, 100.001]})) == []
    searched = [{"method": "faml", "model_calls": calls, "curve": {"kept": [p]}} for calls, p in ((9, 0.1), (8, 0.4))]
    assert list(differences(*searched)) == []
    assert list(printed(["0.331", "−1.2"], ["0.330", "−1.2"])) == []
    assert list(printed(["0.331"], ["0.325"])) == ["0.331 became 0.325"]
