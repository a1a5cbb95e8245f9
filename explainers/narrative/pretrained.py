"""Pretrained language models as φ: a causal one of the hub, SmolLM2, or the base encoder as a decoder.

For a narrator that reads tokens GPT-2 and the encoder get cross-attention with new weights; other architectures read
the tokens as a prefix.
"""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, cast
from weakref import WeakValueDictionary

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertConfig, BertLMHeadModel, PreTrainedModel

from explainers.errors import ModelUnavailable
from explainers.models import model_files, optimisation, smollm2
from explainers.models.foreign.file_checks import first_sentence
from explainers.models.text.base_weights import CONFIG, TOKENIZER, base_folder
from explainers.narrative.language import LANGUAGE_MODELS, Language, language_of

ENCODER, SMOLLM2 = "encoder", "smollm2"
CROSS_ATTENTION = "gpt2"  # the causal architecture of the library that has it
Loaded = tuple[PreTrainedModel, Tokenizer, Collection[str]]  # the last: weights that the files lack


def pretrained_language_model(
    name: str, *, reads_tokens: bool = False, rank: int = 0
) -> tuple[PreTrainedModel, Language]:
    """`encoder`, `smollm2`, a causal model of the hub, such as `gpt2`, or a folder; only safetensors, no remote code.

    With a `rank` its weights stay as they are; low-rank adapters on its linear layers and weights that it lacks learn.
    """
    others: dict[str, Callable[..., Loaded]] = {ENCODER: encoder_as_decoder, SMOLLM2: _stored_smollm2}
    read = others.get(name, partial(_causal_model, name))
    try:
        phi, tokenizer, missing = read(reads_tokens=reads_tokens)
    except Exception as error:  # the libraries raise a dozen types here; all mean: this name does not load
        raise ModelUnavailable(_load_error(name, error)) from error
    language = language_of(tokenizer)
    return (with_adapters(phi, rank, missing) if rank else phi), language


def with_adapters(phi: PreTrainedModel, rank: int, missing: Collection[str]) -> PreTrainedModel:
    """The model itself, whose own weights no longer learn; those `missing` in its files do."""
    if not any(isinstance(module, nn.Linear) for module in phi.base_model.modules()):
        raise ModelUnavailable("This language model has no linear layers for adapters. Omit --set adapter_rank.")
    for name, weight in phi.named_parameters():
        weight.requires_grad_(name in missing)
    setattr(phi, phi.base_model_prefix, optimisation.adapted(phi.base_model, rank))
    share_frozen(phi)
    return phi


_frozen: WeakValueDictionary[str, nn.Parameter] = WeakValueDictionary()  # of the model loaded last, by name


def share_frozen(phi: nn.Module) -> None:
    """Let the weights that do not learn take the memory of equal ones that are loaded already: a second narrator on
    SmolLM2 needs 10 MB in place of 540."""
    for name, weight in phi.named_parameters():
        if not weight.requires_grad:
            loaded = _frozen.get(name)
            if loaded is not None and _alike(loaded, weight) and torch.equal(loaded, weight):
                weight.data = loaded.data
            else:
                _frozen[name] = weight


def _alike(one: Tensor, other: Tensor) -> bool:
    return (one.shape, one.dtype, one.device) == (other.shape, other.dtype, other.device)


def encoder_as_decoder(*, reads_tokens: bool = False) -> Loaded:
    """The base encoder's layers and embeddings, each position reading only those before; the rest of the weights is
    new, drawn from torch's generator."""
    folder = base_folder()
    config = BertConfig.from_pretrained(folder / CONFIG, is_decoder=True, add_cross_attention=reads_tokens)
    config._attn_implementation = "eager"
    phi, report = BertLMHeadModel.from_pretrained(
        folder,
        config=config,
        use_safetensors=True,
        dtype=torch.float32,
        local_files_only=True,
        output_loading_info=True,
    )
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return cast(PreTrainedModel, phi), tokenizer, frozenset(report["missing_keys"])


def output_head(phi: PreTrainedModel) -> nn.Module:
    """What turns φ's last hidden states into logits."""
    return cast(nn.Module, phi.cls if isinstance(phi, BertLMHeadModel) else phi.get_output_embeddings())


def _causal_model(name: str, *, reads_tokens: bool) -> Loaded:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = model_files.ModelFiles(name)
    config = source.config()
    if reads_tokens and config.model_type == CROSS_ATTENTION:
        config.add_cross_attention = True
    model, missing = source.module(AutoModelForCausalLM, config)
    splitter: Any = AutoTokenizer.from_pretrained(source.path, **source.options)
    return cast(PreTrainedModel, model), splitter.backend_tokenizer, missing


def _stored_smollm2(*, reads_tokens: bool) -> Loaded:
    folder = smollm2.smollm2_folder()
    if folder is None:
        raise ModelUnavailable(
            f"It is not in the store. Run `{smollm2.COMMAND}`, or give its id on the hub, {smollm2.HUB_ID}."
        )
    return _causal_model(str(folder), reads_tokens=reads_tokens)


def _load_error(name: str, error: Exception) -> str:
    reason = first_sentence(error).removeprefix(f"The model {name!r} could not be loaded: ")
    if name == SMOLLM2:
        return f"The language model {name!r} could not be loaded. {error}"
    how = "Give the id of a causal language model on the hub, a folder with its files, or one of: "
    others = f"{how}{', '.join((*LANGUAGE_MODELS, ENCODER, SMOLLM2))}."
    return f"The language model {name!r} could not be loaded: {reason} {others if name != ENCODER else ''}".rstrip()
