"""`python -m explainers verdicts`: how often the verdict names a method, and how often it holds."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from explainers.commands.options import (
    DeviceName,
    ModelName,
    Samples,
    SamplingName,
    Seed,
    SplitName,
    Steps,
    UnitName,
    show_progress,
    split_ids,
    user_errors,
)
from explainers.results.sampling import EVALUATED_SAMPLING

if TYPE_CHECKING:
    from explainers.evaluation.data_set import EvaluationSpec
    from explainers.evaluation.plan import Plan
    from explainers.results.settings import Settings

PUBLISHED = {  # by model and split
    ("sst2", "test"): "The split `test` of `sst2` is SST-2's dev set, to which no method was fitted.",
}


def verdicts_command(
    model: ModelName = "sst2",
    data: Annotated[Path | None, typer.Option(help="As for evaluate.")] = None,
    split: SplitName = "test",
    n: Annotated[int, typer.Option(help="Number of inputs, taken at random by the seed; 0 takes all.")] = 200,
    methods: Annotated[
        str, typer.Option(help="Method ids, separated by commas; by default those that run and take part in a verdict.")
    ] = "",
    unit: UnitName = "word",
    samples: Samples = 500,
    sampling: SamplingName = EVALUATED_SAMPLING,
    steps: Steps = 50,
    seed: Seed = 0,
    out: Annotated[
        Path, typer.Option(help="Folder for verdicts.json and verdicts.md; an interrupted run goes on.")
    ] = Path("runs/verdicts"),
    device: DeviceName = "auto",
) -> None:
    """Judge many inputs: how often one method is named, and whether other operators and another seed agree."""
    with user_errors():
        from explainers.evaluation.data_set import EvaluationSpec, split_inputs
        from explainers.evaluation.plan import Plan
        from explainers.evaluation.verdict_runs import judged_methods, recorded_pairs
        from explainers.evaluation.verdicts import verdict_rates
        from explainers.methods.registry import select
        from explainers.models.catalog import load
        from explainers.results.settings import checked_settings

        settings = checked_settings(unit, "mask", samples, steps, seed, sampling)
        given = tuple(filter(None, split_ids(methods))) if methods else ()
        specs = select(given or judged_methods())
        frozen = load(model, device=device)
        spec = EvaluationSpec(model, data, split, n, given, frozen.erasures)
        inputs = split_inputs(spec, frozen.input_names, seed)
        plan = Plan(specs, settings, frozen.erasures)
        rates = verdict_rates(recorded_pairs(frozen, inputs, plan, out, show_progress))
        typer.echo(write_rates(rates, plan, spec, out))


def write_rates(rates: dict[str, Any], plan: "Plan", spec: "EvaluationSpec", out: Path) -> str:
    """Writes `verdicts.json` and `verdicts.md`; returns the document."""
    from explainers.comparison.standings import SMALLEST
    from explainers.report.verdict_tables import verdict_document

    about = {
        "command": command(spec, plan.settings),
        "model": spec.model,
        "samples": plan.settings.samples,
        "limit": SMALLEST,
        "split": split_note(spec),
    }
    document = verdict_document(rates, about)
    content = json.dumps({"about": about, **rates}, indent=1) + "\n"
    (out / "verdicts.json").write_text(content, encoding="utf-8")
    (out / "verdicts.md").write_text(document, encoding="utf-8")
    return document


def split_note(spec: "EvaluationSpec") -> str:
    """Which part of the published data the split is, where its name could mislead; otherwise empty."""
    texts_of_a_file = spec.data is not None and spec.data.is_file()
    return "" if texts_of_a_file else PUBLISHED.get((spec.model, spec.split), "")


def command(spec: "EvaluationSpec", settings: "Settings") -> str:
    """What to type to repeat it."""
    from explainers.evaluation.data_set import changed_options
    from explainers.models.bundle_cards import is_generated

    words = [f".venv/bin/python -m explainers verdicts --model {spec.model} --split {spec.split} --n {spec.n}"]
    words += [f"--methods {','.join(spec.methods)}"] if spec.methods else []
    words += changed_options(settings)
    words += [] if is_generated(spec.model) and spec.data is None else ["--data DIR"]
    return " ".join(words)
