import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from explainers.datasets import esnli
from explainers.narrative import cause
from explainers.narrative.cause import READ, Batch, Narrator, Recipe, divergence, hidden, match, student, terms
from explainers.narrative.interchange import activations, drawn, interchanged, sizes
from explainers.narrative.language import Language, padded

Made = Callable[..., Narrator]
SENTENCES = (
    "The answer is entailment because the film was good.",
    "The answer is neutral.",
    "The answer is contradiction because the plot was not dull.",
    "The answer is neutral because the film was very bad.",
    "The answer is entailment.",
    "The answer is contradiction.",
)


def chance() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def pieces(spoken: Language) -> list[list[int]]:
    return [spoken.within(label) for label in esnli.LABELS]


def batch(spoken: Language, head: nn.Sequential, states: Tensor, sentences: tuple[str, ...] = SENTENCES) -> Batch:
    return Batch(states, head(states), [spoken.ids(each) for each in sentences])


def losses(recipe: Recipe, narrator: Narrator, head: nn.Sequential, given: Batch) -> dict[str, float]:
    found = terms(recipe, narrator, head, pieces(narrator.spoken), given, chance())
    return {name: term.item() for name, term in found.items()}


def test_divergence_is_from_the_first_to_the_second() -> None:
    first, second = torch.tensor([[0.0, math.log(3)]]), torch.tensor([[0.0, 0.0]])  # (1/4, 3/4) and (1/2, 1/2)
    assert divergence(first, second).item() == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(1.5))
    assert divergence(second, first).item() == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    both = divergence(torch.cat([first, first]), torch.cat([second, first]))
    assert both.item() == pytest.approx(divergence(first, second).item() / 2)  # a mean over rows; 0 for equal ones


def test_the_student_follows_the_teachers_probabilities_or_its_class() -> None:
    teacher, answers = torch.tensor([[0.0, math.log(3)]]), torch.tensor([[0.0, 0.0]])
    assert student(teacher, answers, soft=True).item() == pytest.approx(divergence(teacher, answers).item())
    assert student(teacher, answers, soft=False).item() == pytest.approx(math.log(2))
    assert student(teacher, teacher, soft=True).item() == pytest.approx(0)


def test_weights_are_matched_by_squared_distance_over_the_number_of_layers(head: nn.Sequential) -> None:
    narrator_head = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    narrator_head.load_state_dict(head.state_dict())
    assert match(head, narrator_head).item() == 0
    with torch.no_grad():
        narrator_head[0].weight[0, 0] += 3.0  # 9
        narrator_head[2].bias[1] -= 1.0  # 1
    assert match(head, narrator_head).item() == pytest.approx((9 + 1) / 2)


def test_the_language_loss_is_the_mean_over_real_words_and_never_over_padding(
    narrator: Made, head: nn.Sequential, states: Tensor
) -> None:
    speaks = narrator("phi")
    given = batch(speaks.spoken, head, states)
    total, count = 0.0, 0
    for state, row in zip(given.states, given.sentences, strict=True):  # one by one there is nothing to pad
        shares = speaks.answers(state[None], torch.tensor([row])).log_softmax(-1)[0]
        total -= sum(shares[at, word].item() for at, word in enumerate(row))
        count += len(row)
    assert losses(Recipe("phi"), speaks, head, given)["phi"] == pytest.approx(total / count, rel=1e-5)


def test_at_each_place_only_the_state_and_the_words_before_are_read(narrator: Made, states: Tensor) -> None:
    speaks = narrator("phi")
    one, other = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[5, 6, 9, 9]])
    first, second = (speaks.answers(states[:1], ids)[0] for ids in (one, other))
    assert torch.allclose(first[:3], second[:3], atol=1e-6)  # the third answer is about the third word
    assert not torch.allclose(first[3], second[3], atol=1e-2)
    assert not torch.allclose(first[0], speaks.answers(states[1:2], one)[0, 0], atol=1e-2)


def test_the_aggregator_takes_the_mean_of_probabilities_over_real_places(narrator: Made) -> None:
    speaks = narrator()
    size = speaks.spoken.size
    answers = torch.full((1, 3, size), -1e9)
    for place, word in enumerate((4, 5, 6)):
        answers[0, place, word] = 0.0  # certain of one word
    real = torch.tensor([[True, True, False]])
    with torch.no_grad():
        weight, bias = speaks.aggregator.weight, speaks.aggregator.bias
        expected = (weight[:, 4] + weight[:, 5]) / 2 + bias
        assert torch.allclose(speaks.aggregated(answers, real)[0], expected, atol=1e-6)


def test_what_a_state_becomes_does_not_depend_on_the_padding_of_its_neighbours(narrator: Made, states: Tensor) -> None:
    speaks = narrator()
    rows = [speaks.spoken.ids(each) for each in SENTENCES]
    together = speaks.read(states, *padded(rows, speaks.spoken.pads, states.device))
    for place, row in enumerate(rows):
        alone = speaks.read(states[place : place + 1], *padded([row], speaks.spoken.pads, states.device))
        assert torch.allclose(together[place], alone[0], atol=1e-5)


