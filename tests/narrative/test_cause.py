import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from explainers.datasets import entailment
from explainers.narrative import cause, interchange
from explainers.narrative.cause import (
    Classifier,
    NarratorBatch,
    divergence,
    match_loss,
    state_loss,
    terms,
)
from explainers.narrative.interchange import activations, draw_neurons, layer_sizes, run_with_exchange
from explainers.narrative.language import OPENING, Language
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.narrative.recipe import Leak, Losses, NarratorRecipe
from explainers.narrative.reconstruction import reconstruct

Made = Callable[..., Narrator]
SENTENCES = (
    "The answer is entailment because the film was good.",
    "The answer is neutral.",
    "The answer is contradiction because the plot was not dull.",
    "The answer is neutral because the film was very bad.",
    "The answer is entailment.",
    "The answer is contradiction.",
)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def names(language: Language) -> Tensor:
    return torch.tensor([language.pieces_within(label)[0] for label in entailment.LABELS])


def frozen(head: nn.Sequential, narrator: Narrator) -> Classifier:
    return Classifier(head, names(narrator.language))


def batch(
    language: Language, head: nn.Sequential, states: Tensor, sentences: tuple[str, ...] = SENTENCES
) -> NarratorBatch:
    return NarratorBatch(NarratorInput(states), head(states), [language.ids(sentence) for sentence in sentences])


def losses(recipe: NarratorRecipe, narrator: Narrator, head: nn.Sequential, given: NarratorBatch) -> dict[str, float]:
    result = terms(recipe, narrator, frozen(head, narrator), given, generator())
    return {name: term.item() for name, term in result.items()}


def test_divergence_is_from_the_first_to_the_second() -> None:
    first, second = torch.tensor([[0.0, math.log(3)]]), torch.tensor([[0.0, 0.0]])  # (1/4, 3/4) and (1/2, 1/2)
    assert divergence(first, second).item() == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(1.5))
    assert divergence(second, first).item() == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    both = divergence(torch.cat([first, first]), torch.cat([second, first]))
    assert both.item() == pytest.approx(divergence(first, second).item() / 2)  # a mean over rows; 0 for equal ones


def test_the_student_follows_the_teachers_probabilities_or_its_class() -> None:
    teacher, answers = torch.tensor([[0.0, math.log(3)]]), torch.tensor([[0.0, 0.0]])
    assert state_loss(teacher, answers, soft=True).item() == pytest.approx(divergence(teacher, answers).item())
    assert state_loss(teacher, answers, soft=False).item() == pytest.approx(math.log(2))
    assert state_loss(teacher, teacher, soft=True).item() == pytest.approx(0)


def test_weights_are_matched_by_squared_distance_over_the_number_of_layers(head: nn.Sequential) -> None:
    narrator_head = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    narrator_head.load_state_dict(head.state_dict())
    assert match_loss(head, narrator_head).item() == 0
    with torch.no_grad():
        narrator_head[0].weight[0, 0] += 3.0  # 9
        narrator_head[2].bias[1] -= 1.0  # 1
    assert match_loss(head, narrator_head).item() == pytest.approx((9 + 1) / 2)


def test_the_language_loss_is_the_mean_over_real_words_and_never_over_padding(
    narrator: Made, head: nn.Sequential, states: Tensor
) -> None:
    network = narrator("phi")
    given = batch(network.language, head, states)
    total, count = 0.0, 0
    for state, row in zip(given.inputs.states, given.sentences, strict=True):  # one by one there is nothing to pad
        shares = network.token_logits(NarratorInput(state[None]), torch.tensor([row])).log_softmax(-1)[0]
        total -= sum(shares[at, word].item() for at, word in enumerate(row))
        count += len(row)
    assert losses(NarratorRecipe("phi"), network, head, given)["phi"] == pytest.approx(total / count, rel=1e-5)


def test_at_each_place_only_the_state_and_the_words_before_are_read(narrator: Made, states: Tensor) -> None:
    network = narrator("phi")
    one, other = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[5, 6, 9, 9]])
    first, second = (network.token_logits(NarratorInput(states[:1]), ids)[0] for ids in (one, other))
    assert torch.allclose(first[:3], second[:3], atol=1e-5)  # the third answer is about the third word
    assert not torch.allclose(first[3], second[3], atol=1e-2)
    assert not torch.allclose(first[0], network.token_logits(NarratorInput(states[1:2]), one)[0, 0], atol=1e-2)


