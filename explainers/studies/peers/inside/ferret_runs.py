"""ferret: the four explainers that Crosslight has too, and its evaluation of them."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ferret
import numpy as np
import torch

from explainers.studies.peers import packages
from explainers.studies.peers.inside.classifier import load_classifier


def methods(job: packages.PeerJob) -> tuple[torch.nn.Module, list[packages.Timed]]:
    model, tokenizer = load_classifier(Path(job.folder))
    explainers = {
        packages.PARTITION: ferret.SHAPExplainer(model, tokenizer),
        packages.LIME: ferret.LIMEExplainer(model, tokenizer),
        packages.IG: ferret.IntegratedGradientExplainer(model, tokenizer, multiply_by_inputs=True),
        packages.GRADIENT: ferret.GradientExplainer(model, tokenizer, multiply_by_inputs=True),
    }
    bench = ferret.Benchmark(model, tokenizer, explainers=list(explainers.values()))

    def explained(explainer: Any) -> Callable[[packages.Sentence], Sequence[float]]:
        def explain(sentence: packages.Sentence) -> Sequence[float]:
            scores = explainer(sentence.text, sentence.label).scores
            return [float(score) for score in np.asarray(scores)[1:-1]]

        return explain

    def everything(sentence: packages.Sentence) -> Sequence[float]:
        explanations = bench.explain(sentence.text, target=sentence.label, show_progress=False)
        bench.evaluate_explanations(explanations, target=sentence.label, show_progress=False)
        return ()

    return model, [
        *(packages.Timed(name, packages.DEFAULT, explained(explainer)) for name, explainer in explainers.items()),
        packages.Timed(packages.FOUR, packages.DEFAULT, everything),
    ]


if __name__ == "__main__":
    asked = packages.read_job(Path(sys.argv[1]))
    torch.manual_seed(0)
    packages.write_runs(Path(sys.argv[2]), list(packages.measured(asked, *methods(asked))))
