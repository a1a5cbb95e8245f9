"""The internals of a frozen classifier: its layers' outputs, and its answers when one of them is replaced.

The learned methods need more than `probabilities` and `soft`: batches of different texts, gradients with respect to
the word embeddings, and answers to changed states. Hooks hang only during the call; no weight is trained.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, cast

import torch
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.models.inputs.padded_batch import PaddedBatch
from explainers.models.precision import Precision

LAYERS = ("layer", "layers", "h", "block")
LIBRARY_HOOKS = "_output_capturing_hooks_installed"
QUERIES, KEYS = ("query", "q_lin", "query_proj", "q_proj", "q"), ("key", "k_lin", "key_proj", "k_proj", "k")


_precision: ContextVar[Precision] = ContextVar("precision", default="float32")


@dataclass(frozen=True)
class Internals:
    """The internals of one pass, with their gradient where the inputs have one."""

    logits: Tensor  # (B, C)
    hidden: tuple[Tensor, ...]  # embeddings (a decoder's: of words alone), then every layer's output: (B, L, d) each
    queries: tuple[Tensor, ...]  # per layer (B, L, d), before they are cut into heads
    keys: tuple[Tensor, ...]  # per layer (B, L, d)

    def probabilities(self, model: FrozenModel) -> Tensor:
        """(B, C)."""
        return self.logits.sigmoid() if model.multi_label else self.logits.softmax(-1)


def transformer_layers(model: FrozenModel) -> tuple[nn.Module, ...]:
    """The Transformer's layers, from the bottom; one that is passed several times, as in ALBERT, stands so often."""
    groups: Any = getattr(getattr(model.base, "encoder", None), "albert_layer_groups", None)
    if groups is not None:
        count = _setting(model, "num_hidden_layers")
        return tuple(layer for at in range(count) for layer in groups[at * len(groups) // count].albert_layers)
    for name, module in model.base.named_modules():
        if isinstance(module, nn.ModuleList) and name.rpartition(".")[2] in LAYERS:
            return tuple(module)
    raise ExplanationError(f"{model.name} has no list of layers that could be read; this method needs it.")


@singledispatch
def layer_count(model: FrozenModel) -> int:
    """How many layers have outputs in `Internals`."""
    return len(transformer_layers(model))


def attention_head_count(model: FrozenModel) -> int:
    """Attention heads per layer."""
    return _setting(model, "num_attention_heads", "n_heads")


def attention_head_size(model: FrozenModel) -> int:
    """d_k, the size of a query of one head."""
    config = model.layer_config
    size, inside = (getattr(config, name, None) for name in ("head_dim", "true_hidden_size"))  # the latter: MobileBERT
    if isinstance(size, int):
        return size
    return (inside if isinstance(inside, int) else hidden_size(model)) // attention_head_count(model)


def key_head_count(model: FrozenModel) -> int:
    """Heads of keys per layer: fewer than of queries with grouped-query attention."""
    count = getattr(model.layer_config, "num_key_value_heads", None)
    return count if isinstance(count, int) else attention_head_count(model)


@singledispatch
def hidden_size(model: FrozenModel) -> int:
    """d, the size of a hidden state. Raises `ExplanationError` where the class is read from states of another size."""
    size = _setting(model, "hidden_size", "dim")
    if getattr(model.base.config, "word_embed_proj_dim", size) != size:  # some of OPT
        raise ExplanationError(f"{model.name} reads its class from smaller states than its layers have.")
    return size


def word_embedding_size(model: FrozenModel) -> int:
    """Return the size of a token's embedding, which is smaller than d in ELECTRA, ALBERT and MobileBERT."""
    return int(cast(Tensor, word_embedding_table(model).weight).shape[1])


def word_embedding_table(model: FrozenModel) -> nn.Module:
    return cast(nn.Module, model.base.get_input_embeddings())  # type: ignore[operator]


def classifier_head(model: FrozenModel) -> nn.Sequential:
    """f_h: the linear layers, with ReLU between them, that read the class from one vector. Raises if it has none."""
    head = getattr(model.module, "head", None)
    if not isinstance(head, nn.Sequential):
        raise ExplanationError(
            f"{model.name} has no head of several layers in which neurons could be exchanged. "
            "Sentences can be made for the embedded models and for others of their architecture."
        )
    return head


def input_embeddings(model: FrozenModel, batch: PaddedBatch) -> tuple[Tensor, Tensor]:
    """Embeddings of the tokens (B, L, d) and the replacement of erased ones, (d,) or, with patches, (B, L, d).

    Both before position and LayerNorm.
    """
    with torch.no_grad():
        mask_token = word_embedding_table(model)(torch.tensor(model.mask_token, device=model.device))
        return batch.with_patches(word_embedding_table(model)(batch.ids), mask_token)


@singledispatch
def forward_with_internals(
    model: FrozenModel,
    batch: PaddedBatch,
    *,
    embeds: Tensor | None = None,
    embedding_output: Tensor | None = None,
    scale: Tensor | None = None,
    layer_output: tuple[int, Tensor] | None = None,
    keep_replaced: bool = False,
) -> Internals:
    """One pass over the batch, with the gradient of the tensors given here; without any the pass has no gradient.

    `embeds` (B, L, d) replaces the word embeddings and `embedding_output` (B, L, d) the output after LayerNorm, which
    `scale` (B, L) multiplies; `layer_output` = (k, states) replaces layer k's output (k = 1 is the first layer). With
    `keep_replaced`, `hidden[k]` is what the layer gave itself, and only the layers above read the states.
    """
    record = Record()
    with ExitStack() as stack:
        stack.enter_context(model.meter.locked_batch(model.lock, batch.rows))
        if all(state is None for state in (embeds, embedding_output, scale, layer_output)):
            stack.enter_context(torch.no_grad())
        stack.enter_context(
            _hooks(model, record, embedding_output, _factor(batch, scale), layer_output, keep_replaced=keep_replaced)
        )
        if embeds is None and bool(batch.is_patch.any()):
            embeds = input_embeddings(model, batch)[0]
        inputs = {"input_ids": batch.ids} if embeds is None else {"inputs_embeds": embeds}
        segments = {"token_type_ids": batch.segments} if model.segmented else {}
        stack.enter_context(matrix_products(model.device))
        output = model.module(attention_mask=batch.attention.long(), **inputs, **segments)
    logits = cast(Tensor, output if isinstance(output, Tensor) else output.logits)
    hidden, queries, keys = (
        tuple(state.float() for state in states) for states in (record.hidden, record.queries, record.keys)
    )
    return Internals(logits.float(), hidden, queries, keys)


def matrix_products(device: torch.device) -> AbstractContextManager[object]:
    """The products within the block have the precision of `passes_in`."""
    return torch.autocast(device.type, torch.bfloat16, enabled=_precision.get() == "bfloat16")


@contextmanager
def passes_in(precision: Precision) -> Iterator[None]:
    """Within the block matrix products in `matrix_products` have this precision; what a pass returns is float32."""
    token = _precision.set(precision)
    try:
        yield
    finally:
        _precision.reset(token)


@singledispatch
def forward_with_soft_mask(
    model: FrozenModel, batch: PaddedBatch, mask: Tensor, replacement: Tensor | None = None
) -> Internals:
    """The pass in which every unit is kept by its share, as in `blended_embeddings`."""
    return forward_with_internals(model, batch, embeds=blended_embeddings(model, batch, mask, replacement))


def blended_embeddings(
    model: FrozenModel, batch: PaddedBatch, mask: Tensor, replacement: Tensor | None = None
) -> Tensor:
    """m·e + (1-m)·e_[MASK], the word embeddings (B, L, d) with every unit kept by its share; mask (B, U).

    `replacement` (d,) or (B, L, d) is used instead of the mask token's embedding.
    """
    kept = batch.spread(mask)[:, :, None]  # (B, L, 1)
    embeddings, default = input_embeddings(model, batch)
    return kept * embeddings + (1 - kept) * (default if replacement is None else replacement)


@singledispatch
def head_inputs(model: FrozenModel, encodings: Sequence[Encoding]) -> tuple[Tensor, Tensor]:
    """Return c, the vector that the classifier head reads of each input, (B, d), and the logits (B, C); no gradient.

    Raises `ExplanationError` if the model has no head of several layers.
    """
    return batch_head_inputs(model, model.padded(encodings))


def batch_head_inputs(model: FrozenModel, batch: PaddedBatch) -> tuple[Tensor, Tensor]:
    """c, the vector that the head reads, (B, d), and the logits (B, C); no gradient."""
    inputs: list[Tensor] = []
    with model.meter.locked_batch(model.lock, 0):  # the pass itself counts its rows
        handle = classifier_head(model).register_forward_pre_hook(lambda _module, args: inputs.append(args[0]))
        try:
            logits = forward_with_internals(model, batch).logits
        finally:
            handle.remove()
    return inputs[-1], logits


def readable(model: FrozenModel, states: Tensor) -> Tensor:
    """States (B, L, d) for a small network to read: a decoder's, which nothing before its head normalises, with mean 0
    and variance 1 for each token; others as they are."""
    return torch.nn.functional.layer_norm(states, states.shape[-1:]) if model.last_token else states


def mean_states(internals: Internals, inputs: PaddedBatch) -> Tensor:
    """H: the mean over layers and tokens, without gradient, (B, d)."""
    states = torch.stack(internals.hidden[1:]).mean(0)  # (B, L, d)
    return (states * inputs.attention[:, :, None]).sum(1).detach() / inputs.lengths[:, None]


def shared_copy(module: nn.Module, replaced: Mapping[int, Tensor] | None = None) -> nn.Module:
    """A copy that shares every parameter and buffer with `module` but no hook: cheap, and safe to take apart.

    `replaced` has other tensors in the places of some, by the `id` of the one that they replace.
    """
    shared = {id(tensor): tensor for tensor in (*module.parameters(), *module.buffers())} | dict(replaced or {})
    copied = copy.deepcopy(module, shared)
    for part in copied.modules():  # hooks of another thread's pass must not be copied
        part._forward_hooks.clear()
        part._forward_pre_hooks.clear()
        if hasattr(part, LIBRARY_HOOKS):  # then transformers adds its own again, with which it returns attentions
            setattr(part, LIBRARY_HOOKS, False)
    return copied


@dataclass(frozen=True)
class Record:
    hidden: list[Tensor] = field(default_factory=list)
    queries: list[Tensor] = field(default_factory=list)
    keys: list[Tensor] = field(default_factory=list)


@contextmanager
def _hooks(
    model: FrozenModel,
    record: Record,
    embedding_output: Tensor | None,
    factor: Tensor | None,
    layer_output: tuple[int, Tensor] | None,
    *,
    keep_replaced: bool,
) -> Iterator[None]:
    """During the block a pass is written to `record`, with the replacements of `forward_with_internals`."""

    def scaled(states: Tensor) -> Tensor:
        return states if factor is None else states * factor[:, :, None]

    def after_embeddings(_module: nn.Module, _args: object, output: Tensor) -> Tensor:
        return scaled(output)

    def before_layers(_module: nn.Module, _args: object, output: Tensor) -> Tensor:
        changed = output if embedding_output is None else scaled(embedding_output)
        record.hidden.append(changed)
        return changed

    with ExitStack() as hooks:
        embeddings = cast(nn.Module, model.base.embeddings)
        hooks.callback(embeddings.register_forward_hook(after_embeddings).remove)
        hooks.callback((_projection(model) or embeddings).register_forward_hook(before_layers).remove)
        layers = transformer_layers(model)
        for layer in dict.fromkeys(layers):
            numbers = [number for number, other in enumerate(layers, start=1) if other is layer]
            hook = _layer_hook(record, iter(numbers), layer_output, keep_replaced=keep_replaced)
            hooks.callback(layer.register_forward_hook(hook).remove)
            record_projections(hooks, model, record, layer)
        yield


def _layer_hook(
    record: Record, numbers: Iterator[int], replaced: tuple[int, Tensor] | None, *, keep_replaced: bool
) -> Callable[[nn.Module, object, object], object]:
    """Records a layer's output, or replaces it; `numbers` has the layer's number for each time that it is passed."""

    def hook(_module: nn.Module, _args: object, output: object) -> object:
        own = state = cast(Tensor, output[0] if isinstance(output, tuple) else output)
        if replaced is not None and replaced[0] == next(numbers):
            state = replaced[1]
        record.hidden.append(own if keep_replaced else state)
        return (state, *output[1:]) if isinstance(output, tuple) else state

    return hook


def record_projections(hooks: ExitStack, model: FrozenModel, record: Record, layer: nn.Module) -> None:
    for names, outputs in ((QUERIES, record.queries), (KEYS, record.keys)):
        for part in _named(layer, names):
            hooks.callback(part.register_forward_hook(_recorder(outputs)).remove)
    for name, split in FUSED.items():
        for part in _named(layer, (name,)):
            hooks.callback(part.register_forward_hook(_split_recorder(model, record, split)).remove)


def _projection(model: FrozenModel) -> nn.Module | None:
    """What brings embeddings to the size of the states, in ELECTRA and ALBERT."""
    inside = getattr(getattr(model.base, "encoder", None), "embedding_hidden_mapping_in", None)
    return cast(nn.Module | None, inside or getattr(model.base, "embeddings_project", None))


def _setting(model: FrozenModel, *names: str) -> int:
    """A number of the architecture, which families call by different names."""
    config = model.layer_config
    return int(next(value for name in names if isinstance(value := getattr(config, name, None), int)))


def _factor(batch: PaddedBatch, scale: Tensor | None) -> Tensor | None:
    """(B, L) to multiply the embedding output with; words that were zeroed for good stay zero."""
    if scale is None:
        return None if bool(batch.nonzero.all()) else batch.nonzero.float()
    return scale * batch.nonzero


def _named(layer: nn.Module, names: tuple[str, ...]) -> list[nn.Module]:
    return [part for name, part in layer.named_modules() if name.rpartition(".")[2] in names]


def _split_recorder(model: FrozenModel, record: Record, split: "Splits") -> Callable[[nn.Module, object, Tensor], None]:
    def recorded(_module: nn.Module, _args: object, output: Tensor) -> None:
        queries, keys, _values = split(model, output)
        record.queries.append(queries)
        record.keys.append(keys)

    return recorded


def _thirds(_model: FrozenModel, output: Tensor) -> tuple[Tensor, ...]:
    """All queries, then all keys, then all values."""
    return output.chunk(3, dim=-1)


def _by_head(model: FrozenModel, output: Tensor) -> tuple[Tensor, ...]:
    """Query, key and value of the first head, then of the next; undivided where heads share some, as in Falcon."""
    if output.shape[-1] != 3 * attention_head_count(model) * attention_head_size(model):
        return output, output, output
    heads = output.view(*output.shape[:-1], attention_head_count(model), -1)
    return tuple(part.flatten(-2) for part in heads.chunk(3, dim=-1))


def _grouped(model: FrozenModel, output: Tensor) -> tuple[Tensor, ...]:
    """All queries, then the keys and the values, which groups of heads share."""
    size = attention_head_size(model)
    shared = key_head_count(model) * size
    return torch.split(output, [attention_head_count(model) * size, shared, shared], dim=-1)


Splits = Callable[[FrozenModel, Tensor], tuple[Tensor, ...]]
FUSED: dict[str, Splits] = {  # projections that give queries, keys and values at once, by their names
    "c_attn": _thirds,  # GPT-2
    "Wqkv": _thirds,  # ModernBERT, MPT
    "query_key_value": _by_head,  # GPT-NeoX, Bloom
    "qkv_proj": _grouped,  # Phi-3
}


def _recorder(outputs: list[Tensor]) -> Callable[[nn.Module, object, Tensor], None]:
    return lambda _module, _args, output: outputs.append(output)
