"""Fetches a model from the hub: only if that is allowed here, only the files that are read, and only after their sizes.

CROSSLIGHT_HUB   on (default) | off | ids that are allowed, separated by commas, such as `owner/model, owner/*`
"""

import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from explainers.errors import ModelUnavailable
from explainers.models.foreign import file_checks, hub_transfer, opened_tokenizer

HUB_VARIABLE = "CROSSLIGHT_HUB"
ANSWER_SECONDS = 4.0  # until the hub answers a question; asked once, and then the cache is read
HEAD = ("card.json", "head.safetensors")
OTHERS = (
    *opened_tokenizer.SETTINGS,
    *opened_tokenizer.VOCABULARIES,
    "preprocessor_config.json",
    "processor_config.json",
    file_checks.INDEX,
)


def check_hub_allowed(identifier: str) -> None:
    """Raises `ModelUnavailable` if this id may not be loaded here."""
    setting = os.environ.get(HUB_VARIABLE, "").strip() or "on"
    if setting.lower() == "on":
        return
    if setting.lower() == "off":
        raise ModelUnavailable(
            f"The model {identifier!r} is not available: the Hugging Face hub is switched off here "
            f"({HUB_VARIABLE}=off). Give an embedded model or a folder."
        )
    allowed = [part.strip() for part in setting.split(",") if part.strip()]
    if not any(fnmatchcase(identifier, pattern) for pattern in allowed):
        raise ModelUnavailable(
            f"The model {identifier!r} is not available: of the Hugging Face hub only {', '.join(allowed)} "
            f"may be loaded here ({HUB_VARIABLE})."
        )


def fetched_folder(identifier: str, revision: str | None, *, weights: bool = True) -> Path:
    """The folder with the files of a model, of one commit. Without an answer of the hub, what its cache holds.

    Without `weights` only those of the tokenizer.

    Raises `ModelUnavailable` if the id is not allowed, unknown or too large, or neither hub nor cache has it, and
    `DownloadNotAllowed` where whoever is asked does not allow the download.
    """
    check_hub_allowed(identifier)
    from huggingface_hub import HfApi, constants, snapshot_download, try_to_load_from_cache
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    constants.HF_HUB_DISABLE_XET = True  # whose downloads cannot be stopped
    constants.HF_HUB_DISABLE_TELEMETRY = True  # else a question about this process comes first, of three seconds
    try:
        info = HfApi().model_info(identifier, revision=revision, files_metadata=True, timeout=ANSWER_SECONDS)
    except GatedRepoError as error:
        raise ModelUnavailable(
            f"{identifier!r} is gated: ask its owner for access, and log in with `hf auth login`."
        ) from error
    except RevisionNotFoundError as error:
        raise ModelUnavailable(f"{identifier!r} has no revision {revision!r} on the Hugging Face hub.") from error
    except RepositoryNotFoundError as error:
        raise ModelUnavailable(
            f"There is no model {identifier!r} on the Hugging Face hub, or it is private."
        ) from error
    except Exception as error:  # offline, silent, or an answer that makes no sense
        return _cached_folder(identifier, revision, weights, error)
    sizes = {sibling.rfilename: sibling.size or 0 for sibling in info.siblings or []}
    names, current = _files_to_fetch(identifier, sizes, weights), hub_transfer.current_transfer()

    def missing() -> list[int]:
        """The sizes of the files that the cache lacks."""
        cached = {name: try_to_load_from_cache(identifier, name, revision=info.sha) for name in names}
        return [sizes[name] for name in names if not isinstance(cached[name], str)]

    lacking, parameters = missing(), getattr(getattr(info, "safetensors", None), "total", None)
    size = hub_transfer.DownloadSize(sum(lacking), len(lacking), parameters)
    hub_transfer.check_allowed(identifier, size, lambda: not missing())
    try:
        current.begin(size.bytes)
        options: dict[str, Any] = {"allow_patterns": names, "etag_timeout": ANSWER_SECONDS}
        return Path(
            snapshot_download(identifier, revision=revision, tqdm_class=hub_transfer.progress_bar(current), **options)
        )
    except Exception as error:
        if current.stopped:
            raise ModelUnavailable(
                f"The download of {identifier!r} was stopped. What is there is kept: asked for again, it goes on."
            ) from error
        raise ModelUnavailable(
            f"The files of {identifier!r} could not be fetched from the Hugging Face hub. Try again, or give a folder."
        ) from error


def complete_folder(name: str, *, weights: bool = True) -> Path | None:
    """The folder in the hub's cache with all files of `owner/model[@revision]` that are read; None where one of them is
    missing. Nothing is asked of the hub."""
    identifier, _, revision = name.partition("@")
    try:
        folder = _snapshot(identifier, revision or None, weights)
        if weights and not all((folder / part).is_file() for part in HEAD):
            file_checks.weight_files(identifier, folder)  # what is missing may not be known to the cache
        return folder
    except (ModelUnavailable, OSError, ValueError):
        return None


def _snapshot(identifier: str, revision: str | None, weights: bool) -> Path:
    """What the hub's cache holds. Raises where it knows that a file is missing: it keeps the names of all files, except
    of what earlier versions of its library have fetched."""
    from huggingface_hub import get_cached_repo_tree, snapshot_download
    from huggingface_hub.errors import CachedRepoTreeNotFoundError

    try:
        sizes = {file.path: file.size for file in get_cached_repo_tree(identifier, revision=revision)}
        names = _files_to_fetch(identifier, sizes, weights)
    except CachedRepoTreeNotFoundError:
        names = None
    return Path(snapshot_download(identifier, revision=revision, local_files_only=True, allow_patterns=names))


def _cached_folder(identifier: str, revision: str | None, weights: bool, reason: Exception) -> Path:
    try:
        return _snapshot(identifier, revision, weights)
    except Exception as error:
        raise ModelUnavailable(
            f"The model {identifier!r} could not be loaded: the Hugging Face hub does not answer "
            f"({type(reason).__name__}), and its cache does not hold it. Check the connection, or give a folder."
        ) from error


def _files_to_fetch(identifier: str, sizes: dict[str, int], weights: bool) -> list[str]:
    """Names in the main folder: a head, or a model with one file of weights or an index and its shards."""
    if set(HEAD) <= set(sizes) and "config.json" not in sizes:
        tensors, others = [HEAD[1]], [HEAD[0]]
    else:
        shards = [size for size in sizes if file_checks.SHARD.fullmatch(size)] if file_checks.INDEX in sizes else []
        tensors, others = (
            [file_checks.WEIGHTS] if file_checks.WEIGHTS in sizes else shards,
            [other for other in OTHERS if other in sizes],
        )
    if weights and not tensors:
        raise ModelUnavailable(
            f"{identifier} holds no .safetensors file; other weight formats can run code and are refused."
        )
    file_checks.check_model_bytes(identifier, sum(sizes[tensor] for tensor in tensors))
    for other in others:
        if sizes[other] > file_checks.MAX_FILE:
            raise ModelUnavailable(
                f"{other} of {identifier!r} takes {sizes[other] >> 20:,} MB; "
                f"at most {file_checks.MAX_FILE >> 20} MB are read."
            )
    return [*(tensors if weights else ()), *others]
