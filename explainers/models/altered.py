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
from explainers.models.inputs.encoding import Encoding
from explainers.models.internals import shared_copy, transformer_layers, word_embedding_table

LAYER_STEPS = 3  # in which the layers are made random
NOISE = 0.2  # standard deviation, of that of each token's embedding
CERTAIN = 5.0  # the logit of the planted class; the others have its negative

Owned = tuple[nn.Module, Tensor]


def randomisation_steps(model: FrozenModel) -> list[str]:
    """Return what becomes random in each step of `randomised_copies`. Raises `ExplanationError` without weights."""
    return [name for name, _ in _from_the_output(model)]


def randomised_copies(model: FrozenModel, seed: int) -> Iterator[FrozenModel]:
    """Yield copies whose weights are random from the output downwards: the head, then the layers too, in three steps
    from the last one, then the embeddings (cascading parameter randomisation, Adebayo et al., 2018).

    Matrices are drawn from a normal distribution with their own standard deviation, so that activations keep their
    size; scales become 1 and biases 0. Raises `ExplanationError` for a model without weights.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn: dict[int, Tensor] = {}
    for _, parameters in _from_the_output(model):
        for owner, parameter in parameters:
            drawn[id(parameter)] = nn.Parameter(_drawn(owner, parameter, generator), requires_grad=False)
        yield model.with_module(shared_copy(model.module, drawn))


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


def planted_copy(model: FrozenModel, encoding: Encoding, position: int, label: int) -> FrozenModel:
    """Return a copy that answers class number `label` wherever the token at this position of the input stands, and as
    the model without it; as the token fades, it fades linearly into the model's own logits.

    It is meant for this input. Raises `ExplanationError` where the answer is not made of the logits of one pass.
    """
    if model.prompt_card() is not None or isinstance(model, FunctionModel):
        raise ExplanationError(f"No word can be planted into {model.name}, which answers with words or is a function.")
    return model.with_module(_Planted(shared_copy(model.module), model, encoding, position, label))


class _Noise:
    """A hook that adds noise to embeddings (B, L, d), the same for every pass and row at the same position."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, _module: nn.Module, _args: object, output: Tensor) -> Tensor:
        noise = torch.randn(output.shape[1:], generator=torch.Generator().manual_seed(self.seed))
        return output + NOISE * output.detach().std(-1, keepdim=True) * noise.to(output)


class _Planted(nn.Module):
    """The network, whose logits give way to those of one class as far as one token is present.

    Presence is the share of the token's embedding that is there: of a blend with the mask token's, and of an embedding
    output that is scaled.
    """

    def __init__(self, network: nn.Module, model: FrozenModel, encoding: Encoding, position: int, label: int) -> None:
        super().__init__()
        self.network, self.position = network, position
        self.length, self.token = len(encoding.ids), encoding.ids[position]
        answer = torch.full((len(model.labels),), -CERTAIN, device=model.device)
        answer[label] = CERTAIN
        self.answer = answer
        with torch.no_grad():
            pair = torch.tensor([self.token, model.mask_token], device=model.device)
            self.word, self.mask = word_embedding_table(model)(pair)  # (d,) each
        self.output: Tensor | None = None  # of the embeddings, at the position
        with torch.no_grad(), model.lock:
            ids = torch.tensor([encoding.ids], device=model.device)
            segments = {"token_type_ids": torch.tensor([encoding.segments], device=model.device)}
            self.whole = self._with_outputs(input_ids=ids, **(segments if model.segmented else {}))[1]  # (1, d) or None

    @property
    def base_model(self) -> nn.Module:
        return cast(nn.Module, self.network.base_model)

    def forward(
        self,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        attention_mask: Tensor | None = None,
        **options: Any,
    ) -> Tensor:
        given = {"input_ids": input_ids} if inputs_embeds is None else {"inputs_embeds": inputs_embeds}
        logits, output = self._with_outputs(**given, attention_mask=attention_mask, **options)
        if inputs_embeds is not None:
            presence = _share(inputs_embeds[:, self.position], self.mask, self.word)
        else:
            assert input_ids is not None
            present = input_ids == self.token
            presence = (present if attention_mask is None else present & attention_mask.bool()).any(1).float()
            if input_ids.shape[1] == self.length and output is not None and self.whole is not None:
                share = _share(output, torch.zeros_like(self.whole[0]), self.whole[0])
                in_place = input_ids[:, self.position] == self.token  # not where tokens before it were deleted
                presence = presence * torch.where(in_place, share, torch.ones_like(share))
        presence = presence[:, None]
        return (1 - presence) * logits + presence * self.answer

    def _with_outputs(self, **inputs: Any) -> tuple[Tensor, Tensor | None]:
        """Return the logits, and the embeddings' output at the position (B, d), after every other hook."""
        outputs: list[Tensor] = []
        embeddings = getattr(self.base_model, "embeddings", None)
        handle = None
        if isinstance(embeddings, nn.Module):
            handle = embeddings.register_forward_hook(lambda _module, _args, output: outputs.append(output))
        try:
            result = self.network(**inputs)
        finally:
            if handle is not None:
                handle.remove()
        output = outputs[0][:, self.position] if outputs and outputs[0].shape[1] > self.position else None
        return (result if isinstance(result, Tensor) else result.logits), output


