"""`python -m explainers fit cause`: from a model and pairs with human explanations to a narrator with a card.

A pretrained φ that reads the tokens as a prefix begins with states that look to it like words: it has learned to read
its own embeddings. The entry of the token reader, LN(W·LN(h)), begins with the W of the ridge regression from the
frozen model's states h to φ's embeddings of the words that they belong to, so that φ begins with a text that it can
read, and learns the rest. φ still sees nothing but the states.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import PreTrainedModel

from explainers.datasets.example import Example
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.methods.narrator_specs import narrator_spec
from explainers.models import catalog, internals, tasks
from explainers.models.frozen_model import FrozenModel
from explainers.narrative import narrator_input, pretrained, reason_sources, reconstruction, text_metrics, token_states
from explainers.narrative.cause import BY_RULES, BY_SIMILARITY, Judge, NarratorTraining, Parts, train
from explainers.narrative.content_words import reason_of
from explainers.narrative.language import (
    LANGUAGE_MODELS,
    SMALL,
    Language,
    language_of,
    new_language_model,
    vocabulary,
)
from explainers.narrative.narrate import read_narrator
from explainers.narrative.narrator import Narrator, TokenReader
from explainers.narrative.recipe import NarratorRecipe
from explainers.narrative.sentences import NarratorItem, class_means, narrator_items, sentence
from explainers.training import artifacts, packing
from explainers.training.spec import FitSpec, with_hyperparameters

INPUTS = 2_000  # whose tokens the regression is fitted to
RIDGE = 1e-3  # in units of the mean variance of a feature
BETWEEN = "\n"  # what the frozen model's special tokens look like


def judge_of(model: str, examples: Sequence[Example], items: Sequence[NarratorItem]) -> Judge:
    """Where rules can tell it, the share of right reasons: true of the input, and about what the known reason is about.
    Elsewhere BLEU-4 of the reason against the given ones. Items whose class the model predicts wrongly do not count."""
    known = [reason_of(item.sentences[0]) for item in items if item.right]
    rules = any(tasks.reason_on_topic(model, reason, [reason]) is not None for reason in known)

    def judged(texts: Sequence[str]) -> Mapping[str, float]:
        rows = [row for row in zip(texts, examples, items, strict=False) if row[2].right]
        if not rules:
            reasons = [[reason_of(sentence) for sentence in item.sentences] for *_, item in rows]
            return {BY_SIMILARITY: text_metrics.bleu([reason_of(text) for text, _, _ in rows], reasons)["bleu_4"]}
        hits = [
            tasks.reason_on_topic(model, reason_of(text), [reason_of(sentence) for sentence in item.sentences])
            and tasks.reason_truth(model, reason_of(text), example).true
            for text, example, item in rows
        ]
        return {BY_RULES: sum(map(bool, hits)) / max(len(hits), 1)}

    return judged


WARM_UP_EPOCHS = 2
RUNS = Path("runs/narrative")

_items = artifacts.ModelCache(1)  # the tokens of one set take a gigabyte


def recipe_for(spec: FitSpec) -> NarratorRecipe:
    """Raises `ExplanationError` for an unknown narrator or setting."""
    narrator = narrator_spec(spec.check().method)
    fixed = {"losses": narrator.losses, "reads": narrator.reads, "seed": spec.seed}
    recipe = with_hyperparameters(NarratorRecipe, spec.method, {**narrator.settings, **dict(spec.settings), **fixed})
    if (recipe.layer > 0) != narrator.reads_tokens:
        raise ExplanationError(
            f"{spec.method} reads the tokens of a middle layer: give its number with --set layer=2, not 0."
            if narrator.reads_tokens
            else f"{spec.method} reads one state of the model. Omit --set layer."
        )
    if recipe.adapter_rank and recipe.language in LANGUAGE_MODELS:
        raise ExplanationError(f"Adapters are for pretrained language models; {recipe.language} is trained here.")
    if recipe.leak == "leaky":  # neither is defined there
        recipe = replace(recipe, words=False, inputs=False)
    if recipe.phi_epochs >= recipe.epochs:
        raise ExplanationError(f"phi_epochs must be below epochs, which are {recipe.epochs}: the other losses follow.")
    return recipe


def run_folder(spec: FitSpec) -> Path:
    """The default folder for log and checkpoint."""
    suffix = "".join(f"-{name}-{value}" for name, value in spec.settings)
    suffix += f"-{spec.format}" if spec.format else ""
    return RUNS / f"{artifacts.own_folder(spec.model, '').name}{spec.method}{suffix}-{spec.seed}".replace("/", "_")


def read_parts(spec: FitSpec, model: FrozenModel) -> Parts:
    """Examples with reasons for training and for validation, never of the test split."""
    recipe = recipe_for(spec)
    layer, more = recipe.layer, recipe.more_examples

    def read() -> Parts:
        source = reason_sources.reason_source(model, spec.data_path, spec.image_files)
        examples = (*source.training, *source.further_training(more)) if more else source.training
        training, validation = (narrator_items(model, part, layer) for part in (examples, source.validation))
        return Parts(training, validation, judge_of(model.name, source.validation, validation))

    key = (spec.data, spec.format, spec.images, layer, more)
    parts = _items.get(model, key, read)  # a fifth of a short training's time
    return replace(parts, continued=_continued(model, layer))  # which holds the model, and must not be kept with it


def _continued(model: FrozenModel, layer: int) -> token_states.Continued | None:
    """The frozen layers after `layer`."""
    return (lambda tokens, real: token_states.continue_from_layer(model, tokens, real, layer)) if layer else None


def warmed_up_language_model(spec: FitSpec, model: FrozenModel) -> tuple[PreTrainedModel, Language, Path | None]:
    """The language model to start from, its language and the file of its vocabulary.

    A small one is warmed up once for all narrators; a pretrained one has no file here.
    """
    recipe = recipe_for(spec)
    name, reads_tokens = recipe.language, recipe.layer > 0
    if name not in LANGUAGE_MODELS:
        with torch.random.fork_rng():
            torch.manual_seed(recipe.seed)  # of its new cross-attention
            return *pretrained.pretrained_language_model(
                name, reads_tokens=reads_tokens, rank=recipe.adapter_rank
            ), None
    source = reason_sources.reason_source(model, spec.data_path, spec.image_files)
    base = f"language-{source.name}{'' if name == SMALL else f'-{name}'}"
    weights, words = RUNS / f"{base}.safetensors", RUNS / f"{base}.words.json"
    if not weights.is_file():
        _warm_up(source, model.labels, name, weights, words)
    language = language_of(Tokenizer.from_file(str(words)))
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        phi = new_language_model(language.size, name, reads_tokens=reads_tokens)
    missing, unexpected = phi.load_state_dict(load_file(weights), strict=False)
    new = [name for name in missing if not any(part in name for part in ("cross", "q_attn", "lm_head"))]
    if new or unexpected:
        raise ModelUnavailable(f"{weights} does not fit the language model {name!r}. Delete it and fit again.")
    return phi, language, words


def _warm_up(source: reason_sources.ReasonSource, labels: Sequence[str], name: str, weights: Path, words: Path) -> None:
    """On all texts and reasons of the source; for e-SNLI also on those of e-SNLI-VE; never of the test split."""
    texts = source.sentences()
    weights.parent.mkdir(parents=True, exist_ok=True)
    tokenizer = vocabulary([sentence(labels[len(labels) // 2], text) for text in texts], labels)
    tokenizer.save(str(words))
    language = language_of(tokenizer)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        phi = new_language_model(language.size, name)
    with (weights.parent / "language.jsonl").open("w", encoding="utf-8") as log:
        reconstruction.warm_up(phi, language, texts, epochs=WARM_UP_EPOCHS, seed=0, log=log)
    fresh = weights.with_suffix(".new")
    save_file(
        {name: tensor.contiguous() for name, tensor in phi.state_dict().items() if name != "lm_head.weight"}, fresh
    )
    fresh.replace(weights)


def make(spec: FitSpec, model: FrozenModel, folder: Path, out: Path | None, *, resume: bool) -> dict[str, Any]:
    """Fits, writes weights, vocabulary and card to `out` or to the store, and returns the card."""
    before, began, recipe = catalog.fingerprint(model), time.perf_counter(), recipe_for(spec)
    start = artifacts.find_artifact(model.name, model.version, narrator_spec(recipe.start).id) if recipe.start else None
    parts = read_parts(spec, model)  # errors of model or data come before the long warm-up
    phi, language, words = warmed_up_language_model(spec, model)
    head = internals.classifier_head(model)
    with model.lock, torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        narrator = Narrator(head, phi, language, recipe.losses, recipe.leak, recipe.layer, recipe.reads).to(
            model.device
        )
    if recipe.leak == "closed":
        narrator.initialise_aggregator(
            [language.pieces_within(label) for label in model.labels], class_means(parts.training, len(model.labels))
        )
    if start is not None:
        start_from(narrator, recipe, start, model)
    elif words is None and narrator.reads_states_as_prefix:
        read_states_as_words(narrator, parts.training)
    training = train(recipe, narrator, head, model.labels, parts, folder, resume=resume)
    if catalog.fingerprint(model) != before:
        raise RuntimeError("the frozen model has changed during the training")
    seconds = {"training": round(training.loop.seconds, 1), "all": round(time.perf_counter() - began, 1)}
    card = _card(spec, model, training, seconds, warmed_up=words is not None)
    if start is not None:
        card["started from"] = {"method": start.method, "sha256": start.card["sha256"]}
    path = (out or artifacts.own_folder(model.name, model.version, "narrative")) / artifacts.weights_name(spec)
    if words is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".words.json").write_bytes(words.read_bytes())
    return artifacts.write_artifact(path, packing.packed(narrator.kept()), card)


SAME_START = ("layer", "reads", "language", "adapter_rank")  # settings that both must have alike


def start_from(narrator: Narrator, recipe: NarratorRecipe, start: artifacts.Artifact, model: FrozenModel) -> None:
    """Copies all weights of a fitted narrator. Raises `ExplanationError` if it reads something else, or has another
    language model or vocabulary."""
    start_recipe, fitted = read_narrator(start, model)
    differing = [name for name in SAME_START if getattr(recipe, name) != getattr(start_recipe, name)]
    if narrator.language.tokenizer.get_vocab() != fitted.language.tokenizer.get_vocab():
        differing.append("vocabulary")
    if differing:
        raise ExplanationError(
            f"{start.method} has another {' and '.join(differing)}. Choose a narrator that has the same, or omit "
            "--set start."
        )
    narrator.load_state_dict(fitted.kept(), strict=False)


def _card(
    spec: FitSpec, model: FrozenModel, training: NarratorTraining, seconds: dict[str, float], *, warmed_up: bool
) -> dict[str, Any]:
    items, pieces = training.items, training.narrator.language.size
    return {
        "method": spec.method,
        "model": {"name": model.name, "version": model.version},
        "recipe": asdict(training.recipe),
        "command": spec.command,
        "items": {"learned from": len(items), "with a reason": sum(item.right for item in items)},
        "language": {**({"warm-up epochs": WARM_UP_EPOCHS} if warmed_up else {}), "pieces": pieces},
        "validation": training.metrics,
        "seconds": seconds,
    }


@torch.no_grad()
def read_states_as_words(narrator: Narrator, items: Sequence[NarratorItem]) -> float:
    """Set the reader's entry, and its place embeddings to 0, since φ counts positions itself.

    Returns the share of the variance of the embeddings that the states explain on these tokens. Raises `ValueError`
    for a narrator that does not read states as a prefix.
    """
    if not narrator.reads_states_as_prefix:
        raise ValueError("this narrator does not read states as a prefix")
    reader = cast(TokenReader, narrator.token_reader)
    norm, linear, sized = cast(tuple[nn.LayerNorm, nn.Linear, nn.LayerNorm], tuple(reader.entry))
    device = linear.weight.device  # the regression itself is made on the CPU, since not every device has float64
    rows = [tokens for item in items[:INPUTS] if (tokens := item.tokens) is not None]
    pieces = torch.tensor([piece for tokens in rows for piece in token_pieces(narrator, tokens)], device=device)
    features = torch.cat([norm(tokens.features[0].to(device)) for tokens in rows]).cpu().double()
    wanted = narrator.embedding_of(narrator.phi).weight[pieces].cpu().double()
    weight, bias = ridge(features, wanted)
    linear.weight.copy_(weight.T)
    linear.bias.copy_(bias)
    sized.weight.fill_(wanted.std().item())
    nn.init.zeros_(reader.place.weight)
    left = (features @ weight + bias - wanted).square().sum() / (wanted - wanted.mean(0)).square().sum()
    return 1 - float(left)


def ridge(features: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """W (d, e) and b (e,) of the ridge regression of `wanted` (n, e) on features (n, d)."""
    centre, target = features.mean(0), wanted.mean(0)
    apart = features - centre
    moments = apart.T @ apart
    moments.diagonal().add_(RIDGE * moments.diagonal().mean())
    weight = torch.linalg.solve(moments, apart.T @ (wanted - target))
    return weight, target - centre @ weight


def token_pieces(narrator: Narrator, tokens: narrator_input.InputTokens) -> Iterator[int]:
    """For each token of one input the piece of φ's vocabulary that it stands for: of a word's tokens the first stands
    for the word's first piece, and so on; the last piece again where there are fewer pieces."""
    language = narrator.language
    between = language.tokenizer.encode(BETWEEN, add_special_tokens=False).ids or [language.end_id]
    for unit, group in groupby(tokens.units[0].tolist()):
        word = tokens.words[0][unit] if unit >= 0 else ""
        pieces = language.pieces_within(word) if word else between
        yield from (pieces[min(at, len(pieces) - 1)] for at, _ in enumerate(group))
