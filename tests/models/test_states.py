"""Fused attention for masks of long inputs: the same answers, and the plain one for everything else."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModelForSequenceClassification

from explainers import wrap
from explainers.models import states
from explainers.models.frozen_model import FrozenModel
from explainers.models.states import quick_attention
from explainers.studies.architectures import FAMILIES, SPECIAL, WORDS, Family, tokenizer_of

TEXT = "the film was very long but new and the plot seemed quite loud"
KINDS = [family for family in FAMILIES if family.kind not in ("xlnet", "longformer")]


def model_of(family: Family) -> FrozenModel:
    torch.manual_seed(0)
    config = CONFIG_MAPPING[family.kind](
        **family.settings, vocab_size=len(SPECIAL) + len(WORDS) + 1, num_labels=2, id2label={0: "no", 1: "yes"}
    )
    return wrap(AutoModelForSequenceClassification.from_config(config), tokenizer_of(family))


@pytest.mark.parametrize("family", KINDS, ids=lambda family: family.kind)
def test_every_family_answers_alike(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(family)
    encoding = model.encode(TEXT)
    keeps = np.random.default_rng(0).random((8, len(encoding.units))) > 0.4
    for erasure in model.erasures:
        plain = model.probabilities(encoding, keeps, erasure)
        monkeypatch.setattr(states, "LONG", 1)
        assert model.probabilities(encoding, keeps, erasure) == pytest.approx(plain, abs=2e-6)
        monkeypatch.undo()
    assert model.base.config._attn_implementation == "eager"  # type: ignore[union-attr]


def test_it_is_used_for_long_inputs_and_given_back(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    config: Any = bert.base.config
    handle = bert.module.register_forward_pre_hook(lambda *_: seen.append(config._attn_implementation))
    encoding = bert.encode("good film")
    keeps = np.ones((1, len(encoding.units)))
    bert.probabilities(encoding, keeps)
    monkeypatch.setattr(states, "LONG", len(encoding.ids))
    bert.probabilities(encoding, keeps)
    bert.soft(encoding, torch.ones(1, len(encoding.units)))
    assert bert.states(encoding).attentions
    handle.remove()
    assert seen == ["eager", "sdpa", "eager"]
    assert config._attn_implementation == "eager"


def test_it_is_given_back_after_an_error(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "LONG", 1)
    with pytest.raises(ZeroDivisionError), quick_attention(bert.base, 5):
        _ = 1 / 0
    assert bert.base.config._attn_implementation == "eager"  # type: ignore[union-attr]


def test_a_model_without_it_is_left_alone(bag: Callable[..., FrozenModel], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "LONG", 1)
    model = bag({"good": 1.0})
    with quick_attention(model.base, 5):
        pass
    assert not hasattr(model.base, "config")
