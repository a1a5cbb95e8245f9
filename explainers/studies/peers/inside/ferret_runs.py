"""ferret: the four explainers that Crosslight has too, and its evaluation of them."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ferret
import numpy as np
import torch

from explainers.studies.peers.inside.classifier import load_classifier
from explainers.studies.peers.packages import (
    DEFAULT,
    FOUR,
    GRADIENT,
    IG,
    LIME,
    PARTITION,
    PeerJob,
    Sentence,
    Timed,
    measured,
    read_job,
    write_runs,
)


def methods(job: PeerJob) -> tuple[torch.nn.Module, list[Timed]]:
    model, tokenizer = load_classifier(Path(job.folder))
    explainers = {
        PARTITION: ferret.SHAPExplainer(model, tokenizer),
        LIME: ferret.LIMEExplainer(model, tokenizer),
        IG: ferret.IntegratedGradientExplainer(model, tokenizer, multiply_by_inputs=True),
        GRADIENT: ferret.GradientExplainer(model, tokenizer, multiply_by_inputs=True),
    }
    bench = ferret.Benchmark(model, tokenizer, explainers=list(explainers.values()))

    def explained(explainer: Any) -> Callable[[Sentence], Sequence[float]]:
        def explain(sentence: Sentence) -> Sequence[float]:
            scores = explainer(sentence.text, sentence.label).scores
            return [float(score) for score in np.asarray(scores)[1:-1]]

        return explain

    def everything(sentence: Sentence) -> Sequence[float]:
        explanations = bench.explain(sentence.text, target=sentence.label, show_progress=False)
        bench.evaluate_explanations(explanations, target=sentence.label, show_progress=False)
        return ()

    return model, [
        *(Timed(name, DEFAULT, explained(explainer)) for name, explainer in explainers.items()),
        Timed(FOUR, DEFAULT, everything),
    ]


if __name__ == "__main__":
    asked = read_job(Path(sys.argv[1]))
    torch.manual_seed(0)
    write_runs(Path(sys.argv[2]), list(measured(asked, *methods(asked))))
