"""A classifier that is in memory already, such as one that was fine-tuned a minute ago, or any function of texts.
Nothing is written to disk.

The model stays as it is, with its mode, gradients and hooks. What is explained is a copy on the same device. It shares
weights of 32 bits and has others in 32 bits, because half precision would round small differences of probability away.
Where the weights are trained further, wrap the model again: its version is a checksum over them.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from tokenizers import Tokenizer
from torch import nn

from explainers.errors import ModelUnavailable
from explainers.models import catalog, checks, model_names
from explainers.models import prompt as prompts
from explainers.models.decoder import DecoderBase
from explainers.models.encoder_decoder import EncoderBase
from explainers.models.foreign.classes import SingleLogit, class_names, two_classes
from explainers.models.foreign.opened_tokenizer import MAX_TOKENS, OpenedTokenizer
from explainers.models.foreign.opening_process import in_chat_format
from explainers.models.frozen_model import FrozenModel
from explainers.models.function_model import wrap_function
from explainers.models.inputs.encoding import tokens_of
from explainers.models.prompted.loading import check_causal, prompted
from explainers.models.prompted.model import OpenNetwork

if TYPE_CHECKING:
    from transformers import Pipeline, PreTrainedModel, PreTrainedTokenizerBase

    from explainers.models.function_model import Function

NAME = "in memory"
PIPELINE = "transformers.pipelines.base.Pipeline"


def wrap(
    model: "PreTrainedModel | Pipeline | Function",
    tokenizer: "PreTrainedTokenizerBase | None" = None,
    labels: Sequence[str] | None = None,
    *,
    name: str = NAME,
    mask: str = "[MASK]",
    prompt: prompts.Prompt | None = None,
) -> FrozenModel:
    """Return the frozen model of a classifier and its fast tokenizer from `transformers`, or of their pipeline for
    text classification, to be explained as a loaded one.

    Or that of a function from N texts to probabilities (N, classes), without a tokenizer: the methods that ask it about
    erased texts explain it. Words are deleted from its texts, or replaced by `mask`.

    With a `prompt`, that of a causal language model that classifies by a word per class.

    `labels` are the names of the classes by output, by default those of the model's configuration. Raises
    `ModelUnavailable` with a sentence for what cannot be explained.
    """
    if _is_pipeline(model):
        model, tokenizer = _opened(name, model)
    if tokenizer is None and callable(model) and not isinstance(model, nn.Module):
        return wrap_function(model, labels, name, mask)
    config: Any = getattr(model, "config", None)
    if callable(getattr(model, "predict_proba", None)):
        raise ModelUnavailable(f"{name!r} is no function. Give its predict_proba: wrap(model.predict_proba).")
    if tokenizer is None:
        raise ModelUnavailable(f"{name!r} needs its tokenizer: wrap(model, tokenizer).")
    _check_model(name, model, config)
    if prompt is not None:
        return _prompted(name, model, tokenizer, prompt)
    core = _core(name, tokenizer, config)
    network = checks.explainable(name, _copy(model), tokens_of(core, checks.TRIALS[0].texts))
    ours = checks.in_our_form(network)
    end = tokenizer.eos_token_id if ours else None
    mask_token, replacement = checks.erasing_token(name, tokenizer.mask_token_id, tokenizer.unk_token_id, end)
    frozen = FrozenModel(
        name=name,
        labels=_labels(name, config, labels),
        module=SingleLogit(network) if config.num_labels == 1 else network,
        tokenizer=core,
        mask_token=mask_token,
        pad_token=mask_token if tokenizer.pad_token_id is None else tokenizer.pad_token_id,
        version="",
        unknown=tokenizer.unk_token_id,
        segmented="token_type_ids" in tokenizer.model_input_names and not ours,
        mean_pooled=isinstance(network.base_model, EncoderBase),
        last_token=isinstance(network.base_model, DecoderBase),
        replacement=replacement if ours else "",
        multi_label=config.problem_type == "multi_label_classification" and config.num_labels > 1,
        device=next(network.parameters()).device,
    )
    checks.check_answers(frozen)
    return replace(frozen, version=f"{model_names.IN_MEMORY}{catalog.fingerprint(frozen)[:12]}")


def _is_pipeline(model: object) -> bool:
    """Return whether it is a pipeline of transformers, whose module takes seconds to import."""
    return any(f"{kind.__module__}.{kind.__name__}" == PIPELINE for kind in type(model).__mro__)


def _opened(name: str, pipeline: Any) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase | None]":
    """Return the model and the tokenizer. Raises `ModelUnavailable` for a pipeline that does more than classify."""
    if pipeline.task != "text-classification":
        raise ModelUnavailable(
            f"{name!r} is a pipeline for {pipeline.task}. Give one for text-classification, or a function."
        )
    return pipeline.model, pipeline.tokenizer


def _prompted(name: str, model: Any, tokenizer: Any, prompt: prompts.Prompt) -> FrozenModel:
    """The language model with the prompt. The tokenizer is used in a process of its own, as those of folders."""
    check_causal(name, model)
    core = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(core, Tokenizer):
        raise ModelUnavailable(f"{name!r} has no fast tokenizer, so its tokens have no positions in the text.")
    if prompt.chat and not tokenizer.chat_template:
        raise prompts.PromptError(f"The tokenizer of {name!r} has no chat format. Set chat to false in the prompt.")
    opened = OpenedTokenizer(
        name,
        without_limits(core).to_str(),
        tokenizer.model_max_length,
        segmented=False,
        largest=max(core.get_vocab(with_added_tokens=True).values(), default=-1),
        **{kind: getattr(tokenizer, f"{kind}_token_id") for kind in ("mask", "unk", "pad", "bos", "eos")},
        stop=None,
        rendered=in_chat_format(tokenizer, prompt.template) if prompt.chat else "",
    )
    network: Any = _copy(model)
    device = next(network.parameters()).device
    frozen = prompted(name, OpenNetwork(network.requires_grad_(False).eval()), opened, prompt, device)
    return replace(frozen, version=f"{model_names.IN_MEMORY}{catalog.fingerprint(frozen)[:12]}{prompt.key}")


def without_limits(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that neither cuts nor fills texts."""
    own = Tokenizer.from_str(tokenizer.to_str())
    own.no_padding()
    own.no_truncation()
    return own


