"""Opens a causal language model of the hub, a folder or the store, with a prompt."""

import hashlib
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from explainers.errors import ModelUnavailable
from explainers.models.checks import check_answers, erasing_token, readable_tokens
from explainers.models.decoder import TOLERANCE
from explainers.models.foreign.file_checks import load_errors
from explainers.models.foreign.opened_tokenizer import OpenedTokenizer, opening
from explainers.models.model_files import ModelFiles
from explainers.models.prompt import Prompt, PromptError, prompt_named, split_name
from explainers.models.prompted.adapter import adapter_file, add_adapter
from explainers.models.prompted.filled import PromptTokenizer
from explainers.models.prompted.model import PromptedModel
from explainers.models.prompted.network import ClassWords, PrefixCache
from explainers.models.smollm2 import COMMAND, NAME, smollm2_folder
from explainers.models.text.base_weights import sha256

EXPECTED = "a causal language model"
MOST_TOKENS = 2048  # of a prompt with its text
ENDS_WITH_SPACE = ("\n",)


def load_prompted(name: str, device: torch.device) -> PromptedModel:
    """`name` is `MODEL:PROMPT`. Raises `ModelUnavailable` with a sentence, `PromptError` where the prompt is wrong."""
    model, key = split_name(name)
    prompt = prompt_named(key)
    source = ModelFiles(folder_of(model))
    with load_errors(name, EXPECTED):
        with opening(model, source.path, chat=prompt.template if prompt.chat else None) as tokenizer:
            network, adapter = causal_network(model, source), adapter_file(key)
            if adapter is not None:
                add_adapter(network, adapter, model)
            opened = tokenizer.result()
        made = prompted(name, network, opened, prompt)
        parts = (source.version(), prompt.key, sha256(adapter) if adapter else "")
        return replace(made, version=hashlib.sha256(" ".join(parts).encode()).hexdigest(), device=device)


def folder_of(model: str) -> str:
    """The name by which files are found: SmolLM2 lies in the store. Raises `ModelUnavailable` where it does not."""
    if model != NAME:
        return model
    folder = smollm2_folder()
    if folder is None:
        raise ModelUnavailable(f"SmolLM2 is not on this machine yet. Fetch it with `{COMMAND}` (93 MB).")
    return str(folder)


def causal_network(name: str, source: ModelFiles) -> Any:
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
    base, kind = network.base_model, type(network).__name__
    if base is network or isinstance(getattr(base, "embeddings", None), nn.Module) or not _has_linear_head(network):
        raise ModelUnavailable(f"{name!r} ({kind}) is no decoder with one linear layer that chooses the next word.")
    return network


def prompted(name: str, network: Any, opened: OpenedTokenizer, prompt: Prompt) -> PromptedModel:
    """The frozen model on the CPU, after it has answered. Raises `PromptError`, `ModelUnavailable`."""
    template = opened.rendered if prompt.chat else prompt.template
    isolated = opened.isolated(network.config, readable_tokens(network.config, MOST_TOKENS), MOST_TOKENS)
    tokenizer = PromptTokenizer(name, isolated, _pieces(template, prompt), isolated.longest)
    fixed = tokenizer.template_tokens()
    space = not prompt.chat and not template.endswith(ENDS_WITH_SPACE)
    continued = {word: tokenizer.continuation(word, space=space) for word in prompt.classes.values()}
    first = {word: ids[0] for word, (ids, _) in continued.items()}
    _check_first_tokens(first)
    module = ClassWords(network, tuple(first.values()))
    prefix = PrefixCache(module, tokenizer.shared_prefix()[: max(0, fixed - 1)])
    mask_token, replacement = erasing_token(name, opened.mask, opened.unk, opened.eos)
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
        replacement=replacement,
        prompt=prompt,
        tokens=tuple(pieces for _, pieces in continued.values()),
        fixed=tokenizer.empty(),
        cache=prefix,
    )
    _check_head(name, network, model)
    check_answers(model)
    return model


def _pieces(template: str, prompt: Prompt) -> tuple[str, ...]:
    pieces, rest = [], template
    for slot in prompt.slots:
        if rest.count(slot) != 1:
            raise PromptError(f"The chat format of the tokenizer does not keep the slot {slot}. Set chat to false.")
        before, rest = rest.split(slot)
        pieces.append(before)
    return (*pieces, rest)


def _check_first_tokens(first: dict[str, int]) -> None:
    words = list(first)
    for number, word in enumerate(words):
        for other in words[:number]:
            if first[word] == first[other]:
                raise PromptError(
                    f"The words {other!r} and {word!r} begin with the same token, by which classes are told apart. "
                    "Choose words that begin differently."
                )


def _check_head(name: str, network: Any, model: PromptedModel) -> None:
    """Raises `ModelUnavailable` where the language model computes its answer in another way than is known here; where
    keys and values cannot be reused, they are not."""
    ids, kind = torch.tensor([model.fixed]), type(network).__name__
    network.eval()
    with torch.inference_mode():
        theirs = network(input_ids=ids).logits[:, -1, list(model.words.words)]
        ours = model.words(input_ids=ids).logits
        if not torch.allclose(theirs, ours, atol=TOLERANCE, rtol=TOLERANCE):
            raise ModelUnavailable(f"{name!r} ({kind}) chooses its words in a way that is not known here.")
        try:
            reused = model.cache.logits(ids, None)
            same = reused is None or torch.allclose(reused, ours, atol=TOLERANCE, rtol=TOLERANCE)
        except Exception:  # an architecture with a memory of another kind
            same = False
    window = getattr(network.config.get_text_config(), "sliding_window", None)
    if not same or (window is not None and window < MOST_TOKENS):  # a layer then forgets some of the prefix
        model.cache.prefix = ()


def _has_linear_head(network: Any) -> bool:
    head = network.get_output_embeddings()
    return isinstance(head, nn.Linear)
