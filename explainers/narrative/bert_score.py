"""BERTScore (Zhang et al., 2020) with all-MiniLM-L6-v2 as the scorer: similarity of two sentences, token by token.

    precision = mean over the candidate's tokens of the highest cosine with a token of the reference
    recall    = the same with the two exchanged;  F1 = their harmonic mean

Tokens are compared by their states in layer 5 of 6, the layer that the authors' package takes for other encoders of six
layers (DistilBERT, DistilRoBERTa). [CLS] and [SEP] do not count; neither idf weights nor rescaling are applied, so
unrelated sentences score far above 0. The values are not comparable with those of another scorer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pad_sequence
from transformers.models.bert.modeling_bert import BertModel

from explainers.models.text.base_weights import base_folder
from explainers.models.text.bundle import MAX_TOKENS, base_tokenizer
from explainers.models.text.network import base_encoder
from explainers.narrative.text_metrics import Floats

LAYER = 5
AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class TokenScorer:
    """An encoder whose token states are compared. No text is encoded twice."""

    encoder: BertModel
    tokenizer: Tokenizer
    layer: int = LAYER
    known: dict[str, Tensor] = field(default_factory=dict)

    @torch.no_grad()
    def states(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """By text, the states of its tokens, (tokens, d) of length 1."""
        by_length = sorted({*texts} - {*self.known}, key=len)
        for start in range(0, len(by_length), AT_ONCE):
            batch = by_length[start : start + AT_ONCE]
            ids = [torch.tensor(each.ids) for each in self.tokenizer.encode_batch(batch)]
            real = pad_sequence([torch.ones_like(each) for each in ids], batch_first=True)
            outputs = self.encoder(pad_sequence(ids, batch_first=True), real, output_hidden_states=True)
            layer = normalize(outputs.hidden_states[self.layer], dim=-1)  # (B, L, d)
            for text, row, row_ids in zip(batch, layer, ids, strict=True):
                self.known[text] = row[1 : len(row_ids) - 1].clone()  # without [CLS] and [SEP]
        return self.known


def minilm_scorer() -> TokenScorer:
    """Raises `ModelUnavailable` if the base weights are nowhere on this machine and the hub cannot be reached."""
    folder = base_folder()
    return TokenScorer(base_encoder(folder).eval().requires_grad_(False), base_tokenizer(folder, MAX_TOKENS))


def bert_scores(scorer: TokenScorer, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """Precision, recall and F1 of each candidate against the reference of the highest F1, (n, 3).

    nan where there are no references; 0 for an empty candidate.
    """
    states = scorer.states([text for text in (*candidates, *(each for row in references for each in row)) if text])
    scores = np.full((len(candidates), 3), np.nan)
    for number, (candidate, row) in enumerate(zip(candidates, references, strict=True)):
        if row:
            scored = [matched(states[candidate], states[each]) for each in row if candidate and each]
            scores[number] = max(scored, key=lambda each: each[2], default=(0.0, 0.0, 0.0))
    return scores


def matched(candidate: Tensor, reference: Tensor) -> tuple[float, float, float]:
    """Precision, recall and F1 of two sets of token states of length 1, (tokens, d)."""
    if not len(candidate) or not len(reference):
        return 0.0, 0.0, 0.0
    cosines = candidate @ reference.T  # (tokens of the candidate, tokens of the reference)
    precision, recall = float(cosines.amax(1).mean()), float(cosines.amax(0).mean())
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both > 0 else 0.0
