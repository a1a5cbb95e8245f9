"""What a training asks of the sentences for its validation items, to choose its best epoch."""

from collections.abc import Mapping, Sequence

from explainers.datasets.example import Example
from explainers.models.tasks import reason_on_topic, reason_truth
from explainers.narrative.sentences import NarratorItem, reason_of
from explainers.narrative.text_metrics import bleu
from explainers.narrative.training import BY_RULES, BY_SIMILARITY, Judge


def judge_of(model: str, examples: Sequence[Example], items: Sequence[NarratorItem]) -> Judge:
    """Where rules can tell it, the share of right reasons: true of the input, and about what the known reason is about.
    Elsewhere BLEU-4 against the given reasons. Items whose class the model predicts wrongly do not count."""
    known = [reason_of(item.sentences[0]) for item in items if item.right]
    rules = any(reason_on_topic(model, reason, [reason]) is not None for reason in known)

    def judged(texts: Sequence[str]) -> Mapping[str, float]:
        rows = [row for row in zip(texts, examples, items, strict=False) if row[2].right]
        if not rules:
            return {BY_SIMILARITY: bleu([text for text, _, _ in rows], [item.sentences for *_, item in rows])["bleu_4"]}
        hits = [
            reason_on_topic(model, reason_of(text), [reason_of(each) for each in item.sentences])
            and reason_truth(model, reason_of(text), example).true
            for text, example, item in rows
        ]
        return {BY_RULES: sum(map(bool, hits)) / max(len(hits), 1)}

    return judged
