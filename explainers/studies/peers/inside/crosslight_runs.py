"""Crosslight's own methods, each with an empty pool of answers, measured as those of the peers."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import torch

from explainers.attribution.kernel_shap import KernelShap
from explainers.attribution.lime import Lime
from explainers.comparison.decision import decide
from explainers.comparison.runner import with_pool
from explainers.methods.registry import Method, method_spec
from explainers.metrics import erasure, faithfulness
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision, Settings
from explainers.studies.peers import packages

PERTURBING = ("lime", "kernel_shap", "occlusion")
SHARED_WITH_FERRET = ("integrated_gradients", "gradient_x_input", "lime", "kernel_shap")
Made = Callable[[FrozenModel, Decision], list[Attribution]]  # the final attributions of one or several methods


def methods(job: packages.PeerJob) -> tuple[torch.nn.Module, list[packages.Timed]]:
    model, settings = load(job.model, device="cpu"), Settings(steps=job.steps)

    def timed(name: str, setting: str, made: Made) -> packages.Timed:
        return packages.Timed(name, setting, partial(_explained, model, settings, made))

    return model.module, [
        timed(packages.IG, f"{job.steps} steps", partial(_with_defaults, ("integrated_gradients",))),
        timed(packages.OCCLUSION, "each word", partial(_with_defaults, ("occlusion",))),
        timed(packages.LIME, packages.DEFAULT, partial(_with_defaults, ("lime",))),
        timed(packages.KERNEL_SHAP, packages.DEFAULT, partial(_with_defaults, ("kernel_shap",))),
        timed(packages.TOGETHER, packages.DEFAULT, partial(_with_defaults, PERTURBING)),
        timed(packages.FOUR, packages.DEFAULT, partial(_with_defaults, SHARED_WITH_FERRET, curves=True)),
        *(
            timed(packages.KERNEL_SHAP, packages.shared(count), partial(_counted, count, ("kernel_shap",)))
            for count in packages.COUNTS
        ),
        *(
            timed(packages.LIME, packages.shared(count), partial(_counted, count, ("lime",)))
            for count in packages.GROUP_COUNTS
        ),
        *(
            timed(packages.TOGETHER, packages.shared(count), partial(_counted, count, PERTURBING))
            for count in packages.GROUP_COUNTS
        ),
        *(
            timed(packages.FOUR, packages.shared(count), partial(_counted, count, SHARED_WITH_FERRET, curves=True))
            for count in packages.GROUP_COUNTS
        ),
    ]


def _explained(model: FrozenModel, settings: Settings, made: Made, sentence: packages.Sentence) -> Sequence[float]:
    """The scores of a single method; none of several."""
    decision, _ = decide(model, sentence.text, label=model.labels[sentence.label], settings=settings)
    attributions = made(with_pool(model), decision)
    return attributions[0].scores if len(attributions) == 1 else ()


def _with_defaults(
    ids: Sequence[str], model: FrozenModel, decision: Decision, *, curves: bool = False
) -> list[Attribution]:
    made = {id: method_spec(id).made_with(decision.settings) for id in ids}
    return _attributions(made, model, decision, curves=curves)


def _counted(
    count: int, ids: Sequence[str], model: FrozenModel, decision: Decision, *, curves: bool = False
) -> list[Attribution]:
    """With so many shared masks, whatever the number of words."""
    drawing: dict[str, Method] = {
        "lime": Lime(samples=count, sampling="shared"),
        "kernel_shap": KernelShap(samples=count, per_unit=1, sampling="shared"),
    }
    made = {id: drawing.get(id) or method_spec(id).made_with(decision.settings) for id in ids}
    return _attributions(made, model, decision, curves=curves)


def _attributions(
    made: Mapping[str, Method], model: FrozenModel, decision: Decision, *, curves: bool
) -> list[Attribution]:
    """The attribution of every method, where wanted with its curves and metrics."""
    answers = erasure.MaskedPredictor(model, decision.encoding, decision.settings.erasure)
    attributions = []
    for method in made.values():
        attributions.append(method.attribute(model, decision.encoding, decision.label))
        if curves:
            faithfulness.curves_and_metrics(answers, [attributions[-1].scores], decision.label)
    return attributions


if __name__ == "__main__":
    asked_for = packages.read_job(Path(sys.argv[1]))
    packages.write_runs(Path(sys.argv[2]), list(packages.measured(asked_for, *methods(asked_for))))
