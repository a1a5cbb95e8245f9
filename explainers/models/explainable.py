"""The networks that can be explained, each in the form of an encoder classifier."""

from typing import Any, cast

from torch import nn

from explainers.errors import ModelUnavailable
from explainers.models.decoder import DecoderBase, decoder_classifier, is_decoder
from explainers.models.encoder_decoder import EncoderBase, encoder_decoder_classifier, is_encoder_decoder
from explainers.models.inputs.encoding import Tokens

REFUSED = {  # by the library's model_type
    "bigbird_pegasus": "which tokens attend to which depends on the length of the text and on random numbers",
    "longformer": "it attends within windows and fills every text up to whole ones, so its layers have states that "
    "belong to no token of the text",
    "xlnet": "it expects padding in front of a text, and its layers order their states otherwise than those of all "
    "other models",
}


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
