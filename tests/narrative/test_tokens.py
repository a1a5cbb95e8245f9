"""Narrators that read the states of the tokens: what they read, what an exchange changes, and to what φ may point."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import pad_batch
from explainers.models.internals import classifier_head, forward_with_internals, head_inputs
from explainers.narrative import cause
from explainers.narrative.cause import Classifier, NarratorBatch, terms
from explainers.narrative.generation import generate
from explainers.narrative.interchange import activations
from explainers.narrative.language import Language
from explainers.narrative.narrator import Narrator, Pointer, input_pieces
from explainers.narrative.narrator_input import NO_UNIT, InputTokens, NarratorInput
from explainers.narrative.recipe import Leak, NarratorRecipe
from explainers.narrative.sentences import narrator_items, read_inputs, stack_inputs
from explainers.narrative.token_states import batch_token_states, continue_from_layer, exchange_in_layer, mean_of_tokens

Made = Callable[..., Narrator]
PAIRS = (
    Example("the film was good", "a plot"),
    Example("a dull film", "the film was very bad"),
    Example("bad", "good"),
)


def read(model: FrozenModel, layer: int = 1) -> NarratorInput:
    return read_inputs(model, [model.encode(pair) for pair in PAIRS], layer)[0]


def tokens_of(inputs: NarratorInput) -> InputTokens:
    assert inputs.tokens is not None
    return inputs.tokens


def continued(model: FrozenModel, layer: int = 1) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda tokens, real: continue_from_layer(model, tokens, real, layer)


def test_the_state_is_the_mean_of_the_last_layers_tokens_and_gives_the_logits(model: FrozenModel) -> None:
    batch = pad_batch([model.encode(pair) for pair in PAIRS], model.pad_token, model.device)
    states = batch_token_states(model, batch, 1)
    assert torch.allclose(states.logits, forward_with_internals(model, batch).logits, atol=1e-5)
    assert torch.allclose(states.states, head_inputs(model, [model.encode(pair) for pair in PAIRS])[0], atol=1e-5)
    assert torch.allclose(mean_of_tokens(states.tokens[:, :, 1], states.real), states.states, atol=1e-5)


def test_the_frozen_rest_gives_the_last_layer_from_the_middle_one(model: FrozenModel) -> None:
    tokens = tokens_of(read(model))
    last = continue_from_layer(model, tokens.states[:, :, 0], tokens.real, 1)
    assert torch.allclose(last[tokens.real], tokens.states[:, :, 1][tokens.real], atol=1e-5)


@pytest.mark.parametrize("layer", [2, 7])
def test_a_layer_that_is_not_in_the_middle_is_refused(model: FrozenModel, layer: int) -> None:
    with pytest.raises(ExplanationError, match=rf"small has no middle layer {layer}\. Give a number from 1 to 1\."):
        read(model, layer)


def test_a_model_that_reads_its_class_from_one_token_is_refused(model: FrozenModel) -> None:
    model.mean_pooled = False
    with pytest.raises(ExplanationError, match="does not read its class from the mean"):
        read(model)


def test_items_keep_what_is_read_without_padding(model: FrozenModel) -> None:
    items, inputs = narrator_items(model, PAIRS, 1), read(model)
    again, tokens = stack_inputs(items), tokens_of(inputs)
    assert torch.equal(tokens_of(again).real, tokens.real)
    assert torch.equal(tokens_of(again).units[tokens.real], tokens.units[tokens.real])
    assert torch.allclose(tokens_of(again).features[tokens.real], tokens.features[tokens.real], atol=1e-2)  # 16 bits
    assert tokens_of(again).words == tokens.words == tuple(tuple(f"{pair.text} {pair.pair}".split()) for pair in PAIRS)
    assert narrator_items(model, PAIRS)[0].tokens is None


def test_special_tokens_belong_to_no_word(model: FrozenModel) -> None:
    tokens = tokens_of(read(model))
    for units, real, words in zip(tokens.units, tokens.real, tokens.words, strict=True):
        assert sorted(set(units[real].tolist())) == [NO_UNIT, *range(len(words))]


def test_a_changed_state_is_the_mean_of_the_changed_last_layer(model: FrozenModel) -> None:
    inputs = read(model)
    changed = inputs.with_states(inputs.states + torch.arange(3)[:, None])
    tokens = tokens_of(changed)
    assert torch.allclose(mean_of_tokens(tokens.states[:, :, 1], tokens.real), changed.states, atol=1e-5)
    assert torch.equal(tokens.states[:, :, 0], tokens_of(inputs).states[:, :, 0])


def test_rows_are_taken_with_their_words(model: FrozenModel) -> None:
    inputs = read(model)
    for rows, numbers in ((slice(1, 3), [1, 2]), (torch.tensor([2, 0]), [2, 0])):
        assert torch.equal(inputs[rows].states, inputs.states[numbers])
        assert tokens_of(inputs[rows]).words == tuple(tokens_of(inputs).words[number] for number in numbers)


def test_with_all_neurons_the_exchanged_layer_has_the_sources_mean(model: FrozenModel) -> None:
    inputs = read(model)
    exchanged = exchange_in_layer(inputs, 1.0, torch.Generator(), continued(model))
    middle, tokens = (
        (tokens_of(narrator_input).states[:, :, 0] for narrator_input in (exchanged, inputs)),
        tokens_of(inputs),
    )
    after, before = (mean_of_tokens(states, tokens.real) for states in middle)
    assert torch.allclose(after, before.roll(-1, 0), atol=1e-5)
    last = continue_from_layer(model, tokens_of(exchanged).states[:, :, 0], tokens.real, 1)
    assert torch.allclose(exchanged.states, mean_of_tokens(last, tokens.real), atol=1e-5)
    assert not torch.allclose(exchanged.states, inputs.states, atol=1e-2)


def test_an_exchange_with_itself_changes_nothing(model: FrozenModel) -> None:
    one = read(model)[:1]
    exchanged = exchange_in_layer(one, 0.5, torch.Generator().manual_seed(0), continued(model))
    assert torch.allclose(exchanged.states, one.states, atol=1e-5)


@pytest.fixture
def network(narrator: Made, model: FrozenModel) -> Narrator:
    return narrator("cause", classifier_head(model), layer=1)


def test_what_is_generated_depends_on_the_tokens_and_not_on_the_neighbours(
    network: Narrator, model: FrozenModel
) -> None:
    inputs = read(model)
    together = generate(network, inputs)
    assert [generate(network, read_inputs(model, [model.encode(pair)], 1)[0])[0] for pair in PAIRS] == together
    same_state = NarratorInput(inputs.states[:1].expand(3, -1), inputs.tokens)
    logits = network.token_logits(same_state, torch.tensor([[5, 6, 7]]).expand(3, -1))
    assert not torch.allclose(logits[0, 0], logits[1, 0], atol=1e-2)


def test_generating_with_a_cache_is_the_same_as_without(network: Narrator, model: FrozenModel) -> None:
    inputs = read(model)[:1]
    (row,) = generate(network, inputs)
    logits = network.token_logits(inputs, torch.tensor([row]))[0]
    logits[:, list(network.language.never_generated)] = -torch.inf
    assert row == logits.argmax(-1).tolist()


def test_a_narrator_without_the_tokens_that_it_reads_says_so(network: Narrator, model: FrozenModel) -> None:
    with pytest.raises(ValueError, match="reads the tokens of the input"):
        generate(network, NarratorInput(read(model).states))


def test_the_pieces_are_those_of_the_words_inside_a_sentence(language: Language, model: FrozenModel) -> None:
    pieces = input_pieces(tokens_of(read(model)), language)
    for row, words in enumerate(tokens_of(read(model)).words):
        for number, word in enumerate(words):
            mine = pieces.units[row] == number
            assert pieces.ids[row][mine].tolist() == language.pieces_within(word)
            assert pieces.places[row][mine].tolist() == list(range(int(mine.sum())))
        assert int((pieces.units[row] >= 0).sum()) == sum(len(language.pieces_within(word)) for word in words)


def test_an_open_gate_points_to_words_of_the_input_only_and_a_closed_one_to_none(
    network: Narrator, model: FrozenModel
) -> None:
    pointer, inputs, ids = network.token_reader.pointer, read(model), torch.tensor([[5, 6, 7]]).expand(3, -1)
    pointer.gate.weight.data.zero_()
    shares = []
    for bias in (30.0, -30.0):
        pointer.gate.bias.data.fill_(bias)
        shares.append(network.token_logits(inputs, ids).detach().exp())
    pieces = input_pieces(tokens_of(inputs), network.language)
    for row in range(3):
        own = pieces.ids[row][pieces.units[row] >= 0]
        assert float(shares[0][row][:, own.unique()].sum(-1).min()) == pytest.approx(1, abs=1e-3)
    memory = network.token_memory(inputs)
    assert memory is not None
    embeds = torch.cat([network.psi(inputs.states)[:, None], network.embedding_of(network.phi)(ids[:, :-1])], 1)
    plain = network.phi(
        inputs_embeds=embeds, encoder_hidden_states=memory.states, encoder_attention_mask=memory.real
    ).logits.softmax(-1)
    assert torch.allclose(shares[1], plain, atol=1e-4)


def test_without_words_nothing_is_pointed_to(language: Language) -> None:
    """As for an image whose text has no words."""
    tokens = InputTokens(
        torch.zeros(1, 2, 2, 4), torch.ones(1, 2).bool(), torch.tensor([[0, NO_UNIT]]), (("",),), ((0,),)
    )
    pieces, pointer = input_pieces(tokens, language), Pointer(4)
    pointer.gate.bias.data.fill_(30.0)
    logits = torch.randn(1, 3, language.size)
    keys = pointer.keys(pieces, tokens.units, torch.zeros(1, 2, 4), torch.nn.Embedding(language.size, 4))
    shares = pointer(torch.zeros(1, 3, 4), logits, keys, pieces).exp()
    assert torch.allclose(shares, logits.softmax(-1), atol=1e-4)


@pytest.mark.parametrize("leak", ["closed", "sentence"])
def test_every_part_learns_also_where_the_exchange_is_in_the_layer(
    network: Narrator, model: FrozenModel, leak: Leak, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, inputs = classifier_head(model), read(model)
    names = torch.tensor([network.language.pieces_within(label)[0] for label in model.labels])
    sentences = [network.language.ids(f"The answer is neutral because {word}.") for word in ("good", "bad", "film")]
    batch = NarratorBatch(inputs, activations(head, inputs.states)[-1], sentences)
    made: list[NarratorInput] = []

    def watched(*given: Any) -> NarratorInput:
        made.append(exchange_in_layer(*given))
        return made[-1]

    monkeypatch.setattr(cause.token_states, "exchange_in_layer", watched)
    network.leak, classifier = leak, Classifier(head, names, continued(model))
    recipe = NarratorRecipe(leak=leak, layer=1, share=1.0)
    for seed in range(8):
        losses = terms(recipe, network, classifier, batch, torch.Generator().manual_seed(seed))
    assert 0 < len(made) < 8  # every other one is made in the state
    assert not any(narrator_input.states.requires_grad for narrator_input in made)
    gradients = torch.autograd.grad(losses["total"], list(network.parameters()))
    silent = {
        name for (name, _), gradient in zip(network.named_parameters(), gradients, strict=True) if not gradient.any()
    }
    assert {name for name in silent if "bias" not in name} <= {"phi.transformer.wpe.weight"}
    assert not any(weight.requires_grad for weight in head.parameters())


def test_alone_only_the_sentences_are_learned(network: Narrator, model: FrozenModel) -> None:
    head, inputs = classifier_head(model), read(model)
    batch = NarratorBatch(inputs, torch.zeros(3, 3), [network.language.ids("The answer is neutral.")] * 3)
    result = terms(
        NarratorRecipe(layer=1),
        network,
        Classifier(head, torch.zeros(3).long()),
        batch,
        torch.Generator(),
        phi_alone=True,
    )
    assert set(result) == {"phi", "total"}


def test_a_piece_that_was_pointed_to_is_not_pointed_to_again(network: Narrator, model: FrozenModel) -> None:
    memory = network.token_memory(read(model))
    assert memory is not None
    film = torch.tensor(network.language.pieces_within("film")[:1] * 3)  # once in two of the pairs, not in the third
    before, units = memory.pieces, [memory.pieces.units]
    for _ in range(2):
        memory = memory.without(film)
        units.append(memory.pieces.units)
    for row in range(3):
        places = (before.ids[row] == film[row]).nonzero()[:, 0].tolist()
        for times, after in enumerate(units):
            assert (after[row] != units[0][row]).nonzero()[:, 0].tolist() == places[:times]


@pytest.mark.parametrize("once", [True, False])
def test_a_sentence_points_to_a_word_once_where_it_is_asked_to(
    network: Narrator, model: FrozenModel, *, once: bool
) -> None:
    network.token_reader.pointer.gate.weight.data.zero_()
    network.token_reader.pointer.gate.bias.data.fill_(30.0)  # nothing but words of the input
    network.points_once = once
    inputs = read(model)[:1]
    pieces = [network.language.pieces_within(word) for word in tokens_of(inputs).words[0]]
    there = [piece for word in pieces for piece in word]
    (row,) = generate(network, inputs)
    said = row[: len(pieces)]
    assert any(said.count(piece) > there.count(piece) for piece in said) == (not once)
