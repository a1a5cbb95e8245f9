"""Captum as its documentation shows it: words as features, one perturbation per call."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from captum import attr

from explainers.studies.peers import packages
from explainers.studies.peers.inside.classifier import load_classifier


def methods(job: packages.PeerJob) -> tuple[torch.nn.Module, list[packages.Timed]]:
    model, tokenizer = load_classifier(Path(job.folder))

    def inputs(sentence: packages.Sentence) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        ids = tokenizer(sentence.text, return_tensors="pt")["input_ids"]
        words = torch.arange(-1, ids.shape[1] - 1)[None]
        words[0, 0] = words[0, -1] = ids.shape[1] - 2  # special tokens: one more feature, which is not erased
        blank = torch.full_like(ids, tokenizer.mask_token_id)
        blank[0, 0], blank[0, -1] = ids[0, 0], ids[0, -1]
        return ids, blank, words

    def probability(ids: torch.Tensor, label: int) -> torch.Tensor:
        answers: torch.Tensor = model(input_ids=ids).logits.softmax(-1)[:, label]
        return answers

    def perturbing(method: type, **options: int) -> Callable[[packages.Sentence], Sequence[float]]:
        def explain(sentence: packages.Sentence) -> Sequence[float]:
            ids, blank, words = inputs(sentence)
            with torch.no_grad():
                scores = method(probability).attribute(
                    ids, baselines=blank, feature_mask=words, additional_forward_args=(sentence.label,), **options
                )
            values: list[float] = scores[0, 1:-1].tolist()
            return values

        return explain

    def integrated(sentence: packages.Sentence) -> Sequence[float]:
        ids, blank, _words = inputs(sentence)
        layer = attr.LayerIntegratedGradients(probability, model.get_input_embeddings())
        scores = layer.attribute(ids, baselines=blank, additional_forward_args=(sentence.label,), n_steps=job.steps)
        values: list[float] = scores.sum(-1)[0, 1:-1].tolist()
        return values

    drawn = {"n_samples": job.samples}
    return model, [
        packages.Timed(packages.IG, f"{job.steps} steps", integrated),
        packages.Timed(packages.LIME, f"{job.samples} samples", perturbing(attr.Lime, **drawn)),
        packages.Timed(packages.KERNEL_SHAP, f"{job.samples} samples", perturbing(attr.KernelShap, **drawn)),
        packages.Timed(packages.OCCLUSION, "each word", perturbing(attr.FeatureAblation)),
    ]


if __name__ == "__main__":
    asked = packages.read_job(Path(sys.argv[1]))
    torch.manual_seed(0)
    packages.write_runs(Path(sys.argv[2]), list(packages.measured(asked, *methods(asked))))
