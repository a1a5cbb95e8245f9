"""Encoders with a decoder and a classification head (BART, mBART, T5, UMT5 …) in the form of an encoder classifier.

The library gives the decoder the encoder's ids, shifted right by one, and reads the class from the decoder's state at
the last end-of-text token, which it looks for among the ids. Here the decoder gets the encoder's word embeddings,
shifted alike, so that what is masked in one is masked in the other, also where there are embeddings and no ids. The
place of the class is known from the tokenizer: so many tokens before the last one that is attended to. All of these
stand behind the words and are never erased.

What is read of the layers inside is the encoder's, whose states stand for the words in their places; the decoder counts
as a part of the head.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from explainers.errors import ModelUnavailable
from explainers.models.decoder import TOLERANCE, largest_difference, unknown_head
from explainers.models.foreign.file_checks import first_sentence
from explainers.models.inputs.encoding import Tokens


class EncoderBase(nn.Module):
    """The encoder and the word embeddings. `embeddings` passes these on, for hooks to read and to replace.

    They come before what the architecture adds to them inside, such as positions.
    """

    def __init__(self, encoder: Any, words: nn.Module) -> None:
        super().__init__()
        self.network, self.words = encoder, words
        self.embeddings = nn.Identity()

    @property
    def config(self) -> Any:
        return self.network.config

    def get_input_embeddings(self) -> nn.Module:
        return self.words

    def embedded(self, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> Tensor:
        """Return the word embeddings (B, L, d) of ids (B, L), or those given."""
        return cast(Tensor, self.embeddings(self.words(input_ids) if inputs_embeds is None else inputs_embeds))

    def encoded(self, embeds: Tensor, **options: Any) -> Any:
        """Return the library's output for what `embedded` returns."""
        return self.network(inputs_embeds=embeds, **options)

    def forward(self, input_ids: Tensor | None = None, inputs_embeds: Tensor | None = None, **options: Any) -> Any:
        """Return the library's output for ids (B, L) or embeddings (B, L, d)."""
        return self.encoded(self.embedded(input_ids, inputs_embeds), **options)


class EncoderDecoderClassifier(nn.Module):
    """Gives logits (B, C); padding is right.

    The decoder begins with the token `start`, or, if it is None, with the last token of the text as mBART does. The
    class is read `behind` tokens before that one.
    """

    def __init__(self, network: Any, start: int | None, behind: int) -> None:
        super().__init__()
        base = network.base_model
        self.encoder = EncoderBase(base.encoder, base.get_input_embeddings())
        self.decoder, self.classification_head = base.decoder, network.classification_head
        self.start, self.behind = start, behind

    @property
    def base_model(self) -> EncoderBase:
        return self.encoder

    def forward(
        self,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """Return logits (B, C) for ids (B, L) or embeddings (B, L, d)."""
        embeds = self.encoder.embedded(input_ids, inputs_embeds)
        attention = torch.ones(embeds.shape[:2], device=embeds.device) if attention_mask is None else attention_mask
        encoded = self.encoder.encoded(embeds, attention_mask=attention).last_hidden_state
        rows, last = torch.arange(len(embeds), device=embeds.device), attention.long().sum(dim=1) - 1  # (B,) each
        states = self.decoder(
            inputs_embeds=torch.cat([self._first(embeds, rows, last)[:, None], embeds[:, :-1]], dim=1),
            encoder_hidden_states=encoded,
            encoder_attention_mask=attention,
            use_cache=False,
        ).last_hidden_state  # (B, L, d); no state sees the padding, which comes behind it
        return SequenceClassifierOutput(logits=self.classification_head(states[rows, last - self.behind]))

    def _first(self, embeds: Tensor, rows: Tensor, last: Tensor) -> Tensor:
        """Return the embedding with which the decoder begins, (B, d)."""
        if self.start is None:
            return embeds[rows, last]
        start = torch.tensor(self.start, device=embeds.device)
        return cast(Tensor, self.encoder.words(start)).expand(len(embeds), -1)


def is_encoder_decoder(network: Any) -> bool:
    """Return whether it is an encoder with a decoder and a head that reads the class from one of its states."""
    base, head = getattr(network, "base_model", None), getattr(network, "classification_head", None)
    parts = (head, getattr(base, "encoder", None), getattr(base, "decoder", None))
    return bool(network.config.is_encoder_decoder) and all(isinstance(part, nn.Module) for part in parts)


def encoder_decoder_classifier(name: str, network: Any, tokens: Tokens) -> EncoderDecoderClassifier:
    """Return the network in our form, after both have answered the same to a text, of which these are the tokens.

    Raises `ModelUnavailable` if they differ, or if the text does not end with the token at which the class is read.
    """
    end = network.config.eos_token_id
    behind = list(reversed(tokens.ids)).index(end) if end in tokens.ids else len(tokens.ids)
    if any(number is not None for number in tokens.sequence_ids[-behind - 1 :]):
        raise ModelUnavailable(
            f"{name!r} reads its class at the end-of-text token (eos_token_id {end}), which its tokenizer does not "
            "write behind a text. Use the tokenizer that the model was trained with."
        )
    rows = torch.tensor([tokens.ids], device=next(network.parameters()).device)
    starts = dict.fromkeys((network.config.decoder_start_token_id, None))
    forms = [EncoderDecoderClassifier(network, start, behind) for start in starts]
    try:
        differences = [largest_difference(network, form, rows) for form in forms]
    except Exception as error:  # what the library raises, such as without a token with which the decoder begins
        raise ModelUnavailable(f"{name!r} does not answer a text: {first_sentence(error)}") from error
    if not min(differences) <= TOLERANCE:  # also where one is NaN
        raise unknown_head(name, network)
    return forms[differences.index(min(differences))]
