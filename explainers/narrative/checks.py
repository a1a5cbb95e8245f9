"""What can be checked about a narrative: whether its reason is true and used, and how likely it is that it holds.

used: p(class | input without the mentioned words) is below what is left without any other set of as many words, and at
least NOTICEABLE below p(class | input). The class is the one that the sentence states. Undecided where only sets that
share a word with the mentioned ones are as low: then some of these words count, but perhaps not all.

    P(holds) = σ(b + b_narrator + Σ w · (x - mean) / spread)

A logistic regression on readings (assets/docs/readings.md), fitted by `study reliability` and stored beside a model's
narrators. A reason holds if it is true of the input and somebody who believes it has a reason to answer the class.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import comb, nan
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from explainers.datasets.entailment import LABELS as ENTAILMENT
from explainers.datasets.example import Example
from explainers.metrics.erasure import MaskedPredictor
from explainers.models.bundle_cards import BUNDLES, bundle_names
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.models.tasks import reason_truth
from explainers.narrative import content_words, generation, narrator_input, sentences
from explainers.narrative.narrate import load_narrator
from explainers.narrative.narrator import Narrator
from explainers.results.events import NO_WORD, Narrative, NarrativeCheck
from explainers.training.artifacts import find_artifact

DRAWS = 40  # sets of random words; all of them where there are no more
FEWEST = 20  # other sets; one set in 21 is the lowest by luck, and with fewer more than that
NOTICEABLE = 0.01  # of a probability
SHARED = "only sets that contain one of the named words are as low, so perhaps not all of them count"
FEW = "there are only {there} other sets of as many words to compare with, and {needed} are needed"
FILE = "reliability.json"
SAMPLES, TEMPERATURE = 5, 0.7
USED = {True: 1.0, False: -1.0, None: 0.0}
CERTAINTY, LIKELIHOOD, SAMPLES_AGREE = "certainty of the model", "likelihood of the reason", "samples agree"
OWN_WORDS, WORDS_USED, ENTAILED = "words of the input", "words used by the model", "entailed by the input"
Features = Mapping[str, float]


def check_narrative(
    narrative: Narrative, answers: MaskedPredictor, example: Example, *, seed: int = 0
) -> NarrativeCheck:
    """Its truth by the rules of the model's task, and its use by erasing words with the operator of `answers`."""
    reason = content_words.reason_of(narrative.text)
    check = NarrativeCheck(narrative.method, true_note="it gives no reason")
    if reason:
        truth = reason_truth(answers.model.name, reason, example)
        check = replace(check, true=truth.true, true_note=truth.note)
    words = [number for number, unit in enumerate(answers.encoding.units) if unit.kind == "word"]
    mentioned = sorted(set(narrative.mentions) & set(words))
    if not mentioned:
        return replace(check, use_note=NO_WORD)
    return _with_use(check, narrative.stated, mentioned, words, answers, seed)


def _with_use(
    check: NarrativeCheck,
    stated: int | None,
    mentioned: list[int],
    words: list[int],
    answers: MaskedPredictor,
    seed: int,
) -> NarrativeCheck:
    others = other_sets(words, mentioned, seed)
    probabilities = answers.probabilities(_masks(len(answers.encoding.units), [(), mentioned, *others]))
    label = int(probabilities[0].argmax()) if stated is None else stated
    full, removed, *random = (float(p) for p in probabilities[:, label])
    check = replace(check, full=full, removed=removed, random_removed=tuple(random))
    if len(random) < FEWEST:
        return replace(check, use_note=FEW.format(needed=FEWEST, there=len(random)))
    if full - removed < NOTICEABLE or any(
        p <= removed for other, p in zip(others, random, strict=True) if not set(other) & set(mentioned)
    ):
        return replace(check, used=False)
    return replace(check, used=True) if removed < min(random) else replace(check, use_note=SHARED)


