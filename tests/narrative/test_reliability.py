"""How likely a reason holds: what is measured of a sentence, and what the regression makes of it."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel
from explainers.narrative import checks
from explainers.narrative.checks import (
    CERTAINTY,
    FILE,
    LIKELIHOOD,
    OWN_WORDS,
    SAMPLES_AGREE,
    WORDS_USED,
    Reliability,
    chance_of,
    features,
    likelihood,
    overlap,
    reliability_of,
    stems,
)
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.results.events import Narrative

PAIR = Example("a dull film", "the film was bad")
WEIGHTS = {SAMPLES_AGREE: 2.0, LIKELIHOOD: -1.0}
KNOWN = Reliability(
    "1",
    {"cause": "abc"},
    0.4,
    {"cause": 0.1},
    WEIGHTS,
    {SAMPLES_AGREE: 0.4, LIKELIHOOD: -2.0},
    {SAMPLES_AGREE: 0.1, LIKELIHOOD: 0.5},
)


def narrative(text: str, stated: int = 0, method: str = "cause") -> Narrative:
    return Narrative(method, text, stated, (), (), 0.1)


def test_the_chance_is_that_of_the_logistic_formula() -> None:
    # 0.4 + 0.1 + 2 · (0.6 - 0.4) / 0.1 - 1 · (-1 + 2) / 0.5 = 2.5
    assert KNOWN.chance("cause", {SAMPLES_AGREE: 0.6, LIKELIHOOD: -1.0}) == pytest.approx(1 / (1 + math.exp(-2.5)))
    assert KNOWN.chance("cause", {LIKELIHOOD: -2.0}) == pytest.approx(
        1 / (1 + math.exp(-0.5))
    )  # one that was not measured


def test_overlap_is_of_stems() -> None:
    one, other = stems("The dogs were running", ("neutral",)), stems("a dog runs", ("neutral",))
    assert "dog" in one & other
    assert overlap(one, other) == len(one & other) / len(one | other)
    assert overlap(frozenset(), frozenset()) == 1.0
    assert stems("it is neutral", ("neutral",)) == frozenset()


def test_the_likelihood_is_the_mean_over_the_tokens_of_the_reason(
    narrator: Callable[..., Narrator], head: nn.Sequential, states: torch.Tensor
) -> None:
    network = narrator("phi")
    inputs = NarratorInput(states[:1])
    text = "The answer is neutral because the cat sleeps."
    ids = network.language.ids(text)
    before = len(network.language.ids("The answer is neutral because")) - 1
    shares = network.token_logits(inputs, torch.tensor([ids])).log_softmax(-1)[0]
    expected = sum(shares[at, ids[at]].item() for at in range(before, len(ids))) / (len(ids) - before)
    assert 0 < before < len(ids)
    assert likelihood(network, inputs, text) == pytest.approx(expected, rel=1e-5)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch, narrator: Callable[..., Narrator], model: FrozenModel) -> Narrator:
    from explainers.models.internals import classifier_head

    network = narrator("phi", classifier_head(model))
    monkeypatch.setattr(checks, "load_narrator", lambda _model, _method: (None, network))
    return network


@pytest.mark.usefixtures("loaded")
def test_what_is_measured_of_a_sentence(model: FrozenModel) -> None:
    encoding = model.encode(PAIR)
    found = features(model, encoding, narrative("The answer is neutral because the film was a comedy."), used=False)
    assert found[OWN_WORDS] == 0.5  # film, not comedy
    assert found[WORDS_USED] == -1.0
    assert 1 / len(model.labels) <= found[CERTAINTY] <= 1.0
    assert 0.0 <= found[SAMPLES_AGREE] <= 1.0
    assert found[LIKELIHOOD] < 0
    assert [found[f"says {label}"] for label in model.labels] == [1.0] + [0.0] * (len(model.labels) - 1)


@pytest.mark.usefixtures("loaded")
def test_only_the_narrators_that_were_read_have_a_chance(model: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = model.encode(PAIR)
    monkeypatch.setattr(checks, "reliability_of", lambda _name, _version: KNOWN)
    fitted = SimpleNamespace(card={"sha256": "abc"})
    monkeypatch.setattr(checks, "find_artifact", lambda *_: fitted)
    reason = "The answer is neutral because the film was a comedy."
    assert chance_of(model, encoding, narrative(reason), None) is not None
    assert chance_of(model, encoding, narrative(reason, method="cause_phi"), None) is None
    assert chance_of(model, encoding, narrative("The answer is neutral."), None) is None
    assert chance_of(model, replace(encoding, unlike_training=True), narrative(reason), None) is None
    fitted.card["sha256"] = "of other weights"
    assert chance_of(model, encoding, narrative(reason), None) is None
    fitted.card["sha256"] = "abc"
    monkeypatch.setattr(checks, "reliability_of", lambda _name, _version: None)
    assert chance_of(model, encoding, narrative(reason), None) is None


def test_a_regression_is_of_one_version_of_an_embedded_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checks, "BUNDLES", tmp_path)
    monkeypatch.setattr(checks, "bundle_names", lambda: ("nli",))
    assert reliability_of("nli", "1") is None
    path = tmp_path / "nli" / "narrative" / FILE
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"command": "", "regression": KNOWN.json()}), encoding="utf-8")
    assert reliability_of("nli", "1") == KNOWN
    assert reliability_of("nli", "2") is None
    assert reliability_of("other", "1") is None
