"""DeepLIFT's multipliers in place of derivatives, for everything that one thread computes within a block.

The rows of a batch are pairs: the first half are inputs, the second half their baselines. Within the block a function
of what is differentiated has its own value and, as its derivative at the inputs, the multiplier between the two rows.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

CLOSE, CLOSE_TO_ZERO = 1e-4, 1e-6  # relative and absolute: the difference of inputs so near to each other is noise
CLOSE_LOGARITHMS = 1e-2  # probabilities so near to each other have their plain mean
ELEMENTWISE = frozenset(
    (
        *("celu", "elu", "gelu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_sigmoid", "mish", "relu"),
        *("relu6", "selu", "sigmoid", "silu", "softplus", "softsign", "tanh", "tanhshrink"),
        *("abs", "clamp", "clamp_max", "clamp_min", "erf", "exp", "log", "log1p", "pow", "reciprocal", "rsqrt", "sqrt"),
        *("square", "__rpow__"),
    )
)
PRODUCTS = ("mul", "multiply", "matmul", "bmm")

Function = Callable[..., Tensor]


class Multipliers(TorchFunctionMode):
    """A block of multipliers. Other threads, and what has no gradient, are as they were."""

    root: tuple[Tensor, Tensor] | None = None  # the last 1 / √v and √v

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = {name: value for name, value in (kwargs or {}).items() if name != "inplace"}
        name, depends = getattr(func, "__name__", ""), [_depends(value) for value in args[:2]]
        if name in PRODUCTS and depends == [True, True]:
            if self.root is not None and args[1] is self.root[0]:  # a root-mean-square norm
                return quotient(args[0], self.root[1])
            return product(func, *args)
        if name in ELEMENTWISE and depends in ([True], [True, False]):
            result = elementwise(lambda inputs: func(inputs, *args[1:], **named), args[0])
            self.root = (result, elementwise(torch.sqrt, args[0])) if name == "rsqrt" else self.root
            return result
        if name == "div" and depends[1:] == [True] and not named:
            return quotient(*args)
        if name == "__rdiv__" and depends[0]:
            return quotient(args[1], args[0])
        if name == "softmax" and depends[:1] == [True]:
            return softmax(func, *args, **named)
        if name == "log_softmax" and depends[:1] == [True]:
            return softmax(func, *args, logarithms=True, **named)
        if name == "layer_norm" and depends[:1] == [True]:
            return layer_norm(*args, **named)
        return func(*args, **(kwargs or {}))


def elementwise(function: Function, inputs: Tensor) -> Tensor:
    """Return f(x) with the slope Δf / Δx, and with its derivative where x and its baseline are nearly the same."""
    values = function(inputs)
    (one, other), (after, before) = _ends(inputs), _ends(values)
    close = torch.isclose(one, other, rtol=CLOSE, atol=CLOSE_TO_ZERO)
    slopes = (after - before) / (one - other).where(~close, 1)
    return values.where(_twice(close), _with_gradient(values, _twice(slopes) * inputs))


def product(function: Function, first: Tensor, second: Tensor) -> Tensor:
    """Return u·v so that Δ(u·v) = v̄·Δu + ū·Δv, with the means of both ends."""
    return _with_gradient(function(first, second), function(first, _mean(second)) + function(_mean(first), second))


def quotient(first: Any, second: Tensor) -> Tensor:
    """Return q = u / v so that Δu = v̄·Δq + q̄·Δv, as for the product u = q·v; u may be constant. Where v̄ is about 0 the
    derivative stays."""
    values: Tensor = first / second
    mean = _mean(second)
    crossing = mean.abs() <= CLOSE_TO_ZERO * second.detach().abs()
    line = (first - _mean(values) * second) / mean.where(~crossing, 1)
    return values.where(crossing, _with_gradient(values, line))


def softmax(function: Function, inputs: Tensor, *dims: int, logarithms: bool = False, **named: Any) -> Tensor:
    """Return p = softmax(z) so that Δp_i = λ_i (Δz_i - Σ_j λ_j Δz_j / Σ_j λ_j) with λ_i = Δp_i / Δ log p_i; or, with
    `logarithms`, log p so that Δ log p_i = Δz_i - Σ_j λ_j Δz_j / Σ_j λ_j."""
    values, (dim, *_) = function(inputs, *dims, **named), (*dims, named.get("dim"))
    logs = inputs.detach().log_softmax(dim, named.get("dtype"))  # finite also where p is too small for a number
    (after, before), (one, other) = _ends(logs.exp()), _ends(logs)
    rises = one - other
    apart = rises.abs() > CLOSE_LOGARITHMS  # not where both are -∞, of which the difference is none
    means = _twice(((after - before) / rises.where(apart, 1)).where(apart, (after + before) / 2))  # λ
    finite = inputs.where(logs > -torch.inf, 0)  # what is not attended to may be -∞
    weighted = (means * finite).sum(dim, keepdim=True) / means.sum(dim, keepdim=True)
    line = finite - weighted
    return _with_gradient(values, line if logarithms else means * line)


def layer_norm(
    inputs: Tensor, shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Return the layer norm over the last dimensions, as a square, a root and a quotient."""
    dims = tuple(range(-len(shape), 0))
    centred = inputs - inputs.mean(dims, keepdim=True)
    variance = elementwise(torch.square, centred).mean(dims, keepdim=True)
    line = quotient(centred, elementwise(torch.sqrt, variance + eps))
    values = functional.layer_norm(inputs, shape, weight, bias, eps)
    return _with_gradient(values, line if weight is None else line * weight)


def _depends(value: object) -> bool:
    """Return whether it depends on what is differentiated, and its rows are pairs."""
    return isinstance(value, Tensor) and value.requires_grad and value.dim() > 0 and len(value) % 2 == 0


def _ends(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """The inputs' half and the baselines' half, (B / 2, …) each."""
    one, other = tensor.detach().chunk(2)
    return one, other


def _mean(tensor: Tensor) -> Tensor:
    """The mean of both ends in the place of each, (B, …)."""
    one, other = _ends(tensor)
    return _twice((one + other) / 2)


def _twice(half: Tensor) -> Tensor:
    return torch.cat([half, half])


def _with_gradient(values: Tensor, line: Tensor) -> Tensor:
    """The values with the gradient of the line."""
    return values.detach() + (line - line.detach())
