"""The studies that explain or measure a data set: explain-set, consistency, simulatability, published metrics,
plausibility."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from explainers.commands import options
from explainers.models.ray_cluster import LOCAL, RAY, name_for_workers
from explainers.results.decision import EVALUATED_SAMPLING, Settings, checked_settings

DEFAULT_METHODS = "aml,cimi,ciem,ivra,gradient_x_input,integrated_gradients,occlusion,lime,kernel_shap"


def explain_set_command(
    model: options.ModelName = "sst2",
    data: options.UnseenData = None,
    split: options.SplitName = "test",
    n: options.InputCount = 300,
    methods: Annotated[
        str, typer.Option(help="Method ids, separated by commas; by default all that can explain the model.")
    ] = "",
    erasure: options.ExplainedUnder = "mask",
    unit: options.UnitName = "word",
    samples: options.Samples = 500,
    sampling: options.SamplingName = EVALUATED_SAMPLING,
    steps: options.Steps = 50,
    seed: options.Seed = 0,
    out: Annotated[
        Path, typer.Option(help="Folder of the explanations, which is --explanations of the other commands.")
    ] = Path("runs/explanations"),
    device: options.DeviceName = "auto",
    precision: options.PrecisionName = "float32",
    engine: Annotated[str, typer.Option(help="local, or ray: --processes workers of a cluster explain.")] = LOCAL,
    processes: options.RayWorkers = 1,
    address: options.RayAddress = "",
    yes: options.Yes = False,
) -> None:
    """Explain a data set once, for evaluation, consistency, simulatability and published-metrics, which measure it."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.evaluation.data_set import explained_set
        from explainers.evaluation.explanation_store import ExplanationStore, explain_set, saying_how_many_are_new
        from explainers.evaluation.ray_explanations import explain_set_with_ray

        options.check_ray(engine, address, processes)
        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        ids = options.given_ids(methods)
        explained = explained_set(
            "explain-set", model, data, split, n, ids, settings, device, out, costly=True, precision=precision
        )
        with saying_how_many_are_new(out, typer.echo):
            if engine == RAY:
                store, name = ExplanationStore(out), name_for_workers(model)
                reasons = explain_set_with_ray(name, explained, store, processes, address, options.show_progress)
            else:
                reasons = explain_set(
                    explained.model,
                    explained.inputs,
                    explained.specs,
                    settings,
                    explained.explain,
                    options.show_progress,
                )
        options.say_precision(precision, explained.precisions().get("precisions", {}))
        for method, reason in reasons.items():
            typer.echo(f"{method}: {reason}")


def consistency_command(
    model: options.ModelName = "sst2",
    data: options.UnseenData = None,
    split: options.SplitName = "test",
    n: options.InputCount = 150,
    methods: options.QuickMethods = "",
    erasure: options.ExplainedUnder = "mask",
    unit: options.UnitName = "word",
    samples: options.Samples = 500,
    sampling: options.SamplingName = EVALUATED_SAMPLING,
    steps: options.Steps = 50,
    seed: options.Seed = 0,
    explanations: options.ExplanationFolder = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("runs/consistency"),
    device: options.DeviceName = "auto",
    precision: options.PrecisionName = "float32",
    yes: options.Yes = False,
    json_: options.AsJson = False,
) -> None:
    """Measure CONS of every method: are inputs that the model represents alike explained alike?"""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.evaluation.data_set import explained_set
        from explainers.evaluation.explanation_store import saying_how_many_are_new
        from explainers.report.quantities import CONSISTENCY
        from explainers.studies.criteria import consistency_markdown, consistency_rows

        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        ids = options.given_ids(methods)
        explained = explained_set(
            "consistency", model, data, split, n, ids, settings, device, explanations, precision=precision
        )
        with saying_how_many_are_new(explanations, options.show_progress):
            rows = consistency_rows(
                explained.model, explained.inputs, explained.specs, settings, options.show_progress, explained.explain
            )
        table = {**explained.record, **explained.precisions(), "rows": rows}
        content = written(table, out / CONSISTENCY)
        typer.echo(content if json_ else consistency_markdown(table))


def simulatability_command(
    model: options.ModelName = "sst2",
    data: options.UnseenData = None,
    split: options.SplitName = "test",
    n: options.InputCount = 0,
    methods: options.QuickMethods = "",
    erasure: options.ExplainedUnder = "mask",
    unit: options.UnitName = "word",
    samples: options.Samples = 500,
    sampling: options.SamplingName = EVALUATED_SAMPLING,
    steps: options.Steps = 50,
    seed: options.Seed = 0,
    shown: Annotated[int, typer.Option(min=1, help="Inputs from which a student learns.")] = 30,
    students: Annotated[int, typer.Option(min=1, help="Students, each with inputs of its own.")] = 10,
    explanations: options.ExplanationFolder = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("runs/simulatability"),
    device: options.DeviceName = "auto",
    precision: options.PrecisionName = "float32",
    yes: options.Yes = False,
    json_: options.AsJson = False,
) -> None:
    """Measure SIM of every method: does a student who is told its explanations answer as the model more often?"""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.evaluation.data_set import explained_set
        from explainers.evaluation.explanation_store import saying_how_many_are_new
        from explainers.learned.student import unit_states
        from explainers.report.quantities import SIMULATABILITY
        from explainers.studies.criteria import simulatability_markdown, simulatability_rows

        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        ids = options.given_ids(methods)
        command = f"simulatability --shown {shown} --students {students}"
        explained = explained_set(
            command, model, data, split, n, ids, settings, device, explanations, precision=precision
        )
        with saying_how_many_are_new(explanations, options.show_progress):
            rows = simulatability_rows(
                explained.model,
                explained.inputs,
                explained.specs,
                settings,
                unit_states(),
                shown=shown,
                students=students,
                progress=options.show_progress,
                explain=explained.explain,
            )
        table = {**explained.record, **explained.precisions(), "shown": shown, "students": students, "rows": rows}
        content = written(table, out / SIMULATABILITY)
        typer.echo(content if json_ else simulatability_markdown(table))


