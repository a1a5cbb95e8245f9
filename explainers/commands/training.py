"""`crosslight train-model` and `crosslight train-head`: an embedded model, and a classifier on a frozen encoder."""

import json
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import DeviceName, Seed, Yes, downloads, image_files, user_errors
from explainers.errors import ExplanationError


def train_model_command(
    name: Annotated[str, typer.Argument(help="The embedded model to train, such as sst2.")],
    data: Annotated[Path | None, typer.Option(help="Folder with the data; by default the hub.")] = None,
    epochs: Annotated[int | None, typer.Option(help="For text models; by default 3.")] = None,
    steps: Annotated[int | None, typer.Option(help="For models trained on generated data; by default 10,500.")] = None,
    rank: Annotated[int, typer.Option(help="LoRA rank; 0 trains the encoder layers themselves.")] = 0,
    learning_rate: Annotated[float | None, typer.Option(help="By default that of the model's recipe.")] = None,
    seed: Seed = 0,
    uniform_masking: Annotated[
        bool,
        typer.Option(
            "--uniform-masking", help="For text models: mask a random share, 0 to 100 %, of every other text."
        ),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the bundle; by default assets/bundles/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue after the last finished epoch.")] = False,
) -> None:
    """Train an embedded model and write its bundle."""
    with user_errors():
        from explainers.models.tasks import TrainingOptions, make_bundle

        options = TrainingOptions(data, out, resume, epochs, steps, rank, learning_rate or None, seed, uniform_masking)
        typer.echo(json.dumps(make_bundle(name, options), indent=2))


def train_head_command(
    encoder: Annotated[str, typer.Argument(help="CLIP, VisualBERT, FLAVA or Qwen2-VL: a hub id or a folder.")],
    data: Annotated[Path, typer.Option(help="The annotations to learn from.")],
    format_: Annotated[str, typer.Option("--format", help="esnlive, hateful_memes, vqa_x or table.")],
    images: Annotated[Path, typer.Option("--pictures", help="The folder of the images.")],
    out: Annotated[Path, typer.Option(help="Folder of the head, which is then a model name.")],
    vision: Annotated[str, typer.Option(help="For VisualBERT: the vision model that embeds the image.")] = "",
    tokenizer: Annotated[str, typer.Option(help="A tokenizer, if the encoder comes without one.")] = "",
    seed: Seed = 0,
    device: DeviceName = "auto",
    yes: Yes = False,
) -> None:
    """Train a classifier head on a frozen encoder of images and texts, from a published set."""
    with user_errors(), downloads(yes=yes):
        from explainers.datasets.images.sets import image_set
        from explainers.models.catalog import resolve_device
        from explainers.models.multimodal.head_training import HeadRecipe, fit_head

        files = image_files(format_, images)
        if files is None or not data.is_file():
            raise ExplanationError(f"The file {data} does not exist.")
        annotated = files.read(data)
        recipe = HeadRecipe(vision=vision, tokenizer=tokenizer, input_names=image_set(format_).input_names, seed=seed)
        if annotated.warning:
            typer.echo(annotated.warning, err=True)
        labelled = [example for example in annotated.examples if example.label is not None]
        card = fit_head(encoder, labelled, annotated.labels, recipe, out, device=resolve_device(device))
        typer.echo(json.dumps(card, indent=2))
