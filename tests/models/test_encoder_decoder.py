"""Encoder-decoders with a classification head, built on the spot, as models that can be explained."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import processors
from transformers import CONFIG_MAPPING, AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

from explainers import explain, load, wrap
from explainers.datasets.example import Example
from explainers.errors import ModelUnavailable
from explainers.learned.aml import AttributionModel
from explainers.learned.batches import Batch
from explainers.models.altered import randomisation_steps, randomised_copies
from explainers.models.batching import bytes_per_row
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import pad_batch
from explainers.models.internals import forward_with_internals, input_embeddings
from explainers.studies.architectures import (
    CLS,
    FAMILIES,
    MASK,
    PAD,
    PLANTED,
    SEP,
    SPECIAL,
    UNK,
    WORDS,
    Family,
    tokenizer_of,
)

TEXT = f"the film was {PLANTED} and very long but new"
KINDS = {family.kind: family for family in FAMILIES if family.encoder_decoder}


def network_of(family: Family, **changed: Any) -> Any:
    """Weights that are far from zero, so that any other input gives another answer."""
    torch.manual_seed(0)
    settings = {**family.settings, "num_labels": 2, "id2label": {0: "no", 1: "yes"}, **changed}
    config = CONFIG_MAPPING[family.kind](**settings, vocab_size=len(SPECIAL) + len(WORDS) + 1)
    network = AutoModelForSequenceClassification.from_config(config).eval()
    for parameter in network.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    return network


def model_of(kind: str) -> FrozenModel:
    return wrap(network_of(KINDS[kind]), tokenizer_of(KINDS[kind]))


def library_answer(network: Any, ids: list[int]) -> Any:
    with torch.inference_mode():
        return network(input_ids=torch.tensor([ids])).logits.softmax(-1).numpy()


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def family(request: pytest.FixtureRequest) -> Family:
    chosen: Family = request.param
    return chosen


def test_it_answers_as_the_library_also_where_words_are_masked_or_deleted(family: Family) -> None:
    """The library reads one text at a time here; it is given the ids that are left."""
    network = network_of(family)
    model = wrap(network, tokenizer_of(family))
    encoding = model.encode(TEXT)
    keeps = np.ones((len(encoding.units) + 1, len(encoding.units)), dtype=bool)
    keeps[1:] &= ~np.eye(len(encoding.units), dtype=bool)
    keeps[-1] = False
    kept = encoding.tokens_kept(keeps)
    masked = [
        [token if keep else family.erasing for token, keep in zip(encoding.ids, row, strict=True)] for row in kept
    ]
    deleted = [[token for token, keep in zip(encoding.ids, row, strict=True) if keep] for row in kept]
    for rows, erasure in ((masked, "mask"), (deleted, "delete")):
        theirs = np.vstack([library_answer(network, row) for row in rows])
        assert model.probabilities(encoding, keeps, erasure) == pytest.approx(theirs, abs=1e-4)  # type: ignore[arg-type]
        assert np.ptp(theirs[:, 0]) > 0.01


def test_a_batch_of_different_lengths_answers_as_one_by_one(family: Family) -> None:
    model = wrap(network_of(family), tokenizer_of(family))
    encoding = model.encode(TEXT)
    keeps = np.random.default_rng(0).random((6, len(encoding.units))) > 0.4
    for erasure in model.erasures:
        together = model.probabilities(encoding, keeps, erasure)
        alone = np.vstack([model.probabilities(encoding, keep[None], erasure) for keep in keeps])
        assert together == pytest.approx(alone, abs=1e-5)
        assert np.ptp(together[:, 0]) > 0.01


def test_the_memory_of_a_row_is_that_of_both_halves(family: Family) -> None:
    config = model_of(family.kind).base.config
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads")
    encoder = SimpleNamespace(**{name: getattr(config, name) for name in names})
    for gradient in (False, True):
        assert bytes_per_row(config, 20, gradient=gradient) > bytes_per_row(encoder, 20, gradient=gradient) > 0


@pytest.mark.parametrize("erasure", ["mask", "zero"])
def test_soft_masks_of_zeros_and_ones_are_hard_masks(family: Family, erasure: Any) -> None:
    """There are no ids then, neither for the decoder nor to find the end-of-text token by."""
    model = wrap(network_of(family), tokenizer_of(family))
    encoding = model.encode(TEXT)
    keeps = np.random.default_rng(0).integers(0, 2, (5, len(encoding.units)))
    soft = model.soft_probabilities(encoding, torch.tensor(keeps).float(), erasure).numpy()
    assert soft == pytest.approx(model.probabilities(encoding, keeps, erasure), abs=1e-5)


def test_a_masked_word_is_masked_in_the_decoder_too(family: Family) -> None:
    """Whatever stands in its place, neither half tells: the answer with a mask is the same for every word."""
    model = wrap(network_of(family), tokenizer_of(family))
    first, second = model.encode(TEXT), model.encode(TEXT.replace(PLANTED, "story"))
    keeps = np.array([[unit.text != PLANTED for unit in first.units]])
    for erasure in model.erasures:
        ours, theirs = (model.probabilities(encoding, keeps, erasure) for encoding in (first, second))
        assert ours == pytest.approx(theirs, abs=1e-6)
    seen: list[torch.Tensor] = []
    handle = model.module.decoder.register_forward_pre_hook(  # type: ignore[union-attr]
        lambda _module, _args, inputs: seen.append(inputs["inputs_embeds"]), with_kwargs=True
    )
    model.soft(first, torch.tensor(keeps).float())
    handle.remove()
    words = model.base.get_input_embeddings()  # type: ignore[operator]
    place = first.owners.index(int(keeps.argmin()))
    assert torch.equal(seen[0][0, place + 1], words(torch.tensor(model.mask_token)))
    assert torch.equal(seen[0][0, place], words(torch.tensor(first.ids[place - 1])))


def test_special_tokens_are_no_units_and_stay(family: Family) -> None:
    model = wrap(network_of(family), tokenizer_of(family))
    encoding = model.encode(TEXT)
    assert [unit.text for unit in encoding.units] == TEXT.split()
    left = encoding.tokens_kept(np.zeros((1, len(encoding.units)), dtype=bool))[0]
    assert SEP in np.array(encoding.ids)[left]


def test_the_operator_is_mask_where_there_is_a_mask_token_and_delete_elsewhere() -> None:
    bart, t5 = model_of("bart"), model_of("t5")
    assert (bart.mask_token, bart.default_erasure, bart.replacement) == (MASK, "mask", "")
    assert (t5.mask_token, t5.default_erasure, t5.replacement) == (UNK, "delete", "unknown token")
    masked = explain(t5, TEXT, methods="occlusion", erasure="mask")
    assert "becomes the unknown token" in masked.decision.encoding.warning
    assert explain(t5, TEXT, methods="occlusion").decision.encoding.warning == ""


def test_the_decoder_begins_as_the_library_lets_it_begin() -> None:
    """mBART's with the code of the language, which stands behind the end-of-text token; T5's with its start token."""
    mbart, t5 = model_of("mbart"), model_of("t5")
    assert (mbart.encode(TEXT).ids[-2:], mbart.module.start, mbart.module.behind) == ((SEP, CLS), None, 1)
    assert (t5.encode(TEXT).ids[-1], t5.module.start, t5.module.behind) == (SEP, PAD, 0)


def test_of_several_end_of_text_tokens_the_last_one_is_read() -> None:
    """As BART writes a pair."""
    network, tokenizer = network_of(KINDS["bart"]), tokenizer_of(KINDS["bart"])
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] [SEP] $B [SEP]", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    model = wrap(network, tokenizer)
    encoding = model.encode(Example("the film was long", "a new actor"))
    assert encoding.ids.count(SEP) == 3
    keeps = np.ones((2, len(encoding.units)), dtype=bool)
    keeps[1, :4] = False
    left = [token for token, keep in zip(encoding.ids, encoding.tokens_kept(keeps)[1], strict=True) if keep]
    theirs = np.vstack([library_answer(network, list(encoding.ids)), library_answer(network, left)])
    assert model.probabilities(encoding, keeps, "delete") == pytest.approx(theirs, abs=1e-5)


def test_every_window_of_a_long_text_ends_with_the_token_at_which_the_class_is_read(family: Family) -> None:
    tokenizer = tokenizer_of(family)
    tokenizer.model_max_length = 8
    network = network_of(family)
    model = wrap(network, tokenizer)
    encoding = model.encode(TEXT, windows=True)
    assert len(encoding.windows) > 1
    theirs = sum(window.share * library_answer(network, list(window.encoding.ids)) for window in encoding.window_inputs)
    assert model.probabilities(encoding, np.ones((1, len(encoding.units)))) == pytest.approx(theirs, abs=1e-5)


def test_what_is_read_of_the_layers_is_the_encoders(family: Family) -> None:
    network = network_of(family)
    model = wrap(network, tokenizer_of(family))
    encoding = model.encode(TEXT)
    with torch.inference_mode():
        theirs = network.base_model.encoder(input_ids=torch.tensor([encoding.ids])).last_hidden_state[0]
    states = model.states(encoding)
    assert states.hidden[-1] == pytest.approx(theirs, abs=1e-5)
    received = model.attention_received(encoding, last_layer=True)
    mean = states.attentions[-1].mean(dim=(0, 1)).numpy()  # over heads and attending tokens
    assert received == pytest.approx(mean[[owner >= 0 for owner in encoding.owners]], abs=1e-6)
    batch = pad_batch([encoding, model.encode("the film")], model.pad_token, model.device)
    internals = forward_with_internals(model, batch)
    assert [len(part) for part in (internals.hidden, internals.queries, internals.keys)] == [3, 2, 2]
    again = forward_with_internals(model, batch, layer_output=(1, internals.hidden[1]))
    assert again.logits == pytest.approx(internals.logits, abs=1e-5)
    other = forward_with_internals(model, batch, layer_output=(2, torch.zeros_like(internals.hidden[2])))
    assert float((other.logits - internals.logits).abs().max()) > 0.01


def test_replaced_embeddings_reach_both_halves(family: Family) -> None:
    model = wrap(network_of(family), tokenizer_of(family))
    first, second = (pad_batch([model.encode(text)], PAD, model.device) for text in ("the film", "a plot"))
    replaced = forward_with_internals(model, first, embedding_output=input_embeddings(model, second)[0])
    assert replaced.logits == pytest.approx(forward_with_internals(model, second).logits, abs=1e-5)


@pytest.mark.parametrize("rank", [0, 4])
def test_aml_has_weights_of_its_own_for_the_encoder_alone(family: Family, rank: int) -> None:
    model = wrap(network_of(family), tokenizer_of(family))
    explainer = AttributionModel(model, rank).eval()
    tuned = [name for name, _ in explainer.named_parameters() if explainer.is_fine_tuned(name)]
    assert any(name.startswith("encoder.network.") for name in tuned)
    assert not [name for name in tuned if "decoder" in name or "words" in name or "embed_" in name]
    inputs = model.padded([model.encode(TEXT), model.encode("the film")])
    with torch.no_grad():
        no, yes = (explainer(model, Batch(inputs, torch.tensor([p, p]))) for p in ([0.99, 0.01], [0.01, 0.99]))
    assert (no - yes).abs()[inputs.attention].min() > 0  # every token sees the prediction, which stands behind the last


def test_a_head_with_one_output_is_that_of_two_classes() -> None:
    network = network_of(KINDS["bart"], num_labels=1, id2label={0: "yes"})
    network.config.problem_type = "single_label_classification"
    model = wrap(network, tokenizer_of(KINDS["bart"]))
    encoding = model.encode(TEXT)
    with torch.inference_mode():
        theirs = network(input_ids=torch.tensor([encoding.ids])).logits.sigmoid().item()
    assert model.labels == ("not yes", "yes")
    assert model.probabilities(encoding, np.ones((1, len(encoding.units))))[0, 1] == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("kind", ["bart", "mbart", "t5"])
def test_a_folder_is_opened_and_explained_as_the_model_in_memory(kind: str, tmp_path: Path) -> None:
    network, tokenizer = network_of(KINDS[kind]), tokenizer_of(KINDS[kind])
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    ours, theirs = load(str(tmp_path)), wrap(network, tokenizer)
    assert (ours.labels, ours.default_erasure) == (("no", "yes"), theirs.default_erasure)
    everything = np.ones((1, len(TEXT.split())))
    assert ours.probabilities(ours.encode(TEXT), everything) == pytest.approx(
        theirs.probabilities(theirs.encode(TEXT), everything), abs=1e-6
    )
    comparison = explain(ours, TEXT, methods=("integrated_gradients", "attention_mean", "alti", "ivra"), steps=5)
    reasons = {failure.method: failure.reason for failure in comparison.failures}
    assert set(reasons) == {"alti", "ivra"}  # nothing was fitted
    assert "are not built like BERT's" in reasons["alti"]


def test_a_model_in_memory_stays_as_it_was(family: Family) -> None:
    network = network_of(family).train()
    weights = {name: weight.clone() for name, weight in network.state_dict().items()}
    explain(wrap(network, tokenizer_of(family)), TEXT, methods=("occlusion", "integrated_gradients"), steps=5)
    assert network.training
    assert all(torch.equal(weights[name], weight) for name, weight in network.state_dict().items())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in network.parameters())


@pytest.mark.parametrize("form", ["$A", "[SEP] $A"])
def test_a_tokenizer_that_does_not_end_a_text_is_a_sentence(family: Family, form: str) -> None:
    with pytest.raises(ModelUnavailable, match=r"end-of-text token \(eos_token_id 3\), which its tokenizer does not"):
        wrap(network_of(family), tokenizer_of(replace(family, form=form)))


def test_what_the_library_does_not_answer_is_a_sentence() -> None:
    network = network_of(KINDS["t5"])
    network.config.decoder_start_token_id = None
    with pytest.raises(ModelUnavailable, match=r"does not answer a text: self\.model\.config\.decoder_start"):
        wrap(network, tokenizer_of(KINDS["t5"]))


def test_a_model_that_writes_texts_is_no_classifier(tmp_path: Path) -> None:
    config = network_of(KINDS["t5"]).config
    writer = AutoModelForSeq2SeqLM.from_config(config)
    writer.lm_head.weight = torch.nn.Parameter(writer.lm_head.weight.detach().clone())  # untied, as in T5 1.1
    with pytest.raises(ModelUnavailable, match="nor an encoder-decoder such as BART or T5 with a classification head"):
        wrap(writer, tokenizer_of(KINDS["t5"]))
    writer.save_pretrained(tmp_path)
    tokenizer_of(KINDS["t5"]).save_pretrained(tmp_path)
    with pytest.raises(ModelUnavailable, match=r"is not a trained classifier: it has no weights for .*\.$") as error:
        load(str(tmp_path))
    assert "prompt" not in str(error.value)  # prompts are for decoders


def test_copies_become_random_from_the_decoder_downwards() -> None:
    model = model_of("t5")
    assert randomisation_steps(model) == ["head", "layer 2", "layer 1", "embeddings"]
    encoding, first = model.encode(TEXT), next(randomised_copies(model, seed=0))
    states, ours = first.states(encoding).hidden[-1], model.states(encoding).hidden[-1]
    assert torch.equal(states, ours)  # the encoder comes after the decoder
    answers = [
        classifier.probabilities(encoding, np.ones((1, len(encoding.units))))[0, 0] for classifier in (first, model)
    ]
    assert np.ptp(answers) > 0.01


def test_a_head_that_reads_another_state_is_refused() -> None:
    network = network_of(KINDS["bart"])
    plain = network.forward
    network.forward = lambda input_ids: plain(input_ids=input_ids.flip(1))
    with pytest.raises(ModelUnavailable, match="reads its class in a way that is not known here"):
        wrap(network, tokenizer_of(KINDS["bart"]))


@pytest.mark.parametrize("kind", ["bigbird_pegasus", "longformer", "xlnet"])
def test_a_family_whose_tokens_cannot_be_followed_is_refused_with_its_reason(kind: str) -> None:
    small = next((family.settings for family in FAMILIES if family.kind == kind), KINDS["bart"].settings)
    with pytest.raises(ModelUnavailable, match=r"cannot be explained here: (it|which) .*\. Choose an encoder"):
        wrap(network_of(Family(kind, small)), tokenizer_of(Family(kind)))
