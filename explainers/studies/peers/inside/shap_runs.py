"""shap's partition explainer with its masker of text, on probabilities."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import shap
import torch
from numpy.typing import NDArray

from explainers.studies.peers import packages
from explainers.studies.peers.inside.classifier import load_classifier


def methods(job: packages.PeerJob) -> tuple[torch.nn.Module, list[packages.Timed]]:
    model, tokenizer = load_classifier(Path(job.folder))

    def probabilities(texts: Sequence[str]) -> NDArray[np.float64]:
        inputs = tokenizer(list(texts), return_tensors="pt", padding=True)
        with torch.no_grad():
            answers: NDArray[np.float64] = model(**inputs).logits.softmax(-1).double().numpy()
        return answers

    explainer = shap.Explainer(probabilities, shap.maskers.Text(tokenizer), algorithm="partition", silent=True)

    def explain(sentence: packages.Sentence) -> Sequence[float]:
        values = explainer([sentence.text]).values[0][:, sentence.label]
        return [float(value) for value in values[1:-1]]

    return model, [packages.Timed(packages.PARTITION, packages.DEFAULT, explain)]


if __name__ == "__main__":
    asked = packages.read_job(Path(sys.argv[1]))
    torch.manual_seed(0)
    packages.write_runs(Path(sys.argv[2]), list(packages.measured(asked, *methods(asked))))
