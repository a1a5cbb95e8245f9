"""Decoders with a classification head (GPT-2, Llama, Mistral, Qwen, Gemma, Phi …) in the form of an encoder classifier.

The class is read from the last token that is attended to. The library finds it by comparing ids with the padding token;
here the attention mask says which it is, so that an erased word that became the end-of-text token is not taken for
padding, and embeddings can be given in place of ids.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from explainers.errors import ModelUnavailable

TOLERANCE = 1e-3  # between the library's logits and ours, for the same ids


class DecoderBase(nn.Module):
    """The decoder below its head. `embeddings` passes the word embeddings on, for hooks to read and to replace.

    They come before what the architecture adds to them inside, such as positions or a factor.
    """

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        self.embeddings = nn.Identity()

    @property
    def config(self) -> Any:
        return self.network.config

    def get_input_embeddings(self) -> nn.Module:
        return cast(nn.Module, self.network.get_input_embeddings())

    def forward(self, input_ids: Tensor | None = None, inputs_embeds: Tensor | None = None, **options: Any) -> Any:
        """Return the library's output for ids (B, L) or embeddings (B, L, d)."""
        return self.network(inputs_embeds=self.embedded(input_ids, inputs_embeds), use_cache=False, **options)

    def embedded(self, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> Tensor:
        """Return what the network reads for ids (B, L) or embeddings (B, L, d), after the hooks on `embeddings`."""
        embeds = self.get_input_embeddings()(input_ids) if inputs_embeds is None else inputs_embeds
        return cast(Tensor, self.embeddings(embeds))

    def continued(self, input_ids: Tensor, attention: Tensor | None, past: Any) -> Tensor:
        """Return the states (B, L, d) of ids (B, L) after what is in the library's cache `past`, which then holds them
        too; `attention` (B, P + L) is over both."""
        output = self.network(input_ids=input_ids, attention_mask=attention, past_key_values=past, use_cache=True)
        return cast(Tensor, output.last_hidden_state)


class DecoderClassifier(nn.Module):
    """Gives logits (B, C), read by the linear `score` from the last attended token of each row; padding is right."""

    def __init__(self, base: nn.Module, score: nn.Module) -> None:
        super().__init__()
        self.decoder, self.score = DecoderBase(base), score

    @property
    def base_model(self) -> DecoderBase:
        return self.decoder

    def forward(
        self,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """Return logits (B, C) for ids (B, L) or embeddings (B, L, d)."""
        output = self.decoder(input_ids=input_ids, inputs_embeds=inputs_embeds, attention_mask=attention_mask)
        return self.classified(output.last_hidden_state, attention_mask)

    def classified(self, states: Tensor, attention: Tensor | None) -> SequenceClassifierOutput:
        """Return logits (B, C) for states (B, L, d), read where `attention` (B, L) ends."""
        if attention is None:
            return SequenceClassifierOutput(logits=self.score(states[:, -1]))
        last = attention.long().sum(dim=1).clamp(min=1) - 1  # (B,)
        rows = torch.arange(len(states), device=states.device)
        return SequenceClassifierOutput(logits=self.score(states[rows, last]))


def is_decoder(network: object) -> bool:
    """Return whether it is a decoder with one linear layer that reads the class."""
    config, base = getattr(network, "config", None), getattr(network, "base_model", None)
    return (
        isinstance(getattr(network, "score", None), nn.Linear)
        and isinstance(base, nn.Module)
        and base is not network
        and not isinstance(getattr(base, "embeddings", None), nn.Module)
        and not getattr(config, "is_encoder_decoder", False)
    )


def decoder_classifier(name: str, network: Any) -> DecoderClassifier:
    """Return the network in our form, after both have answered the same. Raises `ModelUnavailable` if they differ."""
    wrapped = DecoderClassifier(network.base_model, network.score)
    vocabulary = cast(Any, wrapped.decoder.get_input_embeddings()).weight.shape[0]
    padding = network.config.pad_token_id
    ids = [number for number in range(1, min(vocabulary, 8)) if number != padding]
    rows = torch.tensor([ids], device=next(network.parameters()).device)
    if not largest_difference(network, wrapped, rows) <= TOLERANCE:  # also where one is NaN
        raise unknown_head(name, network)
    return wrapped


def largest_difference(network: Any, wrapped: nn.Module, rows: Tensor) -> float:
    """Return how far the logits z of the library's network and of our form of it are apart, for ids (B, L): the
    largest |z - ours| / (1 + |ours|)."""
    was_training = network.training
    network.eval()
    wrapped.eval()
    with torch.inference_mode():
        theirs, ours = network(input_ids=rows).logits, wrapped(input_ids=rows).logits
    network.train(was_training)
    return float(((theirs - ours).abs() / (1 + ours.abs())).max())


def unknown_head(name: str, network: object) -> ModelUnavailable:
    return ModelUnavailable(
        f"{name!r} reads its class in a way that is not known here ({type(network).__name__}), so it cannot be "
        "explained."
    )