def test_only_the_beginning_of_a_sentence_is_read(narrator: Made, states: Tensor) -> None:
    speaks = narrator()
    row = list(range(5, 5 + READ + 8))
    real = torch.ones(1, len(row), dtype=torch.bool)
    changed = [*row[:READ], *row[READ:][::-1]]
    found = [speaks.read(states[:1], torch.tensor([each]), real) for each in (row, changed)]
    assert torch.equal(*found)


def test_every_class_name_is_hidden_and_nothing_else() -> None:
    ids = torch.tensor([[9, 4, 5, 4], [7, 7, 4, 5], [1, 2, 7, 0]])
    found = hidden(ids, [[4, 5], [7]], 99)
    assert found.tolist() == [[9, 99, 99, 4], [99, 99, 99, 99], [1, 2, 99, 0]]
    assert ids[0, 1] == 4  # what was given is not changed


def test_a_name_longer_than_the_sentences_hides_nothing() -> None:
    assert hidden(torch.tensor([[4, 5]]), [[4, 5, 6]], 99).tolist() == [[4, 5]]


def test_no_class_is_left_in_what_a_reads(spoken: Language) -> None:
    ids, _ = padded([spoken.ids(each) for each in SENTENCES], spoken.pads, torch.device("cpu"))
    names = {piece for row in pieces(spoken) for piece in row}
    assert names & set(ids.flatten().tolist()) == names
    assert not names & set(hidden(ids, pieces(spoken), spoken.hides).flatten().tolist())


@pytest.mark.parametrize(("leak", "moves"), [("closed", False), ("leaky", True)])
def test_closed_what_c2_reads_does_not_depend_on_the_items_own_sentence(
    narrator: Made, head: nn.Sequential, states: Tensor, monkeypatch: pytest.MonkeyPatch, leak: cause.Leak, moves: bool
) -> None:
    speaks, seen = narrator("phi_ts"), []

    def watched(_teacher: Tensor, answers: Tensor, *, soft: bool) -> Tensor:
        seen.append(answers.detach())
        return answers.sum()

    monkeypatch.setattr(cause, "student", watched)
    recipe = Recipe("phi_ts", leak=leak)
    other = ("The answer is contradiction because the plot was not dull.", *SENTENCES[1:])
    for sentences in (SENTENCES, other):
        losses(recipe, speaks, head, batch(speaks.spoken, head, states, sentences))
    before, after = seen
    assert torch.allclose(before[0], after[0], atol=1e-6) != moves


def test_closed_the_class_in_anothers_sentence_is_not_read_either(
    narrator: Made, head: nn.Sequential, states: Tensor
) -> None:
    speaks = narrator("phi_ts")
    other = ("The answer is contradiction because the film was good.", *SENTENCES[1:])  # only its class is changed
    given = [batch(speaks.spoken, head, states, each) for each in (SENTENCES, other)]
    closed, leaky = (
        [losses(Recipe("phi_ts", leak=leak), speaks, head, each)["ts"] for each in given]  # type: ignore[arg-type]
        for leak in ("closed", "leaky")
    )
    assert closed[0] == pytest.approx(closed[1], abs=1e-7)
    assert leaky[0] != pytest.approx(leaky[1], abs=1e-5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("phi", {"phi"}), ("phi_ts", {"phi", "ts"}), ("cause", {"phi", "ts", "iit", "match"})],
)
def test_each_training_has_its_terms_and_minimises_their_sum(
    narrator: Made, head: nn.Sequential, states: Tensor, name: cause.Losses, expected: set[str]
) -> None:
    speaks = narrator(name)
    found = losses(Recipe(name), speaks, head, batch(speaks.spoken, head, states))
    assert set(found) == expected | {"total"}
    assert found["total"] == pytest.approx(sum(found[term] for term in expected))
    assert all(found[term] >= 0 for term in expected)


def test_a_training_without_c2_has_no_weights_for_it(narrator: Made) -> None:
    names = {name.split(".")[0] for name, _ in narrator("phi").named_parameters()}
    assert names == {"psi", "phi"}
    assert {name.split(".")[0] for name, _ in narrator("cause").named_parameters()} == names | {"aggregator", "c2"}


def test_c2_has_the_heads_shape_but_not_its_weights_and_learns_alone(narrator: Made, head: nn.Sequential) -> None:
    speaks = narrator()
    assert [weight.shape for weight in speaks.c2.parameters()] == [weight.shape for weight in head.parameters()]
    assert not torch.allclose(speaks.c2[0].weight, head[0].weight, atol=0.05)
    assert all(weight.requires_grad for weight in speaks.c2.parameters())
    assert not any(weight.requires_grad for weight in head.parameters())
    assert match(head, speaks.c2).item() > 0.1


