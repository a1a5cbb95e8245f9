"""interpreto: its methods that Crosslight has too, on probabilities and words, with its default batch size."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import interpreto
import torch
from interpreto.attributions import InferenceModes

from explainers.studies.peers import packages
from explainers.studies.peers.inside.classifier import load_classifier


def methods(job: packages.PeerJob) -> tuple[torch.nn.Module, list[packages.Timed]]:
    model, tokenizer = load_classifier(Path(job.folder))
    common = {"inference_mode": InferenceModes.SOFTMAX, "granularity": interpreto.Granularity.WORD}

    def explained(method: Any) -> Callable[[packages.Sentence], Sequence[float]]:
        def explain(sentence: packages.Sentence) -> Sequence[float]:
            (output,) = method(sentence.text, targets=torch.tensor([sentence.label]))
            scores: list[float] = output.attributions.reshape(-1).tolist()
            return scores

        return explain

    def made(name: str, **options: int) -> Callable[[packages.Sentence], Sequence[float]]:
        return explained(getattr(interpreto, name)(model, tokenizer, **common, **options))

    return model, [
        packages.Timed(packages.IG, f"{job.steps} steps", made("IntegratedGradients", n_perturbations=job.steps)),
        packages.Timed(packages.LIME, f"{job.samples} samples", made("Lime", n_perturbations=job.samples)),
        packages.Timed(packages.KERNEL_SHAP, "100 samples, default", made("KernelShap")),
        packages.Timed(packages.KERNEL_SHAP, f"{job.samples} samples", made("KernelShap", n_perturbations=job.samples)),
        packages.Timed(packages.OCCLUSION, "each word", made(packages.OCCLUSION)),
    ]


if __name__ == "__main__":
    asked = packages.read_job(Path(sys.argv[1]))
    torch.manual_seed(0)
    packages.write_runs(Path(sys.argv[2]), list(packages.measured(asked, *methods(asked))))
