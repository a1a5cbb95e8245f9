"""Pretrained language models as φ: how they load, how they read tokens, and which of their weights learn."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import nn
from transformers import BertConfig, BertLMHeadModel, GPT2LMHeadModel, LlamaForCausalLM, PreTrainedTokenizerFast

from explainers.datasets.example import Example
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import classifier_head
from explainers.narrative import cause, fit, pretrained
from explainers.narrative.cause import Parts, train
from explainers.narrative.fit import read_states_as_words, start_from, token_pieces
from explainers.narrative.generation import generate
from explainers.narrative.language import Language, pad_rows
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.narrative.pretrained import SMOLLM2, pretrained_language_model
from explainers.narrative.recipe import NarratorRecipe
from explainers.narrative.sentences import narrator_items, stack_inputs
from explainers.training.artifacts import Artifact

WORDS = ["The", "answer", "is", "neutral", "entailment", "contradiction", "because", "film", "good"]
SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
PAIRS = (Example("the film was good", "a plot"), Example("a dull film", "the film was very bad indeed"))


def splitter() -> Tokenizer:
    """Whole words as byte pairs, with and without the space before."""
    letters = sorted({*"".join(WORDS), "Ġ"})
    pieces, merges = list(letters), []
    for word in WORDS:
        for start in (word[0], "Ġ" + word[0]):
            if start not in pieces:
                merges.append(("Ġ", word[0]))
                pieces.append(start)
            whole = start
            for letter in word[1:]:
                if whole + letter not in pieces:
                    merges.append((whole, letter))
                    pieces.append(whole + letter)
                whole += letter
    pieces = [*dict.fromkeys(pieces), "<|endoftext|>"]
    result = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, merges))
    result.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    result.decoder = decoders.ByteLevel()
    result.add_special_tokens(["<|endoftext|>"])
    return result


@pytest.fixture(params=[GPT2LMHeadModel, LlamaForCausalLM])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A causal model with random weights and its tokenizer."""
    tokenizer, kind = splitter(), request.param
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>").save_pretrained(tmp_path)
    sizes = SIZES if kind is LlamaForCausalLM else {"n_embd": 8, "n_layer": 2, "n_head": 2}
    end = tokenizer.token_to_id("<|endoftext|>")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = kind.config_class(**sizes, vocab_size=end + 1, bos_token_id=end, eos_token_id=end)
        kind(config).save_pretrained(tmp_path)
    return str(tmp_path)


def narrator_of(
    model: FrozenModel, name: str, rank: int = 0, seed: int = 1, losses: Literal["phi", "cause"] = "phi"
) -> Narrator:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        phi, language = pretrained_language_model(name, reads_tokens=True, rank=rank)
        narrator = Narrator(classifier_head(model), phi, language, losses, layer=1)
        for weight in narrator.token_reader.parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight)
    return narrator.eval()


def logits_of(narrator: Narrator, inputs: NarratorInput, words: str = "The answer is neutral") -> torch.Tensor:
    ids = torch.tensor([narrator.language.ids(words)] * len(inputs))
    return narrator.token_logits(inputs, ids)


def test_a_language_model_that_does_not_load_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        ModelUnavailable,
        match=rf"'{tmp_path}' could not be loaded: .*or one of: small, tiny, encoder, smollm2\.",
    ):
        pretrained_language_model(str(tmp_path))


def test_without_smollm2_the_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained.smollm2, "smollm2_folder", lambda: None)
    with pytest.raises(
        ModelUnavailable, match=r"loaded\. It is not in the store\. Run `python -m explainers get smollm2`"
    ):
        pretrained_language_model(SMOLLM2)


