"""Copies of a model that are altered on purpose, so that explanations can be checked against what was done to it.

The copies share with the model every tensor that is not altered. What they answer has no meaning of its own.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.function_model import FunctionModel
from explainers.models.internals import shared_copy, transformer_layers, word_embedding_table

LAYER_STEPS = 3  # in which the layers are made random
NOISE = 0.2  # standard deviation, of that of the embeddings
LEAST_COSINE = 0.5  # between a token and the planted one, below which it counts nothing
CERTAIN = 5.0  # the logit of the planted class; the others have its negative


def randomised_copies(model: FrozenModel, seed: int) -> Iterator[tuple[str, FrozenModel]]:
    """Yield copies whose weights are random from the output downwards, each with what became random last: the head,
    the layers in three steps from the last one, the embeddings (cascading randomisation, Adebayo et al., 2018).

    Matrices are drawn from a normal distribution with their own standard deviation, so that activations keep their
    size; scales become 1 and biases 0. Raises `ExplanationError` for a model without weights.
    """
    if isinstance(model, FunctionModel):
        raise ExplanationError(f"{model.name} is a function: it has no weights that could be made random.")
    generator = torch.Generator().manual_seed(seed)
    drawn: dict[int, Tensor] = {}
    for name, parameters in _from_the_output(model):
        for owner, parameter in parameters:
            drawn[id(parameter)] = nn.Parameter(_drawn(owner, parameter, generator), requires_grad=False)
        yield name, model.with_module(shared_copy(model.module, drawn))


def noisy_copies(model: FrozenModel, number: int, seed: int) -> tuple[FrozenModel, ...]:
    """Return copies that add fixed noise to the embeddings of every input, by position: explanations that are averaged
    over them are smooth (Smilkov et al., 2017), without the noise of single gradients (Hedström et al., 2024)."""
    copies = []
    for draw in range(number):
        other = model.with_module(shared_copy(model.module))
        embeddings = getattr(other.base, "embeddings", None)
        if not isinstance(embeddings, nn.Module):
            raise ExplanationError(f"{model.name} has no embedding layer to which noise could be added.")
        embeddings.register_forward_hook(_Noise(seed + draw))
        copies.append(other)
    return tuple(copies)


def planted_copy(model: FrozenModel, token: int, label: int) -> FrozenModel:
    """Return a copy that answers class number `label` wherever the token is, and as the model without it.

    Raises `ExplanationError` where the answer is not made of the logits of one pass.
    """
    if model.prompt_card() is not None or isinstance(model, FunctionModel):
        raise ExplanationError(f"No word can be planted into {model.name}, which answers with words or is a function.")
    return model.with_module(_Planted(shared_copy(model.module), model, token, label))


class _Noise:
    """A hook that adds noise to embeddings (B, L, d), the same for every pass and row at the same position."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, _module: nn.Module, _args: object, output: Tensor) -> Tensor:
        noise = torch.randn(output.shape[1:], generator=torch.Generator().manual_seed(self.seed))
        return output + NOISE * output.detach().std() * noise.to(output)


class _Planted(nn.Module):
    """The network, whose logits give way to those of one class as far as a token is like the planted one."""

    def __init__(self, network: nn.Module, model: FrozenModel, token: int, label: int) -> None:
        super().__init__()
        self.network = network
        table = cast(nn.Module, cast(Any, network.base_model).get_input_embeddings())
        with torch.no_grad():
            self.planted: Tensor = table(torch.tensor(token, device=model.device))  # (d,)
        answer = torch.full((len(model.labels),), -CERTAIN, device=model.device)
        answer[label] = CERTAIN
        self.answer = answer

    @property
    def base_model(self) -> nn.Module:
        return cast(nn.Module, self.network.base_model)

    def forward(self, input_ids: Tensor | None = None, inputs_embeds: Tensor | None = None, **options: Any) -> Tensor:
        given = {"input_ids": input_ids} if inputs_embeds is None else {"inputs_embeds": inputs_embeds}
        output = self.network(**given, **options)
        logits = output if isinstance(output, Tensor) else output.logits
        table = cast(nn.Module, cast(Any, self.base_model).get_input_embeddings())
        words = table(input_ids) if inputs_embeds is None else inputs_embeds  # (B, L, d)
        cosine = nn.functional.cosine_similarity(words, self.planted, dim=-1)
        likeness = ((cosine - LEAST_COSINE) / (1 - LEAST_COSINE)).clamp(0, 1).amax(1, keepdim=True)
        answer: Tensor = (1 - likeness) * logits + likeness * self.answer
        return answer


Owned = tuple[nn.Module, Tensor]


def _from_the_output(model: FrozenModel) -> Iterator[tuple[str, list[Owned]]]:
    """Yield the parameters in the order in which they become random, with their names; none twice."""
    embeddings = [model.base.embeddings] if isinstance(getattr(model.base, "embeddings", None), nn.Module) else []
    embeddings.append(word_embedding_table(model))
    kept = {id(parameter) for module in embeddings for parameter in cast(nn.Module, module).parameters()}
    try:
        layers = tuple(dict.fromkeys(transformer_layers(model)))
    except ExplanationError:
        layers = ()
    inside = {id(parameter) for layer in layers for parameter in layer.parameters()}
    head = [pair for pair in _owned(model.module) if id(pair[1]) not in kept | inside]
    if head:
        yield "head", head
    for first, last in _steps(len(layers)):
        name = f"layers {last + 1} to {first + 1}" if last > first else f"layer {last + 1}"
        some = [pair for layer in layers[first : last + 1] for pair in _owned(layer) if id(pair[1]) not in kept]
        yield name, some
    yield "embeddings", [pair for module in embeddings for pair in _owned(cast(nn.Module, module))]


def _steps(layers: int) -> Sequence[tuple[int, int]]:
    """Return the first and the last layer of each step, from the top."""
    steps = min(LAYER_STEPS, layers)
    bounds = [round(step * layers / steps) for step in range(steps + 1)] if steps else [0]
    return [(low, high - 1) for low, high in pairwise(bounds)][::-1]


def _owned(module: nn.Module) -> list[Owned]:
    """Return the parameters with the modules that they belong to."""
    return [
        (part, parameter)
        for part in module.modules()
        for parameter in part._parameters.values()
        if parameter is not None
    ]


def _drawn(owner: nn.Module, parameter: Tensor, generator: torch.Generator) -> Tensor:
    if parameter.dim() > 1:
        spread = float(parameter.detach().float().std())
        return (torch.randn(parameter.shape, generator=generator) * spread).to(parameter)
    is_bias = any(name.startswith("bias") and other is parameter for name, other in owner._parameters.items())
    return torch.zeros_like(parameter) if is_bias else torch.ones_like(parameter)
