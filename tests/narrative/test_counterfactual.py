import threading

import pytest
import torch
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.narrative.counterfactual import (
    counterfactuals,
    find_states,
    head_logits,
    nearest_other,
)


def lines(*weights: float, bias: float = 0.0) -> nn.Sequential:
    """One linear layer of two classes on a state of one number: logits (w₀ c + bias, w₁ c)."""
    head = nn.Sequential(nn.Linear(1, 2)).requires_grad_(False)
    head[0].weight.copy_(torch.tensor(weights)[:, None])
    head[0].bias.copy_(torch.tensor([bias, 0.0]))
    return head


def sure(*targets: int) -> Tensor:
    """Logits of two classes that leave no doubt, so that the divergence from them is the cross-entropy."""
    return torch.tensor([[-40.0, 40.0] if target else [40.0, -40.0] for target in targets])


def test_the_nearest_item_of_another_class_is_found() -> None:
    states, among = torch.tensor([[0.0], [10.0]]), torch.tensor([[1.0], [4.0], [3.0], [9.0]])
    classes = torch.tensor([0, 1, 1, 0])
    assert nearest_other(states, torch.tensor([0, 1]), among, classes).tolist() == [2, 3]
    assert nearest_other(states, torch.tensor([1, 1]), among, classes).tolist() == [0, 3]


def test_nu_is_where_distance_and_cross_entropy_balance() -> None:
    """ν² + log(1 + e^(-(c + ν))) for logits (0, c + ν) and target 1: flat where 2 ν = σ(-(c + ν))."""
    head = lines(0.0, 1.0)
    states = torch.tensor([[-1.0], [0.0], [2.0]])
    nu = find_states(head, states, sure(1, 1, 1), weight=1.0, steps=400) - states
    assert torch.allclose(2 * nu, torch.sigmoid(-(states + nu)), atol=1e-3)
    assert (nu > 0).all()  # towards the target


def test_nu_goes_the_other_way_for_the_other_class() -> None:
    states = torch.zeros(2, 1)
    there, back = (find_states(lines(0.0, 1.0), states, sure(one, one), weight=1.0) for one in (1, 0))
    assert torch.allclose(there, -back, atol=1e-5)


def test_an_items_nu_does_not_depend_on_its_neighbours() -> None:
    head, states, targets = lines(0.0, 4.0), torch.tensor([[-1.0], [-0.2], [0.7]]), sure(1, 1, 0)
    together = find_states(head, states, targets)
    alone = torch.cat([find_states(head, states[at : at + 1], targets[at : at + 1]) for at in range(3)])
    assert torch.allclose(together, alone, atol=1e-5)


def test_the_head_answers_as_it_does_to_the_neighbour() -> None:
    """With logits (0, c) that is so where c + ν is the neighbour's state itself, as far as w allows."""
    states, among = torch.tensor([[-0.5], [0.4]]), torch.tensor([[-1.0], [2.0]])
    result = counterfactuals(lines(0.0, 1.0), states, among)
    assert result.neighbours.tolist() == [1, 0]
    assert result.targets.tolist() == [1, 0]
    assert torch.allclose(result.states, torch.tensor([[2.0], [-1.0]]), atol=0.01)
    assert result.met.tolist() == [True, True]


def test_the_constraint_is_met_only_where_the_class_really_changes() -> None:
    """A head that cannot say class 1 of the item: its logits hardly move, however far ν goes."""
    head = lines(0.0, 1e-4)
    result = counterfactuals(head, torch.tensor([[-20.0]]), torch.tensor([[-20.0], [50.0]]))
    assert result.targets.tolist() == [1]
    assert result.met.tolist() == [False]
    assert result.states.item() < 0


def test_the_class_aimed_at_is_the_models_of_the_neighbour() -> None:
    """Three classes on a line: left of -1, between, right of 1."""
    head = nn.Sequential(nn.Linear(1, 3)).requires_grad_(False)
    head[0].weight.copy_(torch.tensor([[-9.0], [0.0], [9.0]]))
    head[0].bias.copy_(torch.tensor([-9.0, 0.0, -9.0]))
    states = torch.tensor([[-2.0], [-0.8], [0.7], [1.5]])
    result = counterfactuals(head, states, states)
    assert result.neighbours.tolist() == [1, 0, 3, 2]
    assert result.targets.tolist() == [1, 0, 2, 1]


def test_where_the_model_gives_one_class_to_all_there_is_a_sentence() -> None:
    states = torch.tensor([[1.0], [2.0]])
    with pytest.raises(ExplanationError, match=r"one class to all 2 items, so no other class can be reached"):
        counterfactuals(lines(0.0, 1.0), states, states)


def test_neither_head_nor_states_are_changed(head: nn.Sequential, states: Tensor) -> None:
    weights, before = [weight.clone() for weight in head.parameters()], states.clone()
    result = counterfactuals(head, states, states)
    assert all(torch.equal(*pair) for pair in zip(weights, head.parameters(), strict=True))
    assert all(weight.grad is None for weight in head.parameters())
    assert torch.equal(states, before)
    assert not result.states.requires_grad


def test_a_hook_that_another_thread_has_put_on_the_head_sees_nothing(head: nn.Sequential, states: Tensor) -> None:
    seen: list[object] = []
    handle = head.register_forward_pre_hook(lambda _module, args: seen.append(args))
    thread = threading.Thread(target=counterfactuals, args=(head, states, states))
    thread.start()
    thread.join()
    assert not seen
    assert torch.equal(head_logits(head, states), head(states))
    assert len(seen) == 1
    handle.remove()
