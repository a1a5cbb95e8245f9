"""Loads a model by its name.

Any classifier of the hub or of a local folder: a text model, a multimodal one, or a head on an encoder.

Nothing of a foreign model is trusted. Its tokenizer is opened and used in processes of their own. The model is built in
this one, but only after its numbers were compared with limits and with the weights in its files, so that no memory and
time beyond those of the files are taken; then it answers a text before anybody gets it. A rehearsal in a child would
double both (five seconds, and twice the memory), and every number that could hurt has been looked at before.
"""

import hashlib
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from weakref import WeakKeyDictionary

import torch
from torch import nn

from explainers.errors import ModelUnavailable
from explainers.models import bundle_cards, checks, model_files, model_names
from explainers.models import prompt as prompts
from explainers.models.decoder import DecoderBase, is_decoder
from explainers.models.encoder_decoder import EncoderBase
from explainers.models.foreign import classes, file_checks, hub_transfer, opened_tokenizer
from explainers.models.frozen_model import FrozenModel
from explainers.models.multimodal.head_cards import check_portable, encoder_parts, is_head
from explainers.models.precision import checked_precision
from explainers.models.prompted.loading import load_prompted


def available_devices() -> tuple[str, ...]:
    """Return the names of devices that this machine has, first "auto": the first CUDA GPU, else the processor."""
    gpus = tuple(f"cuda:{number}" for number in range(torch.cuda.device_count())) if torch.cuda.is_available() else ()
    return ("auto", "cpu", *gpus, *(("mps",) if torch.backends.mps.is_available() else ()))


def resolve_device(name: str) -> torch.device:
    """ "auto" and "cuda" are the first GPU, "auto" the processor where there is none. Raises `ModelUnavailable` for a
    device that this machine does not have."""
    if name == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device("cuda:0" if name == "cuda" else name)
        torch.empty(1, device=device).tolist()  # "meta" holds no numbers
    except (RuntimeError, AssertionError) as error:  # also what is not implemented
        raise ModelUnavailable(
            f"The device {name!r} is not available. Choose one of: {', '.join(available_devices())}."
        ) from error
    return device


def load(
    name: str,
    *,
    prompt: prompts.Prompt | None = None,
    device: str = "auto",
    precision: str = "float32",
    most_download: int | None = None,
    roots: tuple[Path, ...] | None = None,
) -> FrozenModel:
    """A frozen model by the name of a bundle, a hub id (`owner/model[@revision]`) or a folder.

    With a `prompt`, or as `MODEL:PROMPT`, a causal language model that classifies by class words; the prompt is saved,
    so that the model's name loads it again. With `roots`, a folder and the encoders of its head must lie inside one of
    them, links resolved.

    `device` is "auto" (a GPU if there is one), "cpu", "cuda:0" or "mps". With the `precision` "bfloat16", masks of an
    input are answered in it where a check against float32 shows the same leading units (`models.precision`).

    At most `most_download` bytes are fetched from the hub. Where a model needs more, nothing is fetched and
    `DownloadNotAllowed` is raised, whose `size` has bytes, files and parameters; of a head the parts before are fetched
    and kept, and the `size` is that of the part that exceeds it. Without a bound every download is allowed.

    Raises `ModelUnavailable` with a sentence, `ExplanationError` for an unknown precision.
    """
    chosen = checked_precision(precision)
    if prompt is not None:
        prompted = prompts.split_name(name)[0]
        model_names.resolve_model_name(f"{prompted}:{prompts.DEFAULT_PROMPT}", roots)  # before anything is saved
        name = f"{prompted}:{prompts.save_prompt(prompt)}"
    torch_device, resolved = resolve_device(device), model_names.resolve_model_name(name, roots)
    bounded = nullcontext() if most_download is None else hub_transfer.asking(hub_transfer.at_most(most_download))
    try:
        with bounded:
            model = _loaded(resolved, torch_device, roots)
    except hub_transfer.DownloadNotAllowed as error:
        if most_download is None:
            raise  # somebody else is asked
        raise error.with_step(f"Allow it with most_download={error.size.bytes}.") from error
    return model if chosen == model.precision else model.in_precision(chosen)


def _loaded(name: str, device: torch.device, roots: tuple[Path, ...] | None) -> FrozenModel:
    if name in bundle_cards.bundle_names():
        return load_bundle(bundle_cards.BUNDLES / name, device)
    if is_head(Path(name)):
        for part in encoder_parts(Path(name)).values():
            model_names.resolve_model_name(part, roots)
    return load_pretrained(name, device)


def load_bundle(folder: Path, device: torch.device) -> FrozenModel:
    """The embedded model of this folder, loaded by the package that its card names.

    Raises `ModelUnavailable` if the files are damaged or the architecture is not available.
    """
    architecture, available = (
        bundle_cards.architecture_of(bundle_cards.read_card(folder)),
        bundle_cards.architectures_with("bundle"),
    )
    if architecture not in available:
        reason = f"the architecture {architecture!r} is not available; there are {', '.join(available)}"
        raise bundle_cards.damaged_bundle(folder, reason)
    return cast(FrozenModel, bundle_cards.architecture_module(architecture, "bundle").load_bundle(folder, device))


