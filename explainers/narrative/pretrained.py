"""Pretrained language models as φ: a causal one of the hub, SmolLM2, or the base encoder as a decoder.

For a narrator that reads tokens GPT-2 and the encoder get cross-attention with new weights; other architectures read
the tokens as a prefix.
"""

from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from tokenizers import Tokenizer
from torch import nn
from transformers import BertConfig, BertLMHeadModel, PreTrainedModel

from explainers.errors import ModelUnavailable
from explainers.models.foreign.sentences import first_sentence
from explainers.models.lora import adapted
from explainers.models.model_files import ModelFiles
from explainers.models.text.base_weights import CONFIG, TOKENIZER, base_folder
from explainers.narrative.language import LANGUAGE_MODELS, Language, language_of
from explainers.narrative.smollm2 import HUB_ID, smollm2_folder

ENCODER, SMOLLM2 = "encoder", "smollm2"
CROSS_ATTENTION = "gpt2"  # the causal architecture of the library that has it


def pretrained_language_model(
    name: str, *, reads_tokens: bool = False, rank: int = 0
) -> tuple[PreTrainedModel, Language]:
    """`encoder`, `smollm2`, a causal model of the hub, such as `gpt2`, or a folder; only safetensors, no remote code.

    With a `rank` its weights stay as they are, and low-rank adapters on all its linear layers learn.
    """
    read = encoder_as_decoder if name == ENCODER else partial(_causal_model, name)
    try:
        phi, language = read(reads_tokens=reads_tokens)
        return (with_adapters(phi, rank) if rank else phi), language
    except Exception as error:  # the libraries raise a dozen types here; all mean: this name does not load
        raise ModelUnavailable(_sentence(name, error)) from error


def with_adapters(phi: PreTrainedModel, rank: int) -> PreTrainedModel:
    """The model itself, whose own weights no longer learn."""
    if not any(isinstance(each, nn.Linear) for each in phi.base_model.modules()):
        raise ModelUnavailable("it has no linear layers for adapters. Omit --set rank.")
    phi.requires_grad_(False)
    setattr(phi, phi.base_model_prefix, adapted(phi.base_model, rank))
    for name, weight in phi.named_parameters():
        if "crossattention" in name:  # new weights
            weight.requires_grad_(True)
    return phi


def encoder_as_decoder(*, reads_tokens: bool = False) -> tuple[PreTrainedModel, Language]:
    """The base encoder's layers and embeddings, each position reading only those before; the rest of the weights is
    new, drawn from torch's generator."""
    folder = base_folder()
    config = BertConfig.from_pretrained(folder / CONFIG, is_decoder=True, add_cross_attention=reads_tokens)
    config._attn_implementation = "eager"
    phi = BertLMHeadModel.from_pretrained(
        folder, config=config, use_safetensors=True, dtype=torch.float32, local_files_only=True
    )
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return cast(PreTrainedModel, phi), language_of(tokenizer)


def output_head(phi: PreTrainedModel) -> nn.Module:
    """What turns φ's last hidden states into logits."""
    return cast(nn.Module, phi.cls if isinstance(phi, BertLMHeadModel) else phi.get_output_embeddings())


def _causal_model(name: str, *, reads_tokens: bool) -> tuple[PreTrainedModel, Language]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = ModelFiles(_place(name))
    config = source.config()
    if reads_tokens and config.model_type == CROSS_ATTENTION:
        config.add_cross_attention = True
    model, _ = source.module(AutoModelForCausalLM, config)
    splitter: Any = AutoTokenizer.from_pretrained(source.path, **source.options)
    return cast(PreTrainedModel, model), language_of(splitter.backend_tokenizer)


def _place(name: str) -> str:
    """Where the files of a language model are: the store's SmolLM2, or what was given."""
    folder: Path | None = smollm2_folder() if name == SMOLLM2 else None
    return str(folder) if folder else HUB_ID if name == SMOLLM2 else name


def _sentence(name: str, error: Exception) -> str:
    place = _place(name) if name != ENCODER else name
    reason = first_sentence(error).removeprefix(f"The model {place!r} could not be loaded: ")
    others = (*LANGUAGE_MODELS, ENCODER, SMOLLM2)
    how = (
        "Get it with `python -m explainers get smollm2`."
        if name == SMOLLM2
        else "Give the id of a causal language model on the hub, a folder with its files, or one of: "
        f"{', '.join(others)}."
    )
    return f"The language model {name!r} could not be loaded: {reason} {how}"