def test_smollm2_comes_from_the_store(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setattr(pretrained.smollm2, "smollm2_folder", lambda: Path(folder))
    phi, language = pretrained_language_model(SMOLLM2)
    assert phi.get_input_embeddings().num_embeddings == language.size
    assert language.text(language.ids("The answer is neutral")) == "The answer is neutral."


def test_every_architecture_reads_the_tokens(model: FrozenModel, folder: str) -> None:
    narrator = narrator_of(model, folder)
    inputs = stack_inputs(narrator_items(model, PAIRS, 1))
    assert inputs.tokens is not None
    others = NarratorInput(inputs.states, inputs.tokens[torch.tensor([1, 0])])
    assert not torch.allclose(logits_of(narrator, inputs), logits_of(narrator, others), atol=1e-3)
    assert narrator.has_cross_attention == isinstance(narrator.phi, GPT2LMHeadModel)


def test_the_loss_of_a_sentence_is_that_of_its_tokens(model: FrozenModel, folder: str) -> None:
    narrator = narrator_of(model, folder)
    inputs = stack_inputs(narrator_items(model, PAIRS, 1))
    texts = ("The answer is neutral because the film was good", "The answer is entailment")
    ids, real = pad_rows([narrator.language.ids(text) for text in texts], narrator.language.pad_id, torch.device("cpu"))
    memory = narrator.token_memory(inputs)
    expected = F.cross_entropy(narrator.token_logits(inputs, ids, memory)[real], ids[real])
    assert not bool(real.all())
    loss, _ = narrator.sentence_loss(inputs, ids, real, memory)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
    word = narrator.language.pieces_within("film")[0]
    assert memory is not None
    assert word in memory.pieces.ids
    with torch.no_grad():
        narrator.token_reader.pointer.gate.bias.fill_(4.0)  # nearly every token is pointed to
    expected = F.cross_entropy(narrator.token_logits(inputs, ids, memory)[real], ids[real])
    loss, class_logits = narrator.sentence_loss(inputs, ids, real, memory)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
    assert class_logits is None  # nothing reads them


@pytest.mark.parametrize("folder", [LlamaForCausalLM], indirect=True)
def test_the_pass_of_a_sentence_also_gives_the_class(model: FrozenModel, folder: str) -> None:
    narrator = narrator_of(model, folder, rank=2, losses="cause").train()
    inputs = stack_inputs(narrator_items(model, PAIRS, 1))
    texts = ("The answer is neutral because the film was good", "The answer is entailment")
    ids, real = pad_rows([narrator.language.ids(text) for text in texts], narrator.language.pad_id, torch.device("cpu"))
    _, class_logits = narrator.sentence_loss(inputs, ids, real, narrator.token_memory(inputs))
    assert class_logits is not None
    assert torch.allclose(class_logits, narrator.class_token_logits(inputs), atol=1e-5)


@pytest.mark.parametrize("folder", [LlamaForCausalLM], indirect=True)
def test_the_aggregator_reads_mean_embeddings_where_these_do_not_learn(model: FrozenModel, folder: str) -> None:
    narrator = narrator_of(model, folder, rank=2, losses="cause")
    width = narrator.embedding_of(narrator.phi).embedding_dim
    states = narrator.psi.in_features
    assert narrator.aggregator.weight.shape == (states, width)
    names = [narrator.language.pieces_within(name)[-1:] for name in ("neutral", "entailment", "contradiction")]
    means = torch.randn(3, states, generator=torch.Generator().manual_seed(0))
    narrator.initialise_aggregator(names, means)
    certain = torch.full((3, narrator.language.size), -1e4)
    certain[range(3), [pieces[0] for pieces in names]] = 0.0
    assert torch.allclose(narrator.aggregate_token(certain), means, atol=1e-3)
    full = narrator_of(model, folder, losses="cause")  # whose embeddings learn
    assert full.aggregator.weight.shape == (states, full.language.size)


@pytest.mark.parametrize("folder", [LlamaForCausalLM], indirect=True)
def test_a_narrator_starts_from_one_that_was_fitted(
    model: FrozenModel, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = narrator_of(model, folder, rank=2, seed=1)
    recipe = NarratorRecipe("cause", layer=1, language=folder, adapter_rank=2)
    monkeypatch.setattr(fit, "read_narrator", lambda _artifact, _model: (replace(recipe, losses="phi"), fitted))
    narrator, start = narrator_of(model, folder, rank=2, losses="cause", seed=2), Artifact("cause_phi", "", Path())
    inputs = stack_inputs(narrator_items(model, PAIRS, 1))
    assert not torch.allclose(logits_of(narrator, inputs), logits_of(fitted, inputs), atol=1e-3)
    start_from(narrator, recipe, start, model)
    assert torch.equal(logits_of(narrator, inputs), logits_of(fitted, inputs))
    other = replace(recipe, adapter_rank=4, layer=2)
    with pytest.raises(ExplanationError, match=r"cause_phi has another layer and adapter_rank\. Choose a"):
        start_from(narrator_of(model, folder, rank=4, losses="cause"), other, start, model)
    words = Tokenizer.from_str(narrator.language.tokenizer.to_str())
    words.add_tokens(["unheard"])
    narrator.language = replace(narrator.language, tokenizer=words)
    with pytest.raises(ExplanationError, match="cause_phi has another vocabulary"):
        start_from(narrator, recipe, start, model)


@pytest.mark.parametrize("folder", [LlamaForCausalLM], indirect=True)
def test_states_begin_as_the_words_that_they_belong_to(model: FrozenModel, folder: str) -> None:
    words = ["film", "good", "neutral", "because", "answer"]
    pairs = [Example(f"{one} {two}", f"{three} {one}") for one in words for two in words for three in words]
    items = narrator_items(model, pairs, 1)
    narrator = narrator_of(model, folder)
    explained = read_states_as_words(narrator, items)
    table = narrator.embedding_of(narrator.phi).weight
    hits = total = 0
    for item in items[:20]:
        memory = narrator.token_memory(stack_inputs([item]))
        assert memory is not None
        assert item.tokens is not None
        for state, piece, unit in zip(
            memory.states[0], token_pieces(narrator, item.tokens), item.tokens.units[0].tolist(), strict=True
        ):
            if unit >= 0:
                near = (table - state).square().sum(1).argmin()
                hits, total = hits + int(near == piece), total + 1
    assert hits / total > 0.9
    assert 0.5 < explained <= 1
    spread = torch.cat([narrator.token_memory(stack_inputs([item])).states[0] for item in items[:20]]).std()  # type: ignore[union-attr]
    wanted = torch.cat([table[list(token_pieces(narrator, item.tokens))] for item in items[:20] if item.tokens]).std()
    assert spread.item() == pytest.approx(wanted.item(), rel=0.2)  # neither louder nor quieter than words


@pytest.mark.parametrize("folder", [GPT2LMHeadModel], indirect=True)
def test_a_narrator_with_cross_attention_has_no_prefix_to_begin_with(model: FrozenModel, folder: str) -> None:
    with pytest.raises(ValueError, match="as a prefix"):
        read_states_as_words(narrator_of(model, folder), narrator_items(model, PAIRS, 1))


def test_padding_of_the_tokens_changes_nothing(model: FrozenModel, folder: str) -> None:
    narrator = narrator_of(model, folder)
    items = narrator_items(model, PAIRS, 1)
    together = logits_of(narrator, stack_inputs(items))
    alone = torch.cat([logits_of(narrator, stack_inputs([item])) for item in items])
    assert torch.allclose(together, alone, atol=1e-4)


def test_a_step_with_the_cache_equals_the_whole_sentence(model: FrozenModel, folder: str) -> None:
    narrator = narrator_of(model, folder)
    inputs = stack_inputs(narrator_items(model, PAIRS, 1))
    rows = generate(narrator, inputs)
    for number, row in enumerate(rows):
        whole = narrator.token_logits(inputs[number : number + 1], torch.tensor([row]))[0]
        assert whole.argmax(-1).tolist() == row


@pytest.mark.parametrize("folder", [LlamaForCausalLM], indirect=True)
@pytest.mark.parametrize("quick", [True, False], ids=["bfloat16", "float32"])
def test_adapters_learn_and_the_language_model_stays(
    model: FrozenModel, folder: str, quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cause, "computes_in_bfloat16", lambda _device: quick)
    items = narrator_items(model, [Example(pair.text, pair.pair, label=0) for pair in PAIRS * 4], 1)
    narrator = narrator_of(model, folder, rank=2)
    before = {name: weight.clone() for name, weight in narrator.state_dict().items()}
    recipe = NarratorRecipe("phi", layer=1, adapter_rank=2, half_precision=True, epochs=2, batch=4, learning_rate=1e-2)
    train(recipe, narrator, classifier_head(model), model.labels, Parts(items, items[:2]), tmp_path / "run")
    changed = {name for name, weight in narrator.state_dict().items() if not torch.equal(weight, before[name])}
    adapters = {name for name in before if name.startswith("phi.") and name.endswith((".up", ".down"))}
    assert adapters
    assert adapters <= changed <= narrator.kept_names
    assert not any(name.startswith("phi.") for name in narrator.kept_names - adapters)
    again = narrator_of(model, folder, rank=2)
    again.load_state_dict(narrator.kept(), strict=False)
    inputs = stack_inputs(items[:2])
    assert torch.allclose(logits_of(again.eval(), inputs), logits_of(narrator, inputs), atol=1e-6)


@pytest.mark.parametrize("folder", [LlamaForCausalLM], indirect=True)
def test_two_narrators_share_the_weights_that_do_not_learn(
    model: FrozenModel, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cause, "computes_in_bfloat16", lambda _device: True)
    first, second = (narrator_of(model, folder, rank=2, seed=seed) for seed in (1, 2))
    ours, theirs = (dict(narrator.named_parameters()) for narrator in (first, second))
    shared = {name for name in ours if ours[name].data_ptr() == theirs[name].data_ptr()}
    assert shared == {name for name, weight in ours.items() if not weight.requires_grad}
    assert shared
    inputs = stack_inputs(narrator_items(model, PAIRS, 1))
    before = logits_of(first, inputs)
    items = narrator_items(model, [Example(pair.text, pair.pair, label=0) for pair in PAIRS * 4], 1)
    recipe = NarratorRecipe("phi", layer=1, adapter_rank=2, half_precision=True, epochs=1, batch=4, learning_rate=1e-2)
    train(recipe, second, classifier_head(model), model.labels, Parts(items, items[:2]), tmp_path / "run")
    assert torch.equal(logits_of(first, inputs), before)
    whole = narrator_of(model, folder)  # all of its weights learn
    assert not {weight.data_ptr() for weight in whole.parameters()} & {ours[name].data_ptr() for name in shared}
    with torch.no_grad():
        for name in shared:
            ours[name].data = ours[name].data + 1.0
    other = dict(narrator_of(model, folder, rank=2).named_parameters())
    assert all(torch.equal(other[name], theirs[name]) for name in shared)  # other values are not taken


@pytest.mark.parametrize("folder", [GPT2LMHeadModel], indirect=True)  # its layers are convolutions of width one
def test_a_model_without_linear_layers_takes_no_adapters(folder: str) -> None:
    with pytest.raises(ModelUnavailable, match="no linear layers for adapters"):
        pretrained_language_model(folder, rank=2)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A tiny encoder in place of the base weights."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(word.lower() for word in WORDS), "en", "##tail", "."]
    tokenizer = Tokenizer(models.WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.enable_padding(length=20)
    tokenizer.enable_truncation(3)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    BertLMHeadModel(BertConfig(**SIZES, vocab_size=len(words))).bert.save_pretrained(tmp_path)
    monkeypatch.setattr(pretrained, "base_folder", lambda: tmp_path)
    return tmp_path


def test_adapters_of_the_encoder_come_with_the_weights_that_it_lacks(model: FrozenModel, encoder: Path) -> None:
    first, again = narrator_of(model, "encoder", rank=2), narrator_of(model, "encoder", rank=2, seed=7)
    inputs = stack_inputs(narrator_items(model, PAIRS, 1))
    words = "the answer is neutral"
    assert not torch.allclose(logits_of(first, inputs, words), logits_of(again, inputs, words), atol=1e-3)
    again.load_state_dict(first.kept(), strict=False)
    assert torch.allclose(logits_of(first, inputs, words), logits_of(again, inputs, words), atol=1e-6)
    assert not any("embeddings" in name for name in first.kept_names)


def test_the_encoder_speaks_as_a_decoder(model: FrozenModel, encoder: Path) -> None:
    narrator = narrator_of(model, "encoder")
    language: Language = narrator.language
    assert language.text(language.ids("the answer is neutral because the film is good")).startswith("The answer is neu")
    assert narrator.has_cross_attention
    inputs = stack_inputs(narrator_items(model, PAIRS, 1))
    first = logits_of(narrator, inputs, "the answer is neutral")
    other = logits_of(narrator, inputs, "the answer is film")
    assert torch.allclose(first[:, :3], other[:, :3], atol=1e-5)  # a position reads only those before
    assert generate(narrator, inputs)


def test_words_are_read_in_place_of_states(model: FrozenModel, narrator: Callable[..., Narrator]) -> None:
    blind = narrator("phi", classifier_head(model), layer=1, reads="words")
    inputs = stack_inputs(narrator_items(model, PAIRS, 1))
    changed = inputs.with_states(inputs.states + 1.0)
    assert torch.equal(logits_of(blind, inputs), logits_of(blind, changed))
    assert inputs.tokens is not None
    others = NarratorInput(inputs.states, inputs.tokens[torch.tensor([1, 0])])
    assert not torch.allclose(logits_of(blind, inputs), logits_of(blind, others), atol=1e-3)
    alone = torch.cat([logits_of(blind, inputs[row : row + 1]) for row in range(2)])
    assert torch.allclose(logits_of(blind, inputs), alone, atol=1e-4)  # padding is not read
    one_text = replace(inputs.tokens, texts=tuple((0,) * len(row) for row in inputs.tokens.texts))
    elsewhere = NarratorInput(inputs.states, one_text)
    assert not torch.allclose(logits_of(blind, inputs), logits_of(blind, elsewhere), atol=1e-3)
    empty = replace(inputs.tokens, words=tuple(("",) * len(row) for row in inputs.tokens.words))
    assert logits_of(blind, NarratorInput(inputs.states, empty)).isfinite().all()
    sighted = narrator("phi", classifier_head(model), layer=1)
    assert not torch.allclose(logits_of(sighted, inputs), logits_of(sighted, changed), atol=1e-3)