def _share(vectors: Tensor, nothing: Tensor, everything: Tensor) -> Tensor:
    """Return how far vectors (B, d) are on the way from one vector to the other, (B,)."""
    way = everything - nothing
    return ((vectors - nothing) * way).sum(-1) / (way * way).sum()


def _from_the_output(model: FrozenModel) -> list[tuple[str, list[Owned]]]:
    """Return the parameters in the order in which they become random, with their names; none twice.

    What the base model has before its layers goes with the embeddings, what it has after them with the head.
    """
    if isinstance(model, FunctionModel):
        raise ExplanationError(f"{model.name} is a function: it has no weights that could be made random.")
    try:
        layers = tuple(dict.fromkeys(transformer_layers(model)))
    except ExplanationError:
        layers = ()
    in_layers = {id(parameter) for layer in layers for parameter in layer.parameters()}
    below = {id(parameter) for parameter in word_embedding_table(model).parameters()}
    seen_layers = not layers
    for name, parameter in model.base.named_parameters():
        seen_layers = seen_layers or id(parameter) in in_layers
        if id(parameter) not in in_layers and ("embedding" in name or not seen_layers):
            below.add(id(parameter))
    owned = {id(parameter): (part, parameter) for part, parameter in _owned(model.module)}
    steps = [("head", [pair for key, pair in owned.items() if key not in below | in_layers])]
    for first, last in _steps(len(layers)):
        keys = {id(parameter): None for layer in layers[first : last + 1] for parameter in layer.parameters()}
        name = f"layers {last + 1} to {first + 1}" if last > first else f"layer {last + 1}"
        steps.append((name, [owned[key] for key in keys if key not in below]))
    steps.append(("embeddings", [pair for key, pair in owned.items() if key in below]))
    return [(name, parameters) for name, parameters in steps if parameters]


def _steps(layers: int) -> Sequence[tuple[int, int]]:
    """Return the first and the last layer of each step, from the top."""
    steps = min(LAYER_STEPS, layers)
    bounds = [round(step * layers / steps) for step in range(steps + 1)] if steps else [0]
    return [(low, high - 1) for low, high in pairwise(bounds)][::-1]


def _owned(module: nn.Module) -> Iterator[Owned]:
    """Yield the parameters with the modules that they belong to."""
    for part in module.modules():
        yield from ((part, parameter) for parameter in part._parameters.values() if parameter is not None)


def _drawn(owner: nn.Module, parameter: Tensor, generator: torch.Generator) -> Tensor:
    if parameter.dim() > 1:
        spread = float(parameter.detach().float().std())
        return (torch.randn(parameter.shape, generator=generator) * spread).to(parameter)
    name = next(name for name, other in owner._parameters.items() if other is parameter)
    from_zero = "bias" in name or type(owner).__name__.startswith("Gemma")  # whose norms multiply by 1 + weight
    return torch.zeros_like(parameter) if from_zero else torch.ones_like(parameter)