def test_the_aggregator_takes_the_mean_of_probabilities_over_real_places(narrator: Made) -> None:
    network = narrator()
    size = network.language.size
    answers = torch.full((1, 3, size), -1e9)
    for place, word in enumerate((4, 5, 6)):
        answers[0, place, word] = 0.0  # certain of one word
    real = torch.tensor([[True, True, False]])
    with torch.no_grad():
        weight, bias = network.aggregator.weight, network.aggregator.bias
        expected = (weight[:, 4] + weight[:, 5]) / 2 + bias
        assert torch.allclose(network.aggregate_sentence(answers, real)[0], expected, atol=1e-5)


def test_closed_a_reads_what_comes_after_the_opening_and_nothing_else(narrator: Made, states: Tensor) -> None:
    network = narrator()
    opening = network.language.opening
    assert network.language.ids(f"{OPENING} neutral.")[: len(opening)] == opening
    answer = network.token_logits(NarratorInput(states), torch.tensor([[*opening, 5]]).expand(len(states), -1))
    answer = answer[:, -1].softmax(-1)
    assert torch.allclose(reconstruct(network, NarratorInput(states)), network.aggregator(answer), atol=1e-5)


def test_what_a_state_becomes_does_not_depend_on_its_neighbours(narrator: Made, states: Tensor) -> None:
    network = narrator()
    alone = torch.cat([reconstruct(network, NarratorInput(states[at : at + 1])) for at in range(len(states))])
    assert torch.allclose(reconstruct(network, NarratorInput(states)), alone, atol=1e-5)


def test_a_begins_by_reading_a_class_name_as_the_mean_state_of_the_class(narrator: Made) -> None:
    network = narrator()
    means = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    network.initialise_aggregator([[5, 6], [7]], means)
    certain = torch.full((2, 1, network.language.size), -1e9)
    certain[0, 0, 5] = certain[1, 0, 7] = 0.0
    assert torch.allclose(network.aggregate_sentence(certain, torch.ones(2, 1, dtype=torch.bool)), means)
    narrator("phi").initialise_aggregator([[5]], means[:1])  # there is nothing to begin


@pytest.mark.parametrize(("leak", "moves"), [("closed", False), ("leaky", True)])
def test_closed_what_c2_reads_does_not_depend_on_the_items_own_sentence(
    narrator: Made, head: nn.Sequential, states: Tensor, monkeypatch: pytest.MonkeyPatch, leak: Leak, moves: bool
) -> None:
    network, seen = narrator("phi_ts"), []

    def watched(_teacher: Tensor, answers: Tensor, *, soft: bool) -> Tensor:
        seen.append(answers.detach())
        return answers.sum()

    monkeypatch.setattr(cause, "state_loss", watched)
    recipe = NarratorRecipe("phi_ts", leak=leak, words=False)
    other = ("The answer is contradiction because the plot was not dull.", *SENTENCES[1:])
    for sentences in (SENTENCES, other):
        losses(recipe, network, head, batch(network.language, head, states, sentences))
    before, after = seen
    assert torch.allclose(before[0], after[0], atol=1e-5) != moves


def test_closed_the_class_in_the_sentences_is_not_read(narrator: Made, head: nn.Sequential, states: Tensor) -> None:
    network = narrator("phi_ts")
    other = ("The answer is contradiction because the film was good.", *SENTENCES[1:])  # only its class is changed
    given = [batch(network.language, head, states, sentences) for sentences in (SENTENCES, other)]
    closed, leaky = (
        [losses(NarratorRecipe("phi_ts", leak=leak), network, head, narrator_batch)["ts"] for narrator_batch in given]  # type: ignore[arg-type]
        for leak in ("closed", "leaky")
    )
    assert closed[0] == pytest.approx(closed[1], abs=1e-7)
    assert leaky[0] != pytest.approx(leaky[1], abs=1e-5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("phi", {"phi"}), ("phi_ts", {"phi", "ts"}), ("cause", {"phi", "ts", "iit", "match"})],
)
def test_each_training_has_its_terms_and_minimises_their_sum(
    narrator: Made, head: nn.Sequential, states: Tensor, name: Losses, expected: set[str]
) -> None:
    network = narrator(name)
    result = losses(NarratorRecipe(name), network, head, batch(network.language, head, states))
    assert set(result) == expected | {"total"}
    assert result["total"] == pytest.approx(sum(result[term] for term in expected))
    assert all(result[term] >= 0 for term in expected)


