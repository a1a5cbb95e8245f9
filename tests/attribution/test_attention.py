from collections.abc import Callable

import pytest
import torch

from explainers.attribution.attention import Attention
from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel


@pytest.fixture
def model(bag: Callable[..., FrozenModel]) -> FrozenModel:
    """Two layers of one head for the five tokens [CLS] great un ##able [SEP]; rows attend, columns receive."""
    result = bag({"great": 1.0, "un": 0.0, "##able": 0.0})
    first = torch.full((5, 5), 0.2)
    last = torch.eye(5)
    last[0] = torch.tensor([0.0, 0.5, 0.25, 0.125, 0.125])
    result.module.base_model.attentions = (first[None, None], last[None, None])  # (1, H, L, L) each
    return result


def test_the_mean_runs_over_layers_and_attending_tokens(model: FrozenModel) -> None:
    attribution = Attention().attribute(model, model.encode("great unable"), 0)
    # first layer: 0.2 for each token; last: (0.5 + 1) / 5 = 0.3, (0.25 + 1) / 5 = 0.25, (0.125 + 1) / 5 = 0.225
    assert attribution.scores == pytest.approx(((0.2 + 0.3) / 2, (0.2 + 0.25) / 2 + (0.2 + 0.225) / 2))


@pytest.mark.parametrize(("pooled", "scores"), [(False, (0.5, 0.375)), (True, (0.3, 0.475))])
def test_the_last_layer_is_seen_from_where_the_class_is_read(
    model: FrozenModel, pooled: bool, scores: tuple[float, ...]
) -> None:
    model.mean_pooled = pooled
    assert Attention(last_layer=True).attribute(model, model.encode("great unable"), 0).scores == pytest.approx(scores)


def test_the_mean_runs_over_heads(model: FrozenModel) -> None:
    nothing = torch.zeros(1, 1, 5, 5)
    model.module.base_model.attentions = tuple(
        torch.cat([layer, nothing], dim=1) for layer in model.module.base_model.attentions
    )
    attribution = Attention().attribute(model, model.encode("great unable"), 0)
    assert attribution.scores == pytest.approx((0.25 / 2, 0.4375 / 2))


def test_it_is_the_same_for_every_class(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was good")
    assert len({Attention().attribute(bert, encoding, label).scores for label in range(3)}) == 1


def test_all_attention_is_received_by_somebody(bert: FrozenModel) -> None:
    attribution = Attention().attribute(bert, bert.encode("the film was good"), 0)
    assert 0 < sum(attribution.scores) < 1  # the rest goes to [CLS] and [SEP]
    assert min(attribution.scores) > 0


def test_a_model_that_hides_its_attention_is_named(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"great": 1.0})
    with pytest.raises(ExplanationError, match="bag does not return its attention"):
        Attention().attribute(model, model.encode("great"), 0)
