"""Opens a causal language model of the hub, a folder or the store, with a prompt and the adapter trained for it.

assets/prompts/<name>.yaml          the prompt
assets/prompts/<name>.safetensors   A and B of every linear layer, fp16: <layer>.down (r, in), <layer>.up (out, r)
assets/prompts/<name>.json          language model, recipe, data, command, accuracy, checksums
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, cast
from weakref import WeakValueDictionary

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from explainers.errors import ModelUnavailable
from explainers.models import checks, model_files, optimisation, smollm2
from explainers.models.decoder import TOLERANCE
from explainers.models.foreign import file_checks, opened_tokenizer
from explainers.models.prompt import PROMPTS, Prompt, PromptError, prompt_named, prompted_version, split_name
from explainers.models.prompted.filled import PromptTokenizer
from explainers.models.prompted.model import OpenNetwork, PromptedModel
from explainers.models.prompted.network import ClassWords, PrefixCache, WholeWords
from explainers.models.smollm2 import NAME as SMOLLM2
from explainers.models.text.base_weights import sha256

EXPECTED = "a causal language model"
MOST_TOKENS = 2048  # of a prompt with its text
CHECKED = 8  # tokens of the template after which the answer is compared with the library's

_networks: "WeakValueDictionary[tuple[str, ...], OpenNetwork]" = WeakValueDictionary()  # as long as a prompt uses one
_loading = Lock()


def load_prompted(name: str, device: torch.device, *, tuned: bool = True) -> PromptedModel:
    """`name` is `MODEL:PROMPT`. With `tuned`, a prompt with an adapter has it.

    Raises `ModelUnavailable` with a sentence, `PromptError` where the prompt is wrong.
    """
    model, key = split_name(name)
    prompt = prompt_named(key)
    adapter = adapter_file(key) if prompt.adapter and tuned else None
    source = model_files.ModelFiles(str(smollm2.required_folder()) if model == smollm2.NAME else model)
    with file_checks.load_errors(name, EXPECTED):
        with opened_tokenizer.opening(model, source.path, chat=prompt.template if prompt.chat else None) as tokenizer:
            network, version = open_network(model, source, adapter, device)
            opened = tokenizer.result()
        made = prompted(name, network, opened, prompt, device)
        return replace(made, version=prompted_version(*version, prompt, opened.rendered))


def open_network(
    model: str, source: model_files.ModelFiles, adapter: Path | None, device: torch.device
) -> tuple[OpenNetwork, tuple[str, str]]:
    """The language model, which all its prompts share, with its version and the checksum of the adapter or ""."""
    version = (
        source.version(smollm2.CONVERTED if model == smollm2.NAME else ()),
        "" if adapter is None else sha256(adapter),
    )
    key = (str(source.path), *version, str(device))
    with _loading:
        opened = _networks.get(key)
        if opened is None:
            network = causal_network(model, source)
            if adapter is not None:
                add_adapter(network, adapter, model)
            opened = _networks[key] = OpenNetwork(network.to(device).requires_grad_(False).eval())
    return opened, version


def causal_network(name: str, source: model_files.ModelFiles) -> Any:
    """The library's network. Raises `ModelUnavailable` for an architecture that is no causal language model."""
    from transformers import AutoModelForCausalLM

    config = source.config()
    if config.is_encoder_decoder or type(config) not in AutoModelForCausalLM._model_mapping:
        raise ModelUnavailable(
            f"{name!r} ({config.model_type}) is no causal language model: it cannot continue a prompt."
        )
    network, missing = source.module(AutoModelForCausalLM, config)
    lacking = missing - {"lm_head.weight"} if config.get_text_config().tie_word_embeddings else missing
    if lacking:
        raise ModelUnavailable(f"{name!r} is not a trained language model: it has no weights for {sorted(lacking)[0]}.")
    check_causal(name, network)
    return network


