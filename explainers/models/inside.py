"""Running a frozen classifier from the inside: what its layers say, and what it says when one of them is replaced.

The learned methods need more than `probabilities` and `soft`: batches of different texts, gradients with respect to
the words' embeddings, and answers to altered states. Hooks hang only during the call; nothing of the model is trained.
"""

import copy
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Encoding
from explainers.models.padded import Padded, padded

QUERIES, KEYS = ("query", "q_lin", "query_proj"), ("key", "k_lin", "key_proj")


@dataclass(frozen=True)
class Inside:
    """What one pass showed, with its gradient where the inputs had one."""

    logits: Tensor  # (B, C)
    hidden: tuple[Tensor, ...]  # embedding output, then every layer's output: (B, L, d) each
    queries: tuple[Tensor, ...]  # per layer (B, L, d), before they are cut into heads
    keys: tuple[Tensor, ...]  # per layer (B, L, d)

    def probabilities(self, model: FrozenModel) -> Tensor:
        """(B, C)."""
        return self.logits.sigmoid() if model.multi_label else self.logits.softmax(-1)


def layers(model: FrozenModel) -> tuple[nn.Module, ...]:
    """The Transformer's layers, from the bottom."""
    for name, module in model.base.named_modules():
        if isinstance(module, nn.ModuleList) and name.rpartition(".")[2] in ("layer", "layers"):
            return tuple(module)
    raise ExplanationError(f"{model.name} has no list of layers that could be read; this method needs it.")


def heads(model: FrozenModel) -> int:
    """Attention heads per layer."""
    return _setting(model, "num_attention_heads", "n_heads")


def width(model: FrozenModel) -> int:
    """d, the size of a hidden state."""
    return _setting(model, "hidden_size", "dim")


def table(model: FrozenModel) -> nn.Module:
    """The word embeddings."""
    return cast(nn.Module, model.base.get_input_embeddings())  # type: ignore[operator]


def words(model: FrozenModel, batch: Padded) -> tuple[Tensor, Tensor]:
    """What stands in each place (B, L, d) and in an erased word's or patch's place, (d,) or (B, L, d), before position
    and LayerNorm."""
    with torch.no_grad():
        filler = table(model)(torch.tensor(model.filler, device=model.device))
        return batch.looking(table(model)(batch.ids), filler)


def run(
    model: FrozenModel,
    batch: Padded,
    *,
    embeds: Tensor | None = None,
    embedded: Tensor | None = None,
    scale: Tensor | None = None,
    instead: tuple[int, Tensor] | None = None,
) -> Inside:
    """One pass over the batch, with the gradient of what is given.

    `embeds` (B, L, d) takes the place of the word embeddings, `embedded` (B, L, d) that of the embedding output after
    LayerNorm; `scale` (B, L) multiplies the latter; `instead` = (k, states) takes the place of layer k's output (k = 1
    is the first layer). Without any of them the pass has no gradient.
    """
    found: dict[str, list[Tensor]] = {"hidden": [], "queries": [], "keys": []}
    stack = layers(model)
    embeddings = cast(nn.Module, model.base.embeddings)
    factor = _factor(batch, scale)

    def after_embeddings(_module: nn.Module, _args: object, output: Tensor) -> Tensor:
        changed = output if embedded is None else embedded
        changed = changed if factor is None else changed * factor[:, :, None]
        found["hidden"].append(changed)
        return changed

    def after_layer(number: int) -> Callable[[nn.Module, object, object], object]:
        def hook(_module: nn.Module, _args: object, output: object) -> object:
            state = cast(Tensor, output[0] if isinstance(output, tuple) else output)
            if instead is not None and instead[0] == number:
                state = instead[1]
            found["hidden"].append(state)
            return (state, *output[1:]) if isinstance(output, tuple) else state

        return hook

    with ExitStack() as hooks:
        hooks.enter_context(model.lock)
        hooks.enter_context(model.meter.batch(batch.rows))
        if all(given is None for given in (embeds, embedded, scale, instead)):
            hooks.enter_context(torch.no_grad())
        hooks.callback(embeddings.register_forward_hook(after_embeddings).remove)
        for number, layer in enumerate(stack, start=1):
            hooks.callback(layer.register_forward_hook(after_layer(number)).remove)
            for names, kind in ((QUERIES, "queries"), (KEYS, "keys")):
                for part in _named(layer, names):
                    hooks.callback(part.register_forward_hook(_recorder(found[kind])).remove)
        if embeds is None and bool(batch.at.any()):
            embeds = words(model, batch)[0]
        inputs = {"input_ids": batch.ids} if embeds is None else {"inputs_embeds": embeds}
        segments = {"token_type_ids": batch.segments} if model.segmented else {}
        answer = model.module(attention_mask=batch.attention.long(), **inputs, **segments)
    logits = cast(Tensor, answer if isinstance(answer, Tensor) else answer.logits)
    return Inside(logits, tuple(found["hidden"]), tuple(found["queries"]), tuple(found["keys"]))