def test_the_class_that_is_about_to_be_said_is_asked_to_be_the_models(
    narrator: Made, head: nn.Sequential, states: Tensor
) -> None:
    """L_TS grows by the cross-entropy of the next word with the class's name, where the class comes."""
    network = narrator("phi_ts")
    given = batch(network.language, head, states)
    without, with_words = (
        losses(NarratorRecipe("phi_ts", words=words), network, head, given)["ts"] for words in (False, True)
    )
    shares = network.class_token_logits(NarratorInput(states)).log_softmax(-1)[:, names(network.language)]
    expected = -sum(shares[row, label].item() for row, label in enumerate(given.logits.argmax(1))) / len(states)
    assert with_words - without == pytest.approx(expected, rel=1e-4)


def test_after_an_exchange_the_class_that_is_about_to_be_said_follows(
    narrator: Made, head: nn.Sequential, states: Tensor
) -> None:
    """All neurons of the neighbour: the head gives the neighbour's class, and that is what must be said."""
    network, given = narrator(), batch(narrator().language, head, states)
    mixed = []
    opened = network.class_token_logits
    network.class_token_logits = lambda of, sight=None: (mixed.append(of), opened(of))[1]  # type: ignore[method-assign]
    with_words, without = (
        losses(NarratorRecipe(words=words, share=1.0), network, head, given)["iit"] for words in (True, False)
    )
    shares = opened(mixed[1]).log_softmax(-1)[:, names(network.language)]
    wanted = given.logits.argmax(1).roll(-1, 0)
    expected = -sum(shares[row, label].item() for row, label in enumerate(wanted)) / len(states)
    assert with_words - without == pytest.approx(expected, rel=1e-4)


def test_a_training_without_c2_has_no_weights_for_it(narrator: Made) -> None:
    names = {name.split(".")[0] for name, _ in narrator("phi").named_parameters()}
    assert names == {"psi", "phi"}
    assert {name.split(".")[0] for name, _ in narrator("cause").named_parameters()} == names | {"aggregator", "c2"}


def test_c2_has_the_heads_shape_but_not_its_weights_and_learns_alone(narrator: Made, head: nn.Sequential) -> None:
    network = narrator()
    assert [weight.shape for weight in network.c2.parameters()] == [weight.shape for weight in head.parameters()]
    assert not torch.allclose(network.c2[0].weight, head[0].weight, atol=0.05)
    assert all(weight.requires_grad for weight in network.c2.parameters())
    assert not any(weight.requires_grad for weight in head.parameters())
    assert match_loss(head, network.c2).item() > 0.1


def identical(narrator: Made, head: nn.Sequential) -> Narrator:
    """F is the identity and C2 is C1: nothing is left to learn."""
    network = narrator(head=head)
    network.c2.load_state_dict(head.state_dict())
    network.class_token_logits = lambda inputs, sight=None: inputs.states  # type: ignore[method-assign]
    network.aggregate_token = lambda answer: answer  # type: ignore[method-assign]
    return network


@pytest.mark.parametrize("inputs", [True, False])
def test_where_f_is_the_identity_and_c2_is_c1_every_exchange_agrees(
    narrator: Made, head: nn.Sequential, states: Tensor, inputs: bool
) -> None:
    """So base, source, layer and neurons are the same on both sides, whatever is drawn."""
    network, recipe = identical(narrator, head), NarratorRecipe(inputs=inputs, words=False, share=0.5)
    given = batch(network.language, head, states)
    for seed in range(20):
        result = terms(recipe, network, frozen(head, network), given, generator().manual_seed(seed))
        assert result["iit"].item() == pytest.approx(0, abs=1e-5)
        assert result["ts"].item() == pytest.approx(0, abs=1e-5)