def _check_model(name: str, model: object, config: Any) -> None:
    if hasattr(model, "merge_and_unload"):
        raise ModelUnavailable(f"{name!r} has adapters beside its weights. Give what its merge_and_unload() returns.")
    if config is None or not isinstance(model, nn.Module):
        kind = type(model).__name__
        raise ModelUnavailable(f"A {kind} is no classifier of transformers. Give a model for sequence classification.")


def _labels(name: str, config: Any, labels: Sequence[str] | None) -> tuple[str, ...]:
    outputs = config.num_labels
    if labels is None:
        raw = config.to_dict()
        return two_classes(name, raw, named=False) if outputs == 1 else class_names(name, raw, outputs)
    classes = 2 if outputs == 1 else outputs  # one output is the margin of the second class
    given = tuple(map(str, labels))
    if isinstance(labels, str) or len(given) != classes or len(set(given)) != classes or not all(given):
        named = repr(labels) if isinstance(labels, str) else ", ".join(map(repr, given[:10]))
        raise ModelUnavailable(f"{name!r} needs {classes} different names of classes as labels, not {named}.")
    return given


def _core(name: str, tokenizer: Any, config: Any) -> Tokenizer:
    """A tokenizer of our own, which cuts texts to what the model reads."""
    core = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(core, Tokenizer):
        raise ModelUnavailable(f"{name!r} has no fast tokenizer, so its tokens have no positions in the text.")
    own = without_limits(core)
    longest = min(tokenizer.model_max_length, checks.readable_tokens(config), MAX_TOKENS)
    own.enable_truncation(longest, strategy="longest_first")
    largest, known = max(own.get_vocab(with_added_tokens=True).values(), default=-1), config.vocab_size
    if largest >= known:
        raise ModelUnavailable(
            f"The tokenizer has tokens up to number {largest:,}, but {name!r} only {known:,} embeddings. Use the "
            "tokenizer that the model was trained with."
        )
    return own


def _copy(model: "PreTrainedModel") -> nn.Module:
    """The network without hooks, with parameters of its own that share the memory of the model's."""
    shared: dict[int, Any] = {
        id(parameter): nn.Parameter(parameter.detach(), requires_grad=False) for parameter in model.parameters()
    }
    shared |= {id(buffer): buffer.detach() for buffer in model.buffers()}
    network: Any = copy.deepcopy(model, shared)
    for part in network.modules():
        part._forward_hooks.clear()
        part._forward_pre_hooks.clear()
        part._backward_hooks.clear()
    network.set_attn_implementation("eager")  # the others do not return the attention
    in_single_precision: nn.Module = network.to(torch.float32)
    return in_single_precision