def check_causal(name: str, network: Any) -> None:
    """Raises `ModelUnavailable` for a network that does not choose the next word by one linear layer."""
    base, kind = getattr(network, "base_model", network), type(network).__name__
    head = network.get_output_embeddings() if hasattr(network, "get_output_embeddings") else None
    encoder = isinstance(getattr(base, "embeddings", None), nn.Module)
    if base is network or encoder or network.config.is_encoder_decoder or not isinstance(head, nn.Linear):
        raise ModelUnavailable(f"{name!r} ({kind}) is no decoder with one linear layer that chooses the next word.")


def prompted(
    name: str,
    opened_network: OpenNetwork,
    opened: opened_tokenizer.OpenedTokenizer,
    prompt: Prompt,
    device: torch.device,
) -> PromptedModel:
    """The frozen model, after it has answered. Raises `PromptError`, `ModelUnavailable`."""
    network = opened_network.network
    template = opened.rendered if prompt.chat else prompt.template
    isolated = opened.isolated(network.config, checks.readable_tokens(network.config, MOST_TOKENS), MOST_TOKENS)
    tokenizer = PromptTokenizer(name, isolated, _pieces(template, prompt), isolated.longest)
    tokenizer.check_template()
    tokenizer, words = _class_words(tokenizer, prompt)
    tokens = tuple(ids if prompt.read == "mean" else ids[:1] for ids, _ in words.values())
    _check_tokens(prompt, tokens)
    whole = any(len(word) > 1 for word in tokens)
    module = WholeWords(network, tokens) if whole else ClassWords(network, tuple(word for (word,) in tokens))
    module = module.to(device)
    tokenizer = replace(tokenizer, longest=tokenizer.longest - module.added)
    tokenizer.check_template()
    mask_token, replacement = checks.erasing_token(name, opened.mask, opened.unk, opened.eos)
    model = PromptedModel(
        name=name,
        labels=prompt.labels,
        module=module,
        tokenizer=tokenizer,
        mask_token=mask_token,
        pad_token=opened.pad if opened.pad is not None else mask_token,
        version="",
        input_names=prompt.input_names,
        segmented=False,
        last_token=True,
        replacement=replacement or "mask token",
        device=device,
        lock=opened_network.lock,
        prompt=prompt,
        tokens=tuple(pieces for _, pieces in words.values()),
        fixed=tokenizer.empty(),
        cache=PrefixCache(module, tokenizer.shared_prefix()),
        opened=opened_network,
    )
    with model.lock:
        _check_head(name, network, model)
    checks.check_answers(model)
    return replace(model, prior=model.without_text())


def _class_words(
    tokenizer: PromptTokenizer, prompt: Prompt
) -> tuple[PromptTokenizer, dict[str, tuple[tuple[int, ...], tuple[str, ...]]]]:
    """The tokenizer, and ids and characters of every class word after the template. Where all words begin with a token
    of a space, as digits do in some vocabularies, it becomes the end of the template."""
    words = {word: tokenizer.continuation(word, space=not prompt.chat) for word in prompt.classes.values()}
    spaces = [not pieces[0].strip() for _, pieces in words.values()]
    if all(spaces):
        tokenizer = replace(tokenizer, pieces=(*tokenizer.pieces[:-1], f"{tokenizer.pieces[-1]} "))
        return tokenizer, {word: tokenizer.continuation(word, space=False) for word in words}
    if any(spaces):
        word = list(words)[spaces.index(True)]
        raise PromptError(
            f"The tokenizer puts a token of a space before {word!r}, but not before all words. Choose another word."
        )
    return tokenizer, words


def _pieces(template: str, prompt: Prompt) -> tuple[str, ...]:
    pieces, rest = [], template
    for slot in prompt.slots:
        if rest.count(slot) != 1:
            raise PromptError(f"The chat format of the tokenizer does not keep the slot {slot}. Set chat to false.")
        before, rest = rest.split(slot)
        pieces.append(before)
    return (*pieces, rest)


