"""`python -m explainers explain`: one input, several methods, and the metrics of each; or the scores of many."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from explainers.commands import options
from explainers.datasets.example import Example, InputImage
from explainers.datasets.labelled_rows import Columns
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import base_id, check_applicable, default_methods, select, selection
from explainers.results.decision import DEFAULT_SAMPLING, UNTIL_SETTLED, checked_budget, checked_settings

if TYPE_CHECKING:
    from explainers.methods.registry import MethodSpec
    from explainers.models.frozen_model import FrozenModel

TABLE_SUFFIXES = (".csv", ".parquet")
OF_ONE = ("text", "text_pair", "image", "beside", "attributions", "html", "opened", "superpixels", "budget", "json_")
OPTIONS = {"opened": "open", "json_": "json"}  # that are called otherwise


def explain_command(
    context: typer.Context,
    text: Annotated[
        str | None, typer.Option(help="The text to explain; of a pair the first, such as the premise.")
    ] = None,
    text_pair: Annotated[str | None, typer.Option(help="The second text of a pair, such as the hypothesis.")] = None,
    image: Annotated[
        Path | None, typer.Option(help="A PNG, JPEG, WebP, GIF or BMP file that the text is about.")
    ] = None,
    model: options.ModelName = "sst2",
    beside: Annotated[
        str | None,
        typer.Option(help="A second model, row by row below the first; methods are compared by rank."),
    ] = None,
    prompt: Annotated[
        Path | None,
        typer.Option(help="A YAML file with the template and class words that make a language model a classifier."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help=f"Ids of methods and narrators, separated by commas; by default {', '.join(default_methods())}, and "
            f"without --beside those of the narrators ({', '.join(NARRATORS.ids)}) that are fitted to the model."
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--class", "--label", help="The class to explain; by default the predicted one.")
    ] = None,
    versus: Annotated[
        str | None,
        typer.Option(help="Another class: explain the class rather than this one, p(one)/(p(one)+p(other))."),
    ] = None,
    erasure: Annotated[
        str | None,
        typer.Option(
            help="mask, delete, zero, or blur for images; by default mask, or delete for models without a mask token."
        ),
    ] = None,
    unit: options.UnitName = "word",
    opened: Annotated[
        str,
        typer.Option(
            "--open",
            help="With --unit sentence: numbers of sentences from 0, as in 0,3. Only their words are explained.",
        ),
    ] = "",
    superpixels: Annotated[
        int, typer.Option(min=0, help="Cut the image into this many superpixels; for models without patch tokens.")
    ] = 0,
    attributions: Annotated[
        Path | None,
        typer.Option(help="A .jsonl file with scores of this text made elsewhere; each of its methods becomes a row."),
    ] = None,
    samples: options.Samples = UNTIL_SETTLED,
    sampling: options.SamplingName = DEFAULT_SAMPLING,
    steps: options.Steps = 50,
    seed: options.Seed = 0,
    budget: options.BudgetSeconds = None,
    device: options.DeviceName = "auto",
    precision: options.PrecisionName = "float32",
    yes: options.Yes = False,
    json_: options.AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Also write a stand-alone page to this file.")] = None,
    table: Annotated[
        Path | None, typer.Option(help="Also write the scores to this .csv or .parquet file, a row per unit.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Explain every row of this .csv, .tsv, .jsonl, .parquet or .txt file, and write the scores to "
            "--table; an interrupted run goes on.",
            rich_help_panel=options.TABLE_ROWS,
        ),
    ] = None,
    column: options.TextColumn = "text",
    pair_column: options.PairColumn = "",
    image_column: options.ImageColumn = "",
    id_column: options.IdColumn = "",
) -> None:
    """Explain one input with several methods, and measure each explanation; or every row of a table."""
    with options.user_errors(), options.downloads(yes=yes):
        if data is not None:
            return typer.echo(explain_table(data, context.params))
        numbers, seconds = sentence_numbers(opened), checked_budget(budget)
        checked_settings(unit, erasure or "mask", samples, steps, seed, sampling, numbers)
        check_table(table)
        check_places(table, html)
        if beside is not None and (attributions is not None or html is not None or table is not None or superpixels):
            raise ExplanationError(
                "--attributions, --superpixels, --html and --table are about one model. Omit them, or --beside."
            )
        ids = None if methods is None else options.split_ids(methods)
        chosen = () if ids is None else selection(ids).methods
        example = given_example(text, text_pair, image)

        from explainers.api import compare, explain_beside  # takes seconds; whose options are wrong need not wait
        from explainers.models.catalog import load
        from explainers.models.inputs.requirements import check_image, check_text_count
        from explainers.models.prompt import read_prompt
        from explainers.report.document import document
        from explainers.report.tables import write_frame
        from explainers.report.terminal import comparison_lines
        from explainers.report.two_models import failure_notes, pair_lines
        from explainers.results.manifest import strict_json
        from explainers.training.artifacts import check_fitted

        frozen = load(model, prompt=None if prompt is None else read_prompt(prompt), device=device, precision=precision)
        settings = checked_settings(unit, erasure or frozen.default_erasure, samples, steps, seed, sampling, numbers)
        check_image(frozen.name, example, multimodal=frozen.multimodal)
        check_text_count(frozen.name, frozen.input_names, example)
        check_applicable(chosen, example)
        check_fitted(frozen.name, frozen.version, [spec for spec in select(chosen) if spec.id != base_id(spec.id)])
        frozen = with_superpixels(frozen, superpixels)
        if beside is not None:
            pair = explain_beside(
                frozen,
                load(beside, device=device, precision=precision),
                example,
                methods=ids,
                label=label,
                versus=versus,
                erasure=erasure,
                unit=unit,
                samples=samples,
                steps=steps,
                seed=seed,
                sampling=sampling,
                opened=numbers,
                budget=seconds,
            )
            for one in (pair.first, pair.second):
                if one.failures and not (one.results or one.narratives):
                    raise ExplanationError(next(failure_notes(one, one.decision.card.name)))
            if pair.first.order and not pair.second.order:
                name = pair.second.decision.card.name
                raise ExplanationError(f"None of these methods is fitted to {name}. Choose others with --methods.")
            return typer.echo(strict_json(pair.as_dict()) if json_ else "\n".join(pair_lines(pair)))
        given = specs_from_file(attributions, example)
        note = options.show_progress if sys.stderr.isatty() else None
        comparison = compare(
            frozen,
            example,
            ids,
            label=label,
            versus=versus,
            settings=settings,
            given=given,
            seconds=seconds,
            note=note,
        )
        if comparison.failures and not (comparison.results or comparison.narratives):
            raise ExplanationError(comparison.failures[0].reason)
        if html is not None:
            write_page(html, document(comparison))
        if table is not None:
            write_frame(table, comparison.to_frame("scores"))
        typer.echo(comparison.as_json() if json_ else "\n".join(comparison_lines(comparison)))


def sentence_numbers(opened: str) -> tuple[int, ...]:
    """From "0,3" to both numbers. Raises `ExplanationError` for anything else."""
    numbers = opened.split(",") if opened else []
    if not all(number.strip().isdecimal() for number in numbers):
        raise ExplanationError(f"--open needs numbers of sentences, such as 0,3, not {opened!r}.")
    return tuple(map(int, numbers))


def specs_from_file(path: Path | None, example: "Example") -> "tuple[MethodSpec, ...]":
    """The methods of a file that score this input. Raises `DataUnavailable` if there are none."""
    from explainers.annotations.formats.attributions_file import read_attributions, read_scores
    from explainers.datasets.tables import decode_text

    if path is None:
        return ()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ExplanationError(f"{path.name} cannot be read: {error.strerror}.") from error
    file = read_scores(content, path.name) or read_attributions(decode_text(content, path.name))
    for problem in file.problems():
        options.show_progress(problem)
    return tuple(row.spec for row in file.of(example))


def with_superpixels(model: "FrozenModel", count: int) -> "FrozenModel":
    """The same model with superpixels as image units, or as it is for 0. Raises `ExplanationError` for a model that
    reads no images."""
    if not count:
        return model
    from explainers.models.multimodal.blending import Superpixels
    from explainers.models.multimodal.model import MultimodalModel

    if not isinstance(model, MultimodalModel):
        raise ExplanationError(f"{model.name} reads no images that could be cut into superpixels. Omit --superpixels.")
    return model.with_patching(Superpixels(count))


def given_example(text: str | None, text_pair: str | None, image: Path | None) -> Example:
    """Return the input. Raises `ExplanationError` without a text, and `DataUnavailable` for a file that is no image."""
    if text is None:
        raise ExplanationError("There is no text. Give one with --text, or a table of them with --data.")
    example = Example(text, text_pair, image=None if image is None else InputImage(path=image))
    if example.image is not None:
        _ = example.image.size
    return example


def explain_table(data: Path, typed: Mapping[str, Any]) -> str:
    """Explain every row of a table with what was `typed`; return a summary. Raises `ExplanationError`."""
    if of_one := [name for name in OF_ONE if typed[name] not in (None, "", 0, False)]:
        named = ", ".join(f"--{OPTIONS.get(name, name).replace('_', '-')}" for name in of_one)
        are, them = ("is", "it") if len(of_one) == 1 else ("are", "them")
        raise ExplanationError(f"{named} {are} about one input. Omit {them}, or --data.")
    if typed["table"] is None:
        raise ExplanationError("Say with --table where the scores are written, as in --table scores.parquet.")
    check_table(typed["table"])
    check_places(typed["table"])
    if typed["table"].resolve() == data.resolve():
        raise ExplanationError(f"--table {data} would replace the data. Choose another file for the scores.")
    chosen = selection(() if typed["methods"] is None else options.split_ids(typed["methods"]))
    if chosen.narrators:
        raise ExplanationError("A table holds scores, and narrators write sentences. Omit them from --methods.")
    unit, drawn = typed["unit"], tuple(typed[name] for name in ("samples", "steps", "seed", "sampling"))
    checked_settings(unit, typed["erasure"] or "mask", *drawn)
    columns = Columns(typed["column"], typed["pair_column"], id=typed["id_column"], image=typed["image_column"])
    options.check_columns(data, columns)

    from explainers.commands.explain_rows import RowsPlan, explain_rows  # takes seconds
    from explainers.models.catalog import load
    from explainers.models.prompt import read_prompt

    prompt = None if typed["prompt"] is None else read_prompt(typed["prompt"])
    model = load(typed["model"], prompt=prompt, device=typed["device"], precision=typed["precision"])
    settings = checked_settings(unit, typed["erasure"] or model.default_erasure, *drawn)
    methods = tuple(chosen.methods or default_methods())
    plan = RowsPlan(typed["table"], methods, typed["label"], typed["versus"], settings)
    return explain_rows(model, data, columns, plan, chosen.methods)


def check_places(*paths: Path | None) -> None:
    """Raise `ExplanationError` where a file cannot be written, before anything is computed."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise ExplanationError(f"{path.parent} is no folder. Make it, or choose another place for {path.name}.")


def check_table(path: Path | None) -> None:
    if path is not None and path.suffix.lower() not in TABLE_SUFFIXES:
        raise ExplanationError(
            f"A table cannot be written as {path.name!r}. Give a file name that ends in {' or '.join(TABLE_SUFFIXES)}."
        )


def write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ExplanationError(f"The page cannot be written to {path}: {error.strerror}.") from error