def identical(narrator: Made, head: nn.Sequential) -> Narrator:
    """F is the identity and C2 is C1: nothing is left to learn."""
    speaks = narrator(head=head)
    speaks.c2.load_state_dict(head.state_dict())
    speaks.read = lambda states, _ids, _real: states  # type: ignore[method-assign]
    return speaks


@pytest.mark.parametrize("inputs", [True, False])
def test_where_f_is_the_identity_and_c2_is_c1_every_exchange_agrees(
    narrator: Made, head: nn.Sequential, states: Tensor, inputs: bool
) -> None:
    """So base, source, layer and neurons are the same on both sides, whatever is drawn."""
    speaks = identical(narrator, head)
    given = batch(speaks.spoken, head, states)
    for seed in range(20):
        found = terms(
            Recipe(inputs=inputs, share=0.5), speaks, head, pieces(speaks.spoken), given, chance().manual_seed(seed)
        )
        assert found["iit"].item() == pytest.approx(0, abs=1e-6)
        assert found["ts"].item() == pytest.approx(0, abs=1e-6)


def test_the_exchange_is_the_one_that_was_drawn(narrator: Made, head: nn.Sequential, states: Tensor) -> None:
    """Against Eq. 5 with the source of every item its neighbour; the head has one hidden layer."""
    speaks = identical(narrator, head)
    with torch.no_grad():
        speaks.c2[0].weight += 0.5  # now C2 and C1 disagree
    given, recipe = batch(speaks.spoken, head, states), Recipe(share=0.5, inputs=False)
    for seed in range(6):
        draws = chance().manual_seed(seed)
        layer = int(torch.randint(1, 2, (1,), generator=draws))
        neurons = drawn(sizes(head)[layer], 0.5, draws)
        source = states.roll(-1, 0)
        wanted = [interchanged(one, states, source, layer, neurons) for one in (head, speaks.c2)]
        found = terms(recipe, speaks, head, pieces(speaks.spoken), given, chance().manual_seed(seed))["iit"]
        assert found.item() == pytest.approx(divergence(*wanted).item(), rel=1e-5)


def test_with_inputs_the_same_exchange_is_made_in_the_state_and_goes_through_the_whole_of_f(
    narrator: Made, head: nn.Sequential, states: Tensor
) -> None:
    speaks, seen = narrator(), []
    read = speaks.read
    speaks.read = lambda given, *rest: (seen.append(given), read(given, *rest))[1]  # type: ignore[method-assign]
    given, source = batch(speaks.spoken, head, states), states.roll(-1, 0)
    for seed in range(6):
        seen.clear()
        terms(Recipe(share=1.0), speaks, head, pieces(speaks.spoken), given, chance().manual_seed(seed))
        first, mixed = seen
        assert torch.equal(first, states)
        assert torch.allclose(activations(head, mixed)[1], activations(head, source)[1], atol=1e-5)  # all neurons


@pytest.mark.parametrize("recipe", [Recipe(inputs=False), Recipe(leak="leaky")])
def test_without_inputs_or_leaky_only_the_heads_layers_are_exchanged(
    narrator: Made, head: nn.Sequential, states: Tensor, monkeypatch: pytest.MonkeyPatch, recipe: Recipe
) -> None:
    layers: list[int] = []

    def watched(part: nn.Sequential, base: Tensor, source: Tensor, layer: int, neurons: Tensor) -> Tensor:
        layers.append(layer)
        return interchanged(part, base, source, layer, neurons)

    monkeypatch.setattr(cause, "interchanged", watched)
    speaks = narrator()
    given = batch(speaks.spoken, head, states)
    for seed in range(8):
        terms(recipe, speaks, head, pieces(speaks.spoken), given, chance().manual_seed(seed))
    assert layers == [1] * 16  # both sides each time


@pytest.mark.parametrize("leak", ["closed", "leaky"])
def test_every_part_learns_and_the_frozen_head_does_not(
    narrator: Made, head: nn.Sequential, states: Tensor, leak: cause.Leak
) -> None:
    speaks = narrator()
    given = batch(speaks.spoken, head, states)
    total = terms(Recipe(leak=leak), speaks, head, pieces(speaks.spoken), given, chance())["total"]
    gradients = torch.autograd.grad(total, list(speaks.parameters()))
    for (name, _), gradient in zip(speaks.named_parameters(), gradients, strict=True):
        assert gradient.abs().sum() > 0, name
    assert all(weight.grad is None for weight in head.parameters())


def test_a_weight_that_stands_at_two_places_is_kept_once(narrator: Made) -> None:
    speaks = narrator()
    assert speaks.repeated == {"phi.lm_head.weight"}
    speaks.phi.lm_head.weight = nn.Parameter(speaks.phi.lm_head.weight.clone())  # a language model that does not tie
    assert speaks.repeated == set()


def test_the_published_training_is_a_setting_away() -> None:
    assert replace(Recipe(), leak="leaky", soft=False, inputs=False) == Recipe("cause", "leaky", False, False)
