"""Class words that are read by the mean over their tokens: against the library, token after token."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

from explainers import ExplanationError, explain, load
from explainers.models.altered import randomised_copies
from explainers.models.internals import forward_with_internals, forward_with_soft_mask
from explainers.models.prompt import Prompt, PromptError
from explainers.models.prompted.model import PromptedModel
from explainers.models.prompted.network import ClassWords, WholeWords
from explainers.report.terminal import comparison_lines
from tests.models.prompted.conftest import KINDS

BEFORE, TEXT, AFTER = "the film was very long", "the plot seemed quite loud", "and there was"
CLASSES = {"no": "old film", "so": "old plot here", "yes": "new"}  # two begin alike; 2, 3 and 1 tokens
WHOLE = Prompt(f"{BEFORE} {{text}} {AFTER}", CLASSES, read="mean")
Folder = Callable[..., str]


def opened(name: str, prompt: Prompt = WHOLE) -> PromptedModel:
    model = load(name, prompt=prompt, device="cpu")
    assert isinstance(model, PromptedModel)
    return model


class Library:
    """The library's own network and tokenizer, one word and one text at a time."""

    def __init__(self, model: PromptedModel) -> None:
        folder = model.name.partition(":")[0]
        self.network: Any = AutoModelForCausalLM.from_pretrained(folder).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.words = list(model.prompt.classes.values())

    def ids(self, text: str) -> Tensor:
        return torch.tensor(self.tokenizer(text).input_ids)

    def steps(self, embeds: Tensor) -> list[Tensor]:
        """log p of every token of each word after embeddings (L, d)."""
        found = []
        for word in map(self.ids, self.words):
            whole = torch.cat([embeds, self.network.get_input_embeddings()(word)])
            logits = self.network(inputs_embeds=whole[None]).logits[0, len(embeds) - 1 : -1]
            found.append(logits.log_softmax(-1)[torch.arange(len(word)), word])
        return found

    def embedded(self, text: str) -> Tensor:
        return self.network.get_input_embeddings()(self.ids(text)).detach()

    def probabilities(self, embeds: Tensor) -> Tensor:
        return torch.stack([step.mean() for step in self.steps(embeds)]).softmax(0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_family_reads_whole_words_as_the_library(kind: str, folder: Folder) -> None:
    model = opened(folder(kind))
    library, encoding, words = Library(model), model.encode(TEXT), TEXT.split()
    keeps = np.array([[1, 1, 1, 1, 1], [0, 1, 0, 1, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]], dtype=bool)
    with torch.inference_mode():
        expected = np.vstack(
            [
                library.probabilities(
                    library.embedded(
                        " ".join([BEFORE, *(w for w, kept in zip(words, keep, strict=True) if kept), AFTER])
                    )
                )
                for keep in keeps
            ]
        )
    assert np.ptp(expected[:, 0]) > 1e-4
    for keep, row in zip(keeps, expected, strict=True):  # without padding
        assert model.probabilities(encoding, keep[None], "delete")[0] == pytest.approx(row, abs=1e-5)
    assert model.probabilities(encoding, keeps, "delete") == pytest.approx(expected, abs=1e-5)  # with padding
    prefix, model.cache.prefix = model.cache.prefix, ()
    assert model.probabilities(encoding, keeps, "delete") == pytest.approx(expected, abs=1e-5)
    model.cache.prefix = prefix


def test_the_kept_prefix_is_used_for_whole_words(folder: Folder) -> None:
    model = opened(folder())
    encoding = model.encode(TEXT)
    model.probabilities(encoding, np.eye(5, dtype=bool), "delete")
    assert model.cache.layers
    ids = torch.tensor([encoding.ids])
    with torch.inference_mode():
        kept, whole = model.cache.logits(ids, None), model.words(input_ids=ids).logits
    assert kept is not None
    assert kept.numpy() == pytest.approx(whole.numpy(), abs=1e-4)


def test_a_text_goes_through_once_behind_each_beginning_that_no_longer_one_has(folder: Folder) -> None:
    words = opened(folder()).words
    assert isinstance(words, WholeWords)
    assert (words.rows_per_text, words.added) == (1, 2)  # “old plot” has “old”, after which “film” and “plot” are read
    assert len(words.read_rows) == 3  # after nothing, “old” and “old plot”
    apart = opened(folder(), replace(WHOLE, classes={"no": "old film", "so": "late plot", "yes": "new"})).words
    assert (apart.rows_per_text, apart.added) == (2, 1)


@pytest.mark.parametrize("classes", [CLASSES, {"no": "old film", "so": "late plot here", "yes": "new"}])
@pytest.mark.parametrize("erasure", ["mask", "zero"])
def test_gradients_of_soft_masks_are_those_of_the_straight_line(
    classes: dict[str, str], erasure: Any, folder: Folder
) -> None:
    model = opened(folder(), replace(WHOLE, classes=classes))
    library, encoding = Library(model), model.encode(TEXT)
    masks = torch.rand(2, 5, generator=torch.Generator().manual_seed(0)).requires_grad_()
    ours = model.soft_probabilities(encoding, masks, erasure)
    erased = library.network.get_input_embeddings().weight[model.mask_token].detach() if erasure == "mask" else 0.0
    theirs = []
    for mask in masks:
        shares = torch.cat([torch.ones(5), mask, torch.ones(3)])[:, None]
        blended = shares * library.embedded(f"{BEFORE} {TEXT} {AFTER}") + (1 - shares) * erased
        theirs.append(library.probabilities(blended))
    expected = torch.stack(theirs)
    assert ours.detach().numpy() == pytest.approx(expected.detach().numpy(), abs=1e-5)
    gradients = [torch.autograd.grad(answer[:, 0].sum(), masks)[0] for answer in (ours, expected)]
    assert gradients[1].abs().max() > 1e-4
    assert gradients[0].numpy() == pytest.approx(gradients[1].numpy(), abs=1e-5)
    assert all(parameter.grad is None for parameter in model.words.parameters())


def test_soft_masks_of_texts_of_different_lengths_are_those_of_each_alone(folder: Folder) -> None:
    model = opened(folder())
    encodings = [model.encode(TEXT), model.encode("a film")]
    batch = model.padded(encodings)
    mask = torch.full((2, 5), 0.3).requires_grad_()
    internals = forward_with_soft_mask(model, batch, mask)
    for row, encoding in enumerate(encodings):
        alone = model.soft(encoding, mask[row : row + 1, : len(encoding.units)], "mask")
        assert internals.logits[row].detach().numpy() == pytest.approx(alone[0].detach().numpy(), abs=1e-4)
    (gradient,) = torch.autograd.grad(internals.probabilities(model)[:, 0].sum(), mask)
    assert (gradient[0] != 0).all()
    assert not gradient[1, 2:].any()


@pytest.mark.parametrize("classes", [CLASSES, {"no": "old film", "so": "late plot here", "yes": "new"}])
def test_internals_are_those_of_the_text(classes: dict[str, str], folder: Folder) -> None:
    path = folder()
    model, plain = (
        opened(path, replace(WHOLE, classes=classes)),
        opened(path, Prompt(WHOLE.template, {"a": "new", "b": "old"})),
    )
    batch = model.padded([model.encode(TEXT), model.encode("a film")])
    ours, theirs = forward_with_internals(model, batch), forward_with_internals(plain, batch)
    real = batch.attention.bool()
    for name in ("hidden", "queries", "keys"):
        for state, expected in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            assert state[real].numpy() == pytest.approx(expected[real].numpy(), abs=1e-4)
    changed = forward_with_internals(model, batch, embedding_output=ours.hidden[0] * 1.5)
    assert (changed.logits - ours.logits).abs().max() > 1e-3
    with pytest.raises(ExplanationError, match="states of the text cannot be replaced"):
        forward_with_internals(model, batch, layer_output=(1, ours.hidden[1]))
    assert forward_with_internals(plain, batch, layer_output=(1, ours.hidden[1])).logits.shape == (2, 2)


def test_the_share_is_the_probability_of_writing_one_of_the_words(folder: Folder) -> None:
    model = opened(folder(), replace(WHOLE, classes={"no": "old", "so": "old plot", "yes": "late plot here"}))
    library, encoding = Library(model), model.encode(TEXT)
    with torch.inference_mode():
        old, _, late = library.steps(library.embedded(f"{BEFORE} {TEXT} {AFTER}"))
    expected = float(old.sum().exp() + late.sum().exp())  # “old plot” is one of the continuations of “old”
    assert model.share_of_words(encoding) == pytest.approx(expected, rel=1e-4)
    erased = model.without(encoding, [1], "zero")
    assert model.share_of_words(erased) != pytest.approx(expected, rel=1e-4)


def test_words_of_one_token_are_read_as_before(folder: Folder) -> None:
    path, classes = folder(), {"no": "old", "yes": "new"}
    mean, first = (opened(path, Prompt(WHOLE.template, classes, read=read)) for read in ("mean", "first"))
    keeps = np.eye(5, dtype=bool)
    assert type(mean.words) is ClassWords
    answers = [model.probabilities(model.encode(TEXT), keeps, "delete") for model in (mean, first)]
    assert (answers[0] == answers[1]).all()


def test_words_of_the_same_tokens_are_a_sentence(folder: Folder) -> None:
    path = folder()
    with pytest.raises(PromptError, match="'old unseen' and 'old unknown' have the same tokens"):
        opened(path, replace(WHOLE, classes={"no": "old unseen", "yes": "old unknown"}))  # no word of the vocabulary
    with pytest.raises(PromptError, match="or read the mean over their tokens"):
        opened(path, replace(WHOLE, read="first"))


def test_a_text_leaves_room_for_the_words(folder: Folder) -> None:
    path = folder("gpt2", n_positions=40)
    model = opened(path)
    encoding = model.encode("film " * 60)
    first = opened(path, Prompt(WHOLE.template, {"no": "old", "yes": "new"})).encode("film " * 60)
    assert len(first.ids) - len(encoding.ids) == model.words.added == 2
    assert model.probabilities(encoding, np.ones((1, len(encoding.units)))).sum() == pytest.approx(1)


def test_a_batch_has_room_for_all_rows_of_its_texts(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder()
    apart = replace(WHOLE, classes={"no": "old film", "so": "late plot", "yes": "new"})
    model, first = opened(path, apart), opened(path, replace(apart, read="first"))
    encoding = model.encode(TEXT)
    fewer = model.rows_at_once(encoding)
    assert fewer == 2048 // (len(encoding.ids) + 1) // 2 < first.rows_at_once(encoding)
    model.probabilities(encoding, np.ones((1, 5)))
    first.probabilities(encoding, np.ones((1, 5)))
    assert model.cache.bytes_per_row == 2 * first.cache.bytes_per_row > 0
    monkeypatch.setattr("explainers.models.prompted.model.MOST_BYTES", 3 * model.words.bytes_read)
    assert model.rows_at_once(encoding) == 3


def test_bfloat16_rounds_whole_words_a_little(folder: Folder) -> None:
    model = opened(folder())
    encoding = model.encode(TEXT)
    exact, rounded = (
        model._rounding(rounds)._answers(encoding, np.ones((1, 5), bool), "delete") for rounds in (False, True)
    )
    assert 0 < np.abs(exact - rounded).max() < 0.1


def test_methods_answer_or_say_why_not(folder: Folder) -> None:
    model = opened(folder())
    methods = ("occlusion", "integrated_gradients", "attention_mean", "attention_last", "lime", "gradient_x_input")
    comparison = explain(model, TEXT, methods=methods, steps=5)
    (failure,) = comparison.failures
    assert failure.method == "attention_last"
    assert "reads its class from several tokens of the class words" in failure.reason
    assert comparison.as_dict()["manifest"]["prompt"]["read"] == "mean"
    lines = "\n".join(comparison_lines(comparison))
    assert "Of “old plot here” the mean over its tokens is read: “old”, “plot” and “here”." in lines
    assert "Of “new”" not in lines
    assert len(list(randomised_copies(model, 0))) > 2