def blended(model: FrozenModel, batch: Padded, mask: Tensor, filler: Tensor | None = None) -> Inside:
    """The pass in which every unit is kept by its share: m·e + (1-m)·e_[MASK] on word embeddings; mask (B, U).

    `filler` (d,) or (B, L, d) takes the place of the mask token's embedding.
    """
    kept = batch.spread(mask)[:, :, None]  # (B, L, 1)
    found, default = words(model, batch)
    return run(model, batch, embeds=kept * found + (1 - kept) * (default if filler is None else filler))


def twin(module: nn.Module) -> nn.Module:
    """A copy that shares every parameter and buffer with `module` but no hook: cheap, and safe to take apart."""
    shared = {id(tensor): tensor for tensor in (*module.parameters(), *module.buffers())}
    copied = copy.deepcopy(module, shared)
    for part in copied.modules():  # another thread may be inside `run`: its hooks must not come along
        part._forward_hooks.clear()
        part._forward_pre_hooks.clear()
    return copied


def _setting(model: FrozenModel, *names: str) -> int:
    """A number of the architecture, which families call by different names."""
    config = model.base.config
    return int(next(value for name in names if isinstance(value := getattr(config, name, None), int)))


def _factor(batch: Padded, scale: Tensor | None) -> Tensor | None:
    """(B, L) to multiply the embedding output with; words that a person has zeroed stay zero."""
    if scale is None:
        return None if bool(batch.present.all()) else batch.present.float()
    return scale * batch.present


def _named(layer: nn.Module, names: tuple[str, ...]) -> list[nn.Module]:
    return [part for name, part in layer.named_modules() if name.rpartition(".")[2] in names]


def _recorder(outputs: list[Tensor]) -> Callable[[nn.Module, object, Tensor], None]:
    return lambda _module, _args, output: outputs.append(output)


def head(model: FrozenModel) -> nn.Sequential:
    """f_h: the linear layers, with ReLU between them, that read the class from one vector. Raises if it has none."""
    found = getattr(model.module, "head", None)
    if not isinstance(found, nn.Sequential):
        raise ExplanationError(
            f"{model.name} has no head of several layers in which neurons could be exchanged. "
            "Sentences can be made for the embedded models and for others of their architecture."
        )
    return found


def head_reads(model: FrozenModel, encodings: Sequence[Encoding]) -> tuple[Tensor, Tensor]:
    """c of each input, (B, d), and the logits (B, C); no gradient."""
    if all(each.canvas is None for each in encodings):
        return pooled(model, padded(encodings, model.padding, model.device))
    from explainers.models.multimodal.model import MultimodalModel
    from explainers.models.multimodal.whole import vectors

    head(model)  # says what is missing where there is none
    return vectors(cast(MultimodalModel, model), encodings)


def pooled(model: FrozenModel, batch: Padded) -> tuple[Tensor, Tensor]:
    """c, the vector that the head reads, (B, d), and the logits (B, C); no gradient."""
    inputs: list[Tensor] = []
    with model.lock:
        handle = head(model).register_forward_pre_hook(lambda _module, args: inputs.append(args[0]))
        try:
            logits = run(model, batch).logits
        finally:
            handle.remove()
    return inputs[-1], logits