def device_name(device: torch.device) -> str:
    """Return the name of a GPU, such as "NVIDIA H100 80GB HBM3", "CPU" or "MPS"."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type.upper()


def fingerprint(model: FrozenModel) -> str:
    """SHA-256 over every tensor of the model, which shows whether it was changed; empty without tensors."""
    digest, tensors = hashlib.sha256(), model.module.state_dict()
    if not tensors:
        return ""
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


CHECKSUMS: "WeakKeyDictionary[nn.Module, dict[str, str]]" = WeakKeyDictionary()  # of loaded models, by version


def checksum(model: FrozenModel) -> str:
    """Return the fingerprint of a model that nothing changes any more; it is computed once."""
    known = CHECKSUMS.setdefault(model.module, {})
    if model.version not in known:
        known[model.version] = fingerprint(model)
    return known[model.version]


EXPECTED = "a text classifier"
LANGUAGE_MODEL = " If it is a language model, give it a prompt, as in {name}:sst2."


def load_pretrained(name: str, device: torch.device) -> FrozenModel:
    """`name` is `owner/model`, `owner/model@revision` or a folder, with `:PROMPT` where it is a language model."""
    from explainers.models.multimodal.loading import ARCHITECTURES, load_head, load_vqa_model

    if is_head(Path(name)):
        return load_head(name, Path(name), device)
    if prompts.split_name(name)[1]:
        return load_prompted(name, device)
    source = model_files.ModelFiles(name)
    with file_checks.load_errors(name, EXPECTED):
        if source.folder is None and is_head(source.path) and not (source.path / model_files.CONFIG).is_file():
            check_portable(source.path)
            return load_head(name, source.path, device)
        config = source.config()
    if config.model_type in {architecture.model_type for architecture in ARCHITECTURES}:
        return load_vqa_model(source, config, device)
    with file_checks.load_errors(name, EXPECTED):
        model = _text_classifier(source, config)
        checks.check_answers(model)
        return replace(model, device=device)


def _text_classifier(source: model_files.ModelFiles, config: Any) -> FrozenModel:
    """On the CPU."""
    with opened_tokenizer.opening(source.name, source.path) as tokenizer:
        labels, network = _classifier(source, config)
        opened = tokenizer.result()
    reader = opened.isolated(config, checks.readable_tokens(config))
    module = checks.explainable(source.name, network, reader.tokens(checks.TRIALS[0].texts))
    ours, single = checks.in_our_form(module), network.config.num_labels == 1
    mask_token, replacement = checks.erasing_token(source.name, opened.mask, opened.unk, opened.eos if ours else None)
    return FrozenModel(
        name=source.name,
        labels=labels,
        module=classes.SingleLogit(module) if single else module,
        tokenizer=reader,
        mask_token=mask_token,
        pad_token=opened.pad if opened.pad is not None else mask_token,
        version=source.version(),
        segmented=opened.segmented and not ours,
        mean_pooled=isinstance(module.base_model, EncoderBase),
        last_token=isinstance(module.base_model, DecoderBase),
        replacement=replacement if ours else "",
        multi_label=source.multi_label and not single,
    )


def _classifier(source: model_files.ModelFiles, config: Any) -> tuple[tuple[str, ...], Any]:
    """The names of the classes and the library's network. Raises `ModelUnavailable`."""
    from transformers import AutoModelForSequenceClassification as Auto

    name, outputs = source.name, config.num_labels
    named = outputs == 2 and _has_single_logit(source.described(Auto, config), source.shapes)
    if named:
        config = source.config(outputs=1)
    if named or outputs == 1:
        labels: tuple[str, ...] = classes.two_classes(name, source.raw_config, named=named)
    else:
        labels = classes.class_names(name, source.raw_config, outputs)
    module, missing = source.module(Auto, config)
    if missing:
        writes = is_decoder(module) or ("lm_head.weight" in source.shapes and not config.is_encoder_decoder)
        raise ModelUnavailable(
            f"{name!r} is not a trained classifier: it has no weights for {', '.join(sorted(missing)[:3])}."
            f"{LANGUAGE_MODEL.format(name=name) if writes else ''}"
        )
    return labels, module


def _has_single_logit(described: dict[str, tuple[int, ...]], stored: dict[str, tuple[int, ...]]) -> bool:
    """Return whether the files differ from the network in nothing but one row where the head has two."""
    differing = [(shape, stored[key]) for key, shape in described.items() if stored.get(key, shape) != shape]
    return bool(differing) and all(ours == (2, *theirs[1:]) and theirs[0] == 1 for ours, theirs in differing)
