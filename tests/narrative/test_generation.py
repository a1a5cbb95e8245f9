from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from explainers.narrative.generation import ended, generate
from explainers.narrative.language import LONGEST
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.narrative.reconstruction import readings

Made = Callable[..., Narrator]


def test_without_a_temperature_every_word_is_the_likeliest_one(narrator: Made, states: Tensor) -> None:
    network = narrator("phi")
    never = network.language.never_generated
    for state, row in zip(states, generate(network, NarratorInput(states)), strict=True):
        answers = network.token_logits(NarratorInput(state[None]), torch.tensor([row]))[0]  # (T, V), without a cache
        answers[:, list(never)] = -torch.inf
        assert row == answers.argmax(-1).tolist()


def test_states_are_put_into_different_words(narrator: Made, states: Tensor) -> None:
    assert len({tuple(row) for row in generate(narrator("phi"), NarratorInput(states))}) > 1


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_same_seed_says_the_same(narrator: Made, states: Tensor, temperature: float) -> None:
    network = narrator("phi")
    first, second = (generate(network, NarratorInput(states), temperature=temperature, seed=3) for _ in range(2))
    assert first == second


def test_another_seed_says_something_else_only_with_a_temperature(narrator: Made, states: Tensor) -> None:
    network = narrator("phi")
    assert generate(network, NarratorInput(states), temperature=1.0, seed=0) != generate(
        network, NarratorInput(states), temperature=1.0, seed=1
    )
    assert generate(network, NarratorInput(states), seed=0) == generate(network, NarratorInput(states), seed=1)


def test_a_low_temperature_says_the_likeliest(narrator: Made, states: Tensor) -> None:
    network = narrator("phi")
    assert generate(network, NarratorInput(states), temperature=1e-4) == generate(network, NarratorInput(states))


def test_the_global_generator_is_left_alone(narrator: Made, states: Tensor) -> None:
    network, before = narrator("phi"), torch.get_rng_state()
    generate(network, NarratorInput(states), temperature=1.0)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_sentence_does_not_depend_on_its_neighbours(narrator: Made, states: Tensor) -> None:
    """Neither on their number nor on how much longer they go on."""
    network = ending(narrator("phi"))
    together = generate(network, NarratorInput(states))
    assert len({len(row) for row in together}) > 1
    assert [generate(network, NarratorInput(state[None]))[0] for state in states] == together
    assert generate(network, NarratorInput(states.flip(0))) == together[::-1]


def ending(network: Narrator) -> Narrator:
    """Ends more readily, so that sentences are of different lengths."""
    with torch.no_grad():
        network.phi.get_input_embeddings().weight[network.language.end_id] *= 2.5
    return network


def test_nothing_is_said_after_the_end_and_no_sentence_is_too_long(narrator: Made, states: Tensor) -> None:
    network = ending(narrator("phi"))
    rows = generate(network, NarratorInput(states.repeat(5, 1)), temperature=1.0)
    ends = network.language.end_id
    assert any(row[-1] == ends for row in rows)
    assert all(ends not in row[:-1] for row in rows)
    assert all(len(row) <= LONGEST - 1 for row in rows)
    assert all(row[-1] == ends or len(row) == LONGEST - 1 for row in rows)


class Certain(nn.Module):
    """A language model that always gives the same scores to its words."""

    def __init__(self, scores: list[float]) -> None:
        super().__init__()
        self.scores, self.words = torch.tensor(scores, dtype=torch.float32), nn.Embedding(len(scores), 4)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.words

    def forward(self, inputs_embeds: Tensor, **_rest: object) -> SimpleNamespace:
        rows, length, _ = inputs_embeds.shape
        return SimpleNamespace(logits=self.scores.repeat(rows, length, 1), past_key_values=None)


@pytest.mark.parametrize(
    ("pad_id", "end_id", "never_generated", "scores", "expected"),
    [
        (0, 1, (0, 2), [9, 1, 8, 0], [1]),  # padding and the reserved piece are no words
        (1, 1, (), [0, 9, 8, 0], [1]),  # where the end is the padding too, it can still be said
        (0, 1, (0, 2), [9, 1, 8, 5], [3] * (LONGEST - 1)),
    ],
)
def test_only_words_and_the_end_are_said(
    narrator: Made,
    states: Tensor,
    pad_id: int,
    end_id: int,
    never_generated: tuple[int, ...],
    scores: list[float],
    expected: list[int],
) -> None:
    network = narrator("phi")
    network.phi, network.psi = Certain(scores), nn.Linear(2, 4)  # type: ignore[assignment]
    network.language = replace(network.language, pad_id=pad_id, end_id=end_id, never_generated=never_generated)
    assert generate(network, NarratorInput(states[:1])) == [expected]


def test_words_are_drawn_as_often_as_they_are_likely(narrator: Made) -> None:
    network = narrator("phi")
    network.phi, network.psi = Certain([0, 0.5, 0, 1.5]), nn.Linear(2, 4)  # type: ignore[assignment]
    network.language = replace(network.language, pad_id=0, end_id=1, never_generated=(0, 2))
    rows = generate(network, NarratorInput(torch.zeros(4000, 2)), temperature=0.5, seed=0)
    share = sum(row[0] == 3 for row in rows) / len(rows)
    assert share == pytest.approx(0.8808, abs=0.02)  # σ((1.5 - 0.5) / 0.5)


@pytest.mark.parametrize(("row", "expected"), [([5, 1, 1], [5, 1]), ([5, 6], [5, 6]), ([1, 7], [1])])
def test_a_sentence_ends_once(row: list[int], expected: list[int]) -> None:
    assert ended(row, 1) == expected


def test_what_is_said_is_made_from_the_state_alone(narrator: Made, states: Tensor) -> None:
    """φ gets ψ(c) first, and then nothing but the words that it has said itself."""
    network, given = narrator("phi"), []
    network.phi.register_forward_pre_hook(lambda _module, _args, named: given.append(named), with_kwargs=True)
    rows = generate(network, NarratorInput(states[:1]))
    words = network.phi.get_input_embeddings().weight
    fed = torch.cat([arguments["inputs_embeds"] for arguments in given], dim=1)[0]
    assert torch.allclose(fed[0], network.psi(states[0]), atol=1e-5)
    assert torch.equal(fed[1:], words[rows[0][: len(fed) - 1]])
    assert {name for arguments in given for name in arguments} == {"inputs_embeds", "past_key_values", "use_cache"}


@pytest.mark.parametrize(("leak", "moves"), [("closed", False), ("leaky", True)])
def test_only_a_leaky_narrator_reads_the_generated_sentence(
    narrator: Made, states: Tensor, leak: str, moves: bool
) -> None:
    network = narrator()
    network.leak = leak
    rows = [network.language.ids(f"the answer is {name} because it was") for name in ("neutral", "entailment")]
    both = readings(network, NarratorInput(states[:1].repeat(2, 1)), rows)
    assert both.shape == (2, 2)
    assert torch.allclose(both[0], both[1], atol=1e-5) != moves


@pytest.mark.parametrize("leak", ["closed", "leaky"])
def test_what_c2_reads_does_not_depend_on_the_length_of_other_sentences(
    narrator: Made, states: Tensor, leak: str
) -> None:
    network = narrator()
    network.leak = leak
    rows = [network.language.ids(text) for text in ("it was", "the film was not very good because the plot was dull")]
    alone = readings(network, NarratorInput(states[:1]), rows[:1])
    assert torch.allclose(readings(network, NarratorInput(states[:2]), rows)[0], alone[0], atol=1e-5)
    assert not readings(network, NarratorInput(states[:2]), rows).requires_grad
