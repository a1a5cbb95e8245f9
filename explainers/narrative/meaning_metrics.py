"""Metrics of what generated sentences say about their own input, as pure functions.

Content words are the words of a sentence that carry meaning, without class names, compared by their stems. An input is
compared with others of the same predicted class only, so that knowing the class alone gains nothing.

BERTScore (Zhang et al., 2020) with all-MiniLM-L6-v2 as the scorer: similarity of two sentences, token by token.

    precision = mean over the candidate's tokens of the highest cosine with a token of the reference
    recall    = the same with the two exchanged;  F1 = their harmonic mean

Tokens are compared by their states in layer 5 of 6, the layer that the authors' package takes for other encoders of six
layers (DistilBERT, DistilRoBERTa). [CLS] and [SEP] do not count; neither idf weights nor rescaling are applied, so
unrelated sentences score far above 0. The values are not comparable with those of another scorer.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from math import comb, nan

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pad_sequence
from transformers.models.bert.modeling_bert import BertModel

from explainers.models.text.base_weights import base_folder
from explainers.models.text.bundle import MAX_TOKENS, base_encoder, base_tokenizer
from explainers.narrative.content_words import content, stem, words
from explainers.narrative.sentences import reason_of, without_label
from explainers.narrative.text_metrics import Floats

SHUFFLES = 5  # other inputs with which a sentence is compared
CHOICES = 10  # inputs among which the own one is picked
SAMPLE = 100  # sentences among which different ones are counted


def content_stems(sentence: str, labels: Sequence[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in content(without_label(sentence, labels)))


def other_inputs(
    texts: Sequence[str], classes: Sequence[int], most: int, *, seed: int = 0
) -> tuple[tuple[int, ...], ...]:
    """For each input up to `most` different inputs of its class with another text, at random; fewer if there are."""
    rng = np.random.default_rng(seed)
    rows = []
    for text, label in zip(texts, classes, strict=True):
        others = [at for at, other in enumerate(classes) if other == label and texts[at] != text]
        rows.append(tuple(rng.permutation(others)[:most].tolist()))
    return tuple(rows)


def shares(
    sentences: Sequence[str], texts: Sequence[str], others: Sequence[Sequence[int]], labels: Sequence[str]
) -> tuple[Floats, Floats]:
    """The share of each sentence's content words that stand in its own input, and the mean share over the others.

    Each (n,); nan for an item without others. A sentence without content words has the shares 0.
    """
    inputs = [{stem(word) for word in words(text)} for text in texts]
    own, elsewhere = np.full(len(texts), nan), np.full(len(texts), nan)
    for number, (sentence, row) in enumerate(zip(sentences, others, strict=True)):
        if row:
            stems = content_stems(sentence, labels)
            own[number] = _share(stems, inputs[number])
            elsewhere[number] = np.mean([_share(stems, inputs[other]) for other in row])
    return own, elsewhere


def picked(
    sentences: Sequence[str], texts: Sequence[str], others: Sequence[Sequence[int]], labels: Sequence[str]
) -> Floats:
    """(n,): 1 where the own input, of ten of its class, shares the most content words with the sentence.

    1/ties where several do; nan for an item with fewer than nine others. By chance it is 0.1.
    """
    inputs = [{stem(word) for word in words(text)} for text in texts]
    hits = np.full(len(texts), nan)
    for number, (sentence, row) in enumerate(zip(sentences, others, strict=True)):
        if len(row) >= CHOICES - 1:
            stems = content_stems(sentence, labels)
            shared = [len(stems & inputs[at]) for at in (number, *row[: CHOICES - 1])]
            hits[number] = (shared[0] == max(shared)) / shared.count(max(shared))
    return hits


def longest_copy(sentence: str, text: str) -> float:
    """The longest run of words that the reason of a sentence takes from the text, as a share of the reason's words."""
    reason, source = words(reason_of(sentence)), words(text)
    match = SequenceMatcher(None, reason, source, autojunk=False).find_longest_match()
    return match.size / max(len(reason), 1)


def distinct_per_sample(sentences: Sequence[str], size: int = SAMPLE) -> float:
    """How many different sentences `size` of them are expected to hold, drawn without replacement (rarefaction).

    It does not depend on how many sentences there are; nan of fewer than `size`.
    """
    n = len(sentences)
    if n < size:
        return nan
    counts = Counter(" ".join(words(sentence)) for sentence in sentences)
    return sum(1 - comb(n - count, size) / comb(n, size) for count in counts.values())


def _share(stems: frozenset[str], text: set[str]) -> float:
    return len(stems & text) / max(len(stems), 1)


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
        """Map each text to the states of its tokens, (tokens, d) of length 1."""
        by_length = sorted({*texts} - {*self.known}, key=len)
        for start in range(0, len(by_length), AT_ONCE):
            batch = by_length[start : start + AT_ONCE]
            ids = [torch.tensor(encoded.ids) for encoded in self.tokenizer.encode_batch(batch)]
            real = pad_sequence([torch.ones_like(tokens) for tokens in ids], batch_first=True)
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
    states = scorer.states(
        [text for text in (*candidates, *(reference for row in references for reference in row)) if text]
    )
    scores = np.full((len(candidates), 3), np.nan)
    for number, (candidate, row) in enumerate(zip(candidates, references, strict=True)):
        if row:
            scored = [matched(states[candidate], states[reference]) for reference in row if candidate and reference]
            scores[number] = max(scored, key=lambda triple: triple[2], default=(0.0, 0.0, 0.0))
    return scores


def matched(candidate: Tensor, reference: Tensor) -> tuple[float, float, float]:
    """Precision, recall and F1 of two sets of token states of length 1, (tokens, d)."""
    if not len(candidate) or not len(reference):
        return 0.0, 0.0, 0.0
    cosines = candidate @ reference.T  # (tokens of the candidate, tokens of the reference)
    precision, recall = float(cosines.amax(1).mean()), float(cosines.amax(0).mean())
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both > 0 else 0.0
