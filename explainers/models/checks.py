"""Which networks can be explained, each in the form of an encoder classifier, and what is checked of every model before
anybody gets it."""

from typing import Any, cast

import torch
from torch import nn

from explainers.datasets.example import Example
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.models.decoder import DecoderBase, decoder_classifier, is_decoder
from explainers.models.encoder_decoder import EncoderBase, encoder_decoder_classifier, is_encoder_decoder
from explainers.models.foreign import classes, file_checks, opened_tokenizer
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import ERASURES, Tokens

REFUSED = {  # by the library's model_type
    "bigbird_pegasus": "which tokens attend to which depends on the length of the text and on random numbers",
    "longformer": "it attends within windows and fills every text up to whole ones, so its layers have states that "
    "belong to no token of the text",
    "xlnet": "it expects padding in front of a text, and its layers order their states otherwise than those of all "
    "other models",
}
ENCODERS = "Choose an encoder such as BERT, RoBERTa or DeBERTa."
DECODERS = "Choose a decoder such as GPT-2, Llama or Qwen."
TRIALS = (Example("A test."), Example("A test.", "Another one."))


def explainable(name: str, network: Any, tokens: Tokens) -> nn.Module:
    """Return an encoder classifier of the library as it is, and others in our form; `tokens` are those of a text.

    Raises `ModelUnavailable` for other architectures.
    """
    base, kind = getattr(network, "base_model", None), network.config.model_type
    if kind in REFUSED:
        raise ModelUnavailable(
            f"{name!r} cannot be explained here: {REFUSED[kind]}. Choose an encoder such as BERT, RoBERTa or DeBERTa."
        )
    if is_decoder(network):
        return decoder_classifier(name, network)
    if is_encoder_decoder(network):
        return encoder_decoder_classifier(name, network, tokens)
    if network.config.is_encoder_decoder or not isinstance(getattr(base, "embeddings", None), nn.Module):
        raise ModelUnavailable(
            f"{name!r} is neither an encoder such as BERT, RoBERTa or DeBERTa nor a decoder such as GPT-2 or Llama "
            "with a linear head nor an encoder-decoder such as BART or T5 with a classification head; only these can "
            "be explained here."
        )
    return cast(nn.Module, network)


def in_our_form(network: nn.Module) -> bool:
    """Return whether it is a decoder or an encoder-decoder: these know one kind of text, and some no mask token."""
    return isinstance(network.base_model, DecoderBase | EncoderBase)


def erasing_token(name: str, mask: int | None, unknown: int | None, end: int | None) -> tuple[int, str]:
    """Return the id that replaces an erased token, and what it is where it is no mask token."""
    for token, kind in ((mask, ""), (unknown, "unknown token"), (end, "end-of-text token")):
        if token is not None:
            return token, kind
    raise ModelUnavailable(f"{name!r} has neither a mask token nor an unknown token to replace erased words.")


def readable_tokens(config: Any, most: int = opened_tokenizer.MAX_TOKENS) -> int:
    """How many tokens fit, less the two that RoBERTa's numbering loses and one that AML adds.

    Models without a limit have no such setting, or -1: `most`.
    """
    positions = getattr(config, "max_position_embeddings", None)
    return positions - 3 if isinstance(positions, int) and positions > 3 else most


def _network_name(module: nn.Module) -> str:
    return type(module.classifier if isinstance(module, classes.SingleLogit) else module).__name__


def trials(model: FrozenModel) -> tuple[Example, ...]:
    """The inputs that a model must answer: of the kind it reads, or of both kinds where it may read either."""
    if len(model.input_names) == 2:
        return TRIALS[1:]
    return TRIALS if model.segmented else TRIALS[:1]


def check_answers(model: FrozenModel) -> None:
    """The model answers a text, and a pair if it reads them, with its internals and a gradient.

    Raises `ModelUnavailable` if it does not, as architectures with attention of their own.
    """
    try:
        for example in trials(model):
            encoding = model.encode(example)
            if not encoding.units:
                raise ModelUnavailable(f"The tokenizer of {model.name!r} finds no words in {example.text!r}.")
            keeps = torch.ones(1, len(encoding.units), requires_grad=True)
            model.probabilities(encoding, keeps.detach().numpy())
            for erasure in ERASURES:
                torch.autograd.grad(model.soft(encoding, keeps, erasure).sum(), keeps)
        tokens = len(encoding.ids)
        if any(layer.shape[1:] != (tokens, tokens) for layer in model.states(encoding).attentions):
            raise ValueError("not every token attends to every token")
    except ExplanationError:
        raise
    except Exception as error:
        advice = DECODERS if model.last_token else ENCODERS
        raise ModelUnavailable(
            f"{model.name!r} cannot be explained here: its network ({_network_name(model.module)}) does not answer "
            f"inputs with masked words ({file_checks.first_sentence(error).rstrip('.')}). {advice}"
        ) from error
