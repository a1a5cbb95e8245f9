"""interpreto: its methods that Crosslight has too, on probabilities and words, with its default batch size."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import interpreto
import torch
from interpreto.attributions import InferenceModes

from explainers.studies.peers.inside.classifier import load_classifier
from explainers.studies.peers.packages import (
    IG,
    KERNEL_SHAP,
    LIME,
    OCCLUSION,
    PeerJob,
    Sentence,
    Timed,
    measured,
    read_job,
    write_runs,
)


def methods(job: PeerJob) -> tuple[torch.nn.Module, list[Timed]]:
    model, tokenizer = load_classifier(Path(job.folder))
    common = {"inference_mode": InferenceModes.SOFTMAX, "granularity": interpreto.Granularity.WORD}

    def explained(method: Any) -> Callable[[Sentence], Sequence[float]]:
        def explain(sentence: Sentence) -> Sequence[float]:
            (output,) = method(sentence.text, targets=torch.tensor([sentence.label]))
            scores: list[float] = output.attributions.reshape(-1).tolist()
            return scores

        return explain

    def made(name: str, **options: int) -> Callable[[Sentence], Sequence[float]]:
        return explained(getattr(interpreto, name)(model, tokenizer, **common, **options))

    return model, [
        Timed(IG, f"{job.steps} steps", made("IntegratedGradients", n_perturbations=job.steps)),
        Timed(LIME, f"{job.samples} samples", made("Lime", n_perturbations=job.samples)),
        Timed(KERNEL_SHAP, "100 samples, default", made("KernelShap")),
        Timed(KERNEL_SHAP, f"{job.samples} samples", made("KernelShap", n_perturbations=job.samples)),
        Timed(OCCLUSION, "each word", made(OCCLUSION)),
    ]


if __name__ == "__main__":
    asked = read_job(Path(sys.argv[1]))
    torch.manual_seed(0)
    write_runs(Path(sys.argv[2]), list(measured(asked, *methods(asked))))