def published_metrics_command(
    model: options.ModelName = "sst2",
    data: options.UnseenData = None,
    split: options.SplitName = "test",
    n: options.InputCount = 150,
    methods: options.QuickMethods = "",
    erasure: options.ExplainedUnder = "mask",
    unit: options.UnitName = "word",
    samples: options.Samples = 500,
    sampling: options.SamplingName = EVALUATED_SAMPLING,
    steps: options.Steps = 50,
    seed: options.Seed = 0,
    explanations: options.ExplanationFolder = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("runs/published_metrics"),
    device: options.DeviceName = "auto",
    precision: options.PrecisionName = "float32",
    yes: options.Yes = False,
    json_: options.AsJson = False,
) -> None:
    """Measure every method by the COMP and SUFF of AML, CIMI and CIEM, each as its authors define them."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.evaluation.data_set import explained_set
        from explainers.evaluation.explanation_store import saying_how_many_are_new
        from explainers.studies.published_metrics import PUBLISHED_METRICS, published_markdown, published_rows

        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        ids = options.given_ids(methods)
        explained = explained_set(
            "published-metrics", model, data, split, n, ids, settings, device, explanations, precision=precision
        )
        with saying_how_many_are_new(explanations, options.show_progress):
            rows = published_rows(
                explained.model, explained.inputs, explained.specs, settings, options.show_progress, explained.explain
            )
        table = {**explained.record, **explained.precisions(), "rows": rows}
        content = written(table, out / PUBLISHED_METRICS)
        typer.echo(content if json_ else published_markdown(table))


def plausibility_command(
    data: Annotated[
        Path, typer.Option(help="The unpacked folder of an ERASER data set, or a .csv, .jsonl or .parquet of items.")
    ],
    model: options.ModelName = "sst2",
    split: Annotated[str, typer.Option(help="train, val or test of an ERASER data set.")] = "test",
    n: Annotated[int, typer.Option(min=0, help="Number of items, taken at random by the seed; 0 takes all.")] = 0,
    methods: Annotated[str, typer.Option(help="Method ids, separated by commas.")] = DEFAULT_METHODS,
    costly: Annotated[
        int, typer.Option(min=0, help="Number of items for methods that ask the model more than 10 times per item.")
    ] = 20,
    erasure: options.ExplainedUnder = "mask",
    unit: options.UnitName = "word",
    samples: options.Samples = 500,
    sampling: options.SamplingName = "shared",
    steps: options.Steps = 50,
    seed: options.Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder for the results; an interrupted run continues.")] = Path(
        "runs/plausibility"
    ),
    device: options.DeviceName = "auto",
    yes: options.Yes = False,
    json_: options.AsJson = False,
) -> None:
    """Measure how well each method agrees with human rationales, beside what chance would reach."""
    with options.user_errors(), options.downloads(yes=yes):
        from explainers.annotations.formats.items_file import read_items
        from explainers.methods.registry import select
        from explainers.models.catalog import load
        from explainers.studies import plausibility
        from explainers.training.artifacts import check_fitted

        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        specs = select(options.split_ids(methods))
        frozen = load(model, device=device)
        check_fitted(frozen.name, frozen.version, specs)
        imported = read_items(data, split, frozen.labels)
        for problem in imported.problems():
            options.show_progress(problem)
        items = imported.sample(n, seed)
        measured = plausibility.measure_plausibility(
            frozen, items, plausibility.PlausibilityPlan(specs, settings, costly), out, options.show_progress
        )
        command = command_line(model, split, n, methods, costly, settings)
        table = plausibility.plausibility_table(frozen, measured, settings, command, f"{data.name} {split}", len(items))
        content, markdown = (
            written(table, out / plausibility.PLAUSIBILITY_FILE),
            plausibility.plausibility_markdown(table),
        )
        (out / plausibility.TABLE_FILE).write_text(markdown + "\n", encoding="utf-8")
        typer.echo(content if json_ else markdown)


def written(table: Mapping[str, Any], path: Path) -> str:
    """Write a study's table to the file, whose folder need not exist, and return it as JSON."""
    from explainers.results.manifest import strict_json

    content = strict_json(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content + "\n", encoding="utf-8")
    return content


def command_line(model: str, split: str, n: int, methods: str, costly: int, settings: Settings) -> str:
    """What to type to repeat it, on one line."""
    words = ["python -m explainers study plausibility --data DIR", f"--model {model} --split {split} --n {n}"]
    words += [f"--methods {methods}"] if methods != DEFAULT_METHODS else []
    words += [f"--costly {costly} --samples {settings.samples} --sampling {settings.sampling} --steps {settings.steps}"]
    words += [f"--erasure {settings.erasure}"] if settings.erasure != "mask" else []
    words += [f"--unit {settings.unit}"] if settings.unit != "word" else []
    return " ".join([*words, f"--seed {settings.seed}"])