def named_word_effect(
    answers: MaskedPredictor,
    named: Sequence[int],
    among: Sequence[int],
    label: int,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> float:
    """How much further p(label) falls without the `named` units than, on average, without as many random ones `among`.

    nan where none of `among` is named, or there is no other set of them.
    """
    units = sorted(set(named) & set(among))
    others = other_sets(among, units, seed, draws) if units else []
    if not others:
        return nan
    removed, *random = answers.probabilities(_masks(len(answers.encoding.units), [units, *others]))[:, label]
    return float(np.mean(random) - removed)


def other_sets(words: Sequence[int], mentioned: Sequence[int], seed: int, draws: int = DRAWS) -> list[tuple[int, ...]]:
    """Sets of as many words as are mentioned, never exactly those: all of them, or `draws` at random."""
    if comb(len(words), len(mentioned)) <= draws + 1:
        return [combination for combination in combinations(words, len(mentioned)) if combination != tuple(mentioned)]
    rng, drawn = np.random.default_rng(seed), dict[tuple[int, ...], None]()
    while len(drawn) < draws:
        words_drawn = tuple(sorted(rng.choice(words, len(mentioned), replace=False).tolist()))
        if words_drawn != tuple(mentioned):
            drawn[words_drawn] = None
    return list(drawn)


def _masks(units: int, erased: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """(sets, units), true = kept."""
    keeps = np.ones((len(erased), units), dtype=bool)
    for row, numbers in enumerate(erased):
        keeps[row, list(numbers)] = False
    return keeps


@dataclass(frozen=True)
class Reliability:
    """The regression for narrators of one version of a model, each with the SHA-256 of the weights whose sentences were
    read. `weights` hold for features in their own spreads."""

    version: str
    narrators: Mapping[str, str]
    bias: float
    offsets: Mapping[str, float]  # by narrator
    weights: Mapping[str, float]
    means: Mapping[str, float]
    spreads: Mapping[str, float]

    def chance(self, narrator: str, features: Features) -> float:
        """P(holds) of a sentence of one of the narrators. A feature that was not measured stands at its mean."""
        known = [name for name in self.weights if name in features]
        score = sum(self.weights[name] * (features[name] - self.means[name]) / self.spreads[name] for name in known)
        return 1 / (1 + math.exp(-(self.bias + self.offsets[narrator] + score)))

    def json(self) -> dict[str, Any]:
        return asdict(self)


def reliability_of(model: str, version: str) -> Reliability | None:
    """None where nobody has read sentences about this version of the model."""
    path = BUNDLES / model / "narrative" / FILE
    if model not in bundle_names() or not path.is_file():
        return None
    stored = _stored(path, path.stat().st_mtime_ns)
    return stored if stored.version == version else None


@lru_cache(maxsize=8)
def _stored(path: Path, _changed: int) -> Reliability:
    return Reliability(**json.loads(path.read_text(encoding="utf-8"))["regression"])


def chance_of(model: FrozenModel, encoding: Encoding, narrative: Narrative, used: bool | None) -> float | None:
    """How likely its reason holds; None where that is not known, for an input unlike those that were read, and for a
    sentence without a reason."""
    known = None if encoding.unlike_training else reliability_of(model.name, model.version)
    if known is None or narrative.method not in known.narrators or not content_words.reason_of(narrative.text):
        return None
    if find_artifact(model.name, model.version, narrative.method).card["sha256"] != known.narrators[narrative.method]:
        return None  # other weights, whose sentences nobody has read
    return known.chance(narrative.method, features(model, encoding, narrative, used))


def features(model: FrozenModel, encoding: Encoding, narrative: Narrative, used: bool | None) -> dict[str, float]:
    """What is measured of one sentence; `used` is whether the model uses the words that it names."""
    _, narrator = load_narrator(model, narrative.method)
    inputs, logits = sentences.read_inputs(model, [encoding], narrator.layer)
    reason = content_words.reason_of(narrative.text)
    own = stems(reason, model.labels)
    there = {
        content_words.stem(word)
        for unit in encoding.units
        if unit.kind == "word"
        for word in content_words.content(unit.text)
    }
    values = {
        CERTAINTY: float(logits.softmax(-1).max()),
        LIKELIHOOD: likelihood(narrator, inputs, narrative.text),
        SAMPLES_AGREE: float(np.mean([overlap(own, other) for other in sampled(narrator, inputs, model.labels)])),
        OWN_WORDS: len(own & there) / max(len(own), 1),
        WORDS_USED: USED[used],
    }
    for number, label in enumerate(model.labels):
        values[f"says {label}"] = float(narrative.stated == number)
    if model.labels == ENTAILMENT:
        values[ENTAILED] = entailed(model, encoding, reason)
    return values


def likelihood(narrator: Narrator, inputs: narrator_input.NarratorInput, text: str) -> float:
    """The mean log-probability of the tokens of the reason as it is written on the page, the end included."""
    language = narrator.language
    ids = torch.tensor([language.ids(text)], device=inputs.states.device)
    before = len(language.ids(f"{text.partition(' because ')[0]} because")) - 1
    with torch.no_grad():
        shares = narrator.token_logits(inputs, ids).log_softmax(-1)
    return float(shares.gather(-1, ids[..., None])[0, before:, 0].mean())


def sampled(narrator: Narrator, inputs: narrator_input.NarratorInput, labels: Sequence[str]) -> list[frozenset[str]]:
    """The stems of the reasons of a few sampled sentences."""
    several = inputs[torch.zeros(SAMPLES, dtype=torch.long)]
    rows = generation.generate(narrator, several, temperature=TEMPERATURE, seed=0)
    return [stems(content_words.reason_of(narrator.language.text(row)), labels) for row in rows]


def stems(reason: str, labels: Sequence[str]) -> frozenset[str]:
    """Those of its content words, without class names."""
    return frozenset(
        content_words.stem(word) for word in content_words.content(sentences.without_label(reason, labels))
    )


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """The Jaccard index; 1 for two empty sets."""
    return len(one & other) / len(one | other) if one | other else 1.0


def entailed(model: FrozenModel, encoding: Encoding, reason: str) -> float:
    """The frozen model's own probability that both texts together entail the reason."""
    words: list[str] = [unit.text for unit in encoding.units]
    _, logits = sentences.read_inputs(model, [model.encode(Example(" ".join(words), reason))], 0)
    return float(logits.softmax(-1)[0, ENTAILMENT.index("entailment")])
