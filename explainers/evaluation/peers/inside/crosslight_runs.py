"""Crosslight's own methods, each with an empty pool of answers, measured as those of the peers."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from explainers.attribution.kernel_shap import KernelShap
from explainers.attribution.lime import Lime
from explainers.comparison.question import ask
from explainers.comparison.runner import estimates, run_method, with_pool
from explainers.evaluation.peers.inside.job import Job, Sentence, Timed, measured, read_job, write_runs
from explainers.evaluation.peers.names import COUNTS, DEFAULT, FOUR, IG, KERNEL_SHAP, LIME, OCCLUSION, TOGETHER, shared
from explainers.methods.registry import method_spec
from explainers.methods.spec import Method
from explainers.metrics.erasure import Answers
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.models.meter import Meter
from explainers.results.attribution import Attribution
from explainers.results.comparison import Question
from explainers.results.settings import Settings

PERTURBING = ("lime", "kernel_shap", "occlusion")
SHARED_WITH_FERRET = ("integrated_gradients", "gradient_x_input", "lime", "kernel_shap")
Made = Callable[[Question], list[Attribution]]  # the final attributions of one or several methods


def methods(job: Job) -> tuple[torch.nn.Module, list[Timed]]:
    model, settings = load(job.model, device="cpu"), Settings(steps=job.steps)

    def timed(name: str, setting: str, made: Made) -> Timed:
        return Timed(name, setting, partial(_explained, model, settings, made))

    return model.module, [
        timed(IG, f"{job.steps} steps", partial(_with_defaults, ("integrated_gradients",))),
        timed(OCCLUSION, "each word", partial(_with_defaults, ("occlusion",))),
        timed(LIME, DEFAULT, partial(_with_defaults, ("lime",))),
        timed(KERNEL_SHAP, DEFAULT, partial(_with_defaults, ("kernel_shap",))),
        timed(TOGETHER, DEFAULT, partial(_with_defaults, PERTURBING)),
        timed(FOUR, DEFAULT, _measured_four),
        *(timed(KERNEL_SHAP, shared(count), partial(_counted, count, (KERNEL_SHAP,))) for count in COUNTS),
        *(timed(LIME, shared(count), partial(_counted, count, (LIME,))) for count in COUNTS),
        *(timed(TOGETHER, shared(count), partial(_counted, count, (LIME, KERNEL_SHAP, OCCLUSION))) for count in COUNTS),
    ]


def _explained(model: FrozenModel, settings: Settings, made: Made, sentence: Sentence) -> Sequence[float]:
    """The scores of a single method; none of several."""
    asked, _ = ask(model, sentence.text, label=model.labels[sentence.label], settings=settings)
    attributions = made(with_pool(asked))
    return attributions[0].scores if len(attributions) == 1 else ()


def _with_defaults(ids: Sequence[str], question: Question) -> list[Attribution]:
    return [list(estimates(method_spec(id), question, Meter()))[-1] for id in ids]


def _measured_four(question: Question) -> list[Attribution]:
    """With curves and every metric, and their noise."""
    meter = Meter()
    answers = Answers(question.model.metered(meter), question.encoding, question.settings.erasure)
    for id in SHARED_WITH_FERRET:
        list(run_method(method_spec(id), question, meter, answers))
    return []


def _counted(count: int, names: Sequence[str], question: Question) -> list[Attribution]:
    """With so many shared masks, whatever the number of words."""
    made: dict[str, Method] = {
        LIME: Lime(samples=count, sampling="shared"),
        KERNEL_SHAP: replace(KernelShap(samples=count, sampling="shared"), per_unit=1),
        OCCLUSION: method_spec("occlusion").made_with(question.settings),
    }
    return [made[name].attribute(question.model, question.encoding, question.label) for name in names]


if __name__ == "__main__":
    asked_for = read_job(Path(sys.argv[1]))
    write_runs(Path(sys.argv[2]), list(measured(asked_for, *methods(asked_for))))
