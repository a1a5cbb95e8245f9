"""Where a pretrained φ that reads the tokens as a prefix begins: with states that look to it like words.

A language model has learned to read its own embeddings. The entry of the token reader, LN(W·LN(h)), begins with the W
of the ridge regression from the frozen model's states h to φ's embeddings of the words that they belong to, so that φ
begins with a text that it can read, and learns the rest. φ still sees nothing but the states.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import cast

import torch
from torch import Tensor, nn

from explainers.narrative.narrator import Narrator, TokenReader
from explainers.narrative.narrator_input import InputTokens
from explainers.narrative.sentences import NarratorItem

INPUTS = 2_000  # whose tokens the regression is fitted to
RIDGE = 1e-3  # in units of the mean variance of a feature
BETWEEN = "\n"  # what the frozen model's special tokens look like


@torch.no_grad()
def read_states_as_words(narrator: Narrator, items: Sequence[NarratorItem]) -> float:
    """Set the reader's entry, and its place embeddings to 0, since φ counts positions itself.

    Returns the share of the variance of the embeddings that the states explain on these tokens. Raises `ValueError`
    for a narrator that does not read states as a prefix.
    """
    if not narrator.reads_states_as_prefix:
        raise ValueError("this narrator does not read states as a prefix")
    reader = cast(TokenReader, narrator.token_reader)
    norm, linear, sized = cast(tuple[nn.LayerNorm, nn.Linear, nn.LayerNorm], tuple(reader.entry))
    device = linear.weight.device  # the regression itself is made on the CPU, since not every device has float64
    rows = [tokens for item in items[:INPUTS] if (tokens := item.tokens) is not None]
    pieces = torch.tensor([piece for tokens in rows for piece in token_pieces(narrator, tokens)], device=device)
    features = torch.cat([norm(tokens.features[0].to(device)) for tokens in rows]).cpu().double()
    wanted = narrator.embedding_of(narrator.phi).weight[pieces].cpu().double()
    weight, bias = ridge(features, wanted)
    linear.weight.copy_(weight.T)
    linear.bias.copy_(bias)
    sized.weight.fill_(wanted.std().item())
    nn.init.zeros_(reader.place.weight)
    left = (features @ weight + bias - wanted).square().sum() / (wanted - wanted.mean(0)).square().sum()
    return 1 - float(left)


def ridge(features: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """W (d, e) and b (e,) of the ridge regression of `wanted` (n, e) on features (n, d)."""
    centre, target = features.mean(0), wanted.mean(0)
    apart = features - centre
    moments = apart.T @ apart
    moments.diagonal().add_(RIDGE * moments.diagonal().mean())
    weight = torch.linalg.solve(moments, apart.T @ (wanted - target))
    return weight, target - centre @ weight


def token_pieces(narrator: Narrator, tokens: InputTokens) -> Iterator[int]:
    """For each token of one input the piece of φ's vocabulary that it stands for: of a word's tokens the first stands
    for the word's first piece, and so on; the last piece again where there are fewer pieces."""
    language = narrator.language
    between = language.tokenizer.encode(BETWEEN, add_special_tokens=False).ids or [language.end_id]
    for unit, group in groupby(tokens.units[0].tolist()):
        word = tokens.words[0][unit] if unit >= 0 else ""
        pieces = language.pieces_within(word) if word else between
        yield from (pieces[min(at, len(pieces) - 1)] for at, _ in enumerate(group))