def test_the_exchange_is_the_one_that_was_drawn(narrator: Made, head: nn.Sequential, states: Tensor) -> None:
    """Against Eq. 5 with the source of every item its neighbour; the head has one hidden layer."""
    network = identical(narrator, head)
    with torch.no_grad():
        network.c2[0].weight += 0.5  # now C2 and C1 disagree
    given, recipe = batch(network.language, head, states), NarratorRecipe(share=0.5, inputs=False, words=False)
    for seed in range(6):
        draws = generator().manual_seed(seed)
        layer = int(torch.randint(1, 2, (1,), generator=draws))
        neurons = draw_neurons(layer_sizes(head)[layer], 0.5, draws)
        source = states.roll(-1, 0)
        wanted = [run_with_exchange(one, states, source, layer, neurons) for one in (head, network.c2)]
        result = terms(recipe, network, frozen(head, network), given, generator().manual_seed(seed))["iit"]
        assert result.item() == pytest.approx(divergence(*wanted).item(), rel=1e-5)


def test_with_inputs_the_same_exchange_is_made_in_the_state_and_goes_through_the_whole_of_f(
    narrator: Made, head: nn.Sequential, states: Tensor
) -> None:
    network, seen = narrator(), []
    opened = network.class_token_logits
    network.class_token_logits = lambda given, sight=None: (seen.append(given.states), opened(given))[1]  # type: ignore[method-assign]
    given, source = batch(network.language, head, states), states.roll(-1, 0)
    for seed in range(6):
        seen.clear()
        terms(
            NarratorRecipe(share=1.0),
            network,
            frozen(head, network),
            given,
            generator().manual_seed(seed),
        )
        first, mixed = seen
        assert torch.equal(first, states)
        assert torch.allclose(activations(head, mixed)[1], activations(head, source)[1], atol=1e-5)  # all neurons


@pytest.mark.parametrize("recipe", [NarratorRecipe(inputs=False), NarratorRecipe(leak="leaky")])
def test_without_inputs_or_leaky_only_the_heads_layers_are_exchanged(
    narrator: Made, head: nn.Sequential, states: Tensor, monkeypatch: pytest.MonkeyPatch, recipe: NarratorRecipe
) -> None:
    layers: list[int] = []

    def watched(part: nn.Sequential, base: Tensor, source: Tensor, layer: int, neurons: Tensor) -> Tensor:
        layers.append(layer)
        return run_with_exchange(part, base, source, layer, neurons)

    monkeypatch.setattr(interchange, "run_with_exchange", watched)
    network = narrator()
    given = batch(network.language, head, states)
    for seed in range(8):
        terms(recipe, network, frozen(head, network), given, generator().manual_seed(seed))
    assert layers == [1] * 16  # both sides each time


@pytest.mark.parametrize("leak", ["closed", "leaky"])
def test_every_part_learns_and_the_frozen_head_does_not(
    narrator: Made, head: nn.Sequential, states: Tensor, leak: Leak
) -> None:
    network = narrator()
    given = batch(network.language, head, states)
    total = terms(NarratorRecipe(leak=leak), network, frozen(head, network), given, generator())["total"]
    gradients = torch.autograd.grad(total, list(network.parameters()))
    for (name, _), gradient in zip(network.named_parameters(), gradients, strict=True):
        assert gradient.abs().sum() > 0, name
    assert all(weight.grad is None for weight in head.parameters())


def test_a_weight_that_stands_at_two_places_is_kept_once(narrator: Made) -> None:
    network = narrator()
    assert network.tied_names == {"phi.lm_head.weight"}
    network.phi.lm_head.weight = nn.Parameter(network.phi.lm_head.weight.clone())  # a language model that does not tie
    assert network.tied_names == set()


def test_the_published_training_is_a_setting_away() -> None:
    assert replace(NarratorRecipe(), leak="leaky", soft=False, inputs=False) == NarratorRecipe(
        "cause", "leaky", False, False
    )
