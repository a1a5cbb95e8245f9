"""Metrics of generated sentences and of what they say about their own input, as pure functions.

Agreement and CCMR are macro F1 over the items whose sentences state a class; the share that does stands beside them,
because F1 ignores the others. The composite is the harmonic mean of CCMR and that share.

Content words are the words of a sentence that carry meaning, without class names, compared by their stems. An input is
compared with others of the same predicted class only, so that knowing the class alone gains nothing.

BERTScore (Zhang et al., 2020) with all-MiniLM-L6-v2 as the scorer: similarity of two sentences, token by token.

    precision = mean over the candidate's tokens of the highest cosine with a token of the reference
    recall    = the same with the two exchanged;  F1 = their harmonic mean

Tokens are compared by their states in layer 5 of 6, the layer that the authors' package takes for other encoders of six
layers (DistilBERT, DistilRoBERTa). [CLS] and [SEP] do not count; neither idf weights nor rescaling are applied, so
unrelated sentences score far above 0. The values are not comparable with those of another scorer.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from math import comb, nan

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pad_sequence
from transformers.models.bert.modeling_bert import BertModel

from explainers.models.text import base_weights, bundle
from explainers.narrative.content_words import content, reason_of, stem, words
from explainers.narrative.sentences import without_label

Floats = NDArray[np.float64]
NONE = -1  # the class of a sentence that states none
SHUFFLES = 5  # other inputs with which a sentence is compared
CHOICES = 10  # inputs among which the own one is picked
SAMPLE = 100  # sentences among which different ones are counted


def voted(classes: Sequence[int]) -> int:
    """The class that most of several sentences state, of those that state one; the first of equals; NONE if none do."""
    counted = Counter(class_name for class_name in classes if class_name != NONE)
    return max(counted, key=lambda name: counted[name]) if counted else NONE


def confusion(truth: Sequence[int], stated: Sequence[int], classes: int) -> Floats:
    """(n, C·C): for each item a 1 at truth·C + stated; all zeros where no class is stated."""
    counts = np.zeros((len(truth), classes * classes))
    for row, (one, other) in enumerate(zip(truth, stated, strict=True)):
        if other != NONE:
            counts[row, one * classes + other] = 1
    return counts


def macro_f1(counts: Floats) -> Floats:
    """From counts (…, C·C) to the mean F1 of the classes that are there, (…)."""
    classes = round(counts.shape[-1] ** 0.5)
    table = counts.reshape(*counts.shape[:-1], classes, classes)
    hits = np.diagonal(table, axis1=-2, axis2=-1)
    both = table.sum(-1) + table.sum(-2)
    present = both > 0
    f1 = np.divide(2 * hits, both, out=np.zeros_like(both), where=present)
    return np.asarray(f1.sum(-1) / np.maximum(present.sum(-1), 1))


def composite(f1: Floats, share: Floats) -> Floats:
    """The harmonic mean."""
    both = f1 + share
    return np.asarray(np.divide(2 * f1 * share, both, out=np.zeros_like(both), where=both > 0))


def bleu(sentences: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """BLEU-1…4 of a corpus in 0…1 (sacrebleu, lower case), each sentence against all its references; nan of none."""
    from sacrebleu.metrics.bleu import BLEU

    if not references:
        return {f"bleu_{order}": float("nan") for order in range(1, 5)}
    most = max(map(len, references))
    columns = [[row[min(at, len(row) - 1)] for row in references] for at in range(most)]  # fewer: the last again
    scores = {}
    for order in range(1, 5):
        scorer = BLEU(lowercase=True, max_ngram_order=order, effective_order=False)
        scores[f"bleu_{order}"] = scorer.corpus_score(list(sentences), columns).score / 100
    return scores


def sentence_bleu(text: str, references: Sequence[str]) -> float:
    """Smoothed BLEU-4 of one text in 0…1 (sacrebleu, lower case) against all references; 0 where either is missing."""
    from sacrebleu.metrics.bleu import BLEU

    given = [reference for reference in references if reference.strip()]
    if not text.strip() or not given:
        return 0.0
    return float(BLEU(lowercase=True, effective_order=True).sentence_score(text, given).score / 100)


def distinct(sentences: Sequence[str], order: int) -> float:
    """Distinct-n: different n-grams per n-gram, over all sentences."""
    grams = [tuple(row[at : at + order]) for row in map(words, sentences) for at in range(len(row) - order + 1)]
    return len(set(grams)) / max(len(grams), 1)


def copied(sentences: Sequence[str], learned_from: Sequence[str]) -> float:
    """Copy rate: the share of sentences that stand word for word among those that were learned from."""
    training_sentences = {" ".join(words(sentence)) for sentence in learned_from}
    return sum(" ".join(words(sentence)) in training_sentences for sentence in sentences) / max(len(sentences), 1)


def word_for_word(sentences: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """The share of sentences that equal one of their references; sentences without references do not count."""
    rows = [(sentence, row) for sentence, row in zip(sentences, references, strict=True) if row]
    equal = (words(sentence) in [words(text) for text in row] for sentence, row in rows)
    return sum(equal) / len(rows) if rows else math.nan


def mentioned(sentence: str, text: str) -> float:
    """The share of the sentence's content words that stand in the text."""
    content_words = content(sentence)
    stems = {stem(word) for word in words(text)}
    return sum(stem(word) in stems for word in content_words) / max(len(content_words), 1)


def simulatability(sentences: Sequence[str], classes: Sequence[int], labels: Sequence[str], *, seed: int = 0) -> float:
    """How well the class can be told from the sentences once every class name is taken out: accuracy.

    A bag-of-words reader (tf-idf, logistic regression) learns it on four fifths and is asked about the rest, in turn.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline

    counted = Counter(classes)
    folds = min(5, *counted.values())
    if folds < 2 or len(counted) < 2:
        return float("nan")
    reader = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), min_df=2), LogisticRegression(max_iter=1000, C=10))
    bare = [without_label(sentence, labels) for sentence in sentences]
    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return float(cross_val_score(reader, bare, list(classes), cv=split).mean())


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
    folder = base_weights.base_folder()
    return TokenScorer(
        bundle.base_encoder(folder).eval().requires_grad_(False), bundle.base_tokenizer(folder, bundle.MAX_TOKENS)
    )


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