def _check_tokens(prompt: Prompt, tokens: Sequence[tuple[int, ...]]) -> None:
    """Raises `PromptError` where the tokens that are read of two words are the same."""
    words = list(prompt.classes.values())
    for number, word in enumerate(words):
        other = words[tokens.index(tokens[number])]
        if other != word and prompt.read == "mean":
            raise PromptError(
                f"The words {other!r} and {word!r} have the same tokens, by which classes are told apart. "
                "Choose words that differ."
            )
        if other != word:
            raise PromptError(
                f"The words {other!r} and {word!r} begin with the same token, by which classes are told apart. "
                "Choose words that begin differently, or read the mean over their tokens."
            )


def _check_head(name: str, network: Any, model: PromptedModel) -> None:
    """Raises `ModelUnavailable` where the language model computes its answer in another way than is known here; where
    keys and values cannot be reused, they are not."""
    kind, fixed = type(network).__name__, torch.tensor([model.fixed], device=model.device)
    last = fixed[:, -CHECKED:]
    with torch.inference_mode():
        theirs = _library_logits(network, last, model.words)
        if not torch.allclose(theirs, model.words(input_ids=last).logits, atol=TOLERANCE, rtol=TOLERANCE):
            raise ModelUnavailable(f"{name!r} ({kind}) chooses its words in a way that is not known here.")
        longer = torch.cat([fixed, fixed[:, -1:]], dim=1)  # than the prefix
        try:
            reused = model.cache.logits(longer, None)
            ours = model.words(input_ids=longer).logits
            same = reused is not None and torch.allclose(reused, ours, atol=TOLERANCE, rtol=TOLERANCE)
        except Exception:  # an architecture with a memory of another kind
            same = False
    window = getattr(network.config.get_text_config(), "sliding_window", None)
    if not same or (window is not None and window < MOST_TOKENS):  # a layer then forgets some of the prefix
        model.cache.prefix, model.cache.layers = (), []


def _library_logits(network: Any, ids: torch.Tensor, words: ClassWords) -> torch.Tensor:
    """The logits (1, C) by the library's network, word after word, for ids (1, L)."""
    if not isinstance(words, WholeWords):
        return cast(torch.Tensor, network(input_ids=ids).logits[:, -1, list(words.words)])
    logits = []
    for word in words.tokens:
        own = ids.new_tensor([word])
        steps = network(input_ids=torch.cat([ids, own[:, :-1]], dim=1)).logits[:, ids.shape[1] - 1 :].log_softmax(-1)
        logits.append(steps.gather(2, own[:, :, None]).mean(dim=(1, 2)))
    return torch.stack(logits, dim=1)


def adapter_file(prompt: str) -> Path:
    """The weights beside the shipped prompt of this name. Raises `ModelUnavailable` where there are none."""
    path = PROMPTS / f"{prompt}.safetensors"
    if not path.is_file():
        raise ModelUnavailable(f"The prompt {prompt!r} has an adapter, but {path.name} is not in assets/prompts.")
    return path


def add_adapter(network: Any, path: Path, model: str) -> None:
    """Adds the adapter to the weights it adapts, W + 2·B·A. Raises `ModelUnavailable` if it is damaged or was trained
    on another language model."""
    if model != SMOLLM2:
        raise ModelUnavailable(f"The prompt {path.stem!r} has weights for {SMOLLM2}. Choose {SMOLLM2}:{path.stem}.")
    try:
        card: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        if sha256(path) != card["sha256"]:
            raise _damaged(path)
        tensors = {name: tensor.float() for name, tensor in load_file(path).items()}
        with torch.no_grad():
            for layer in sorted(name.removesuffix(".down") for name in tensors if name.endswith(".down")):
                weight = cast(Tensor, network.base_model.get_submodule(layer).weight)
                weight += optimisation.SCALE * tensors[f"{layer}.up"] @ tensors[f"{layer}.down"]
    except (OSError, ValueError, KeyError, AttributeError, RuntimeError, SafetensorError) as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> ModelUnavailable:
    return ModelUnavailable(f"{path.name} is damaged. Restore it with `git checkout -- assets/prompts`.")
