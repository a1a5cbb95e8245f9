"""Trainings on a local Ray cluster: the same weights as in one process, and what is refused."""

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from explainers import ExplanationError, load
from explainers.commands import ray_fits
from explainers.commands.training import fitted_card, run_fit
from explainers.installation import STORE_VARIABLE, VERSION, store
from explainers.training.artifacts import available_artifacts, own_folder
from explainers.training.spec import FitSpec, read_spec
from tests.commands.test_image_options import error_line, ran


@pytest.fixture
def spec(hub_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FitSpec:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    texts = tmp_path / "texts.txt"
    texts.write_text("".join(f"the good film was {'very ' * n}dull\n" for n in range(24)))
    few = (("epochs", "1"), ("validations", "1"))
    return FitSpec("aml", str(hub_folder), data=str(texts), variant="mine", settings=few, device="cpu")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Ray about its own settings
def test_a_cluster_fits_what_this_process_would(spec: FitSpec, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    specs = [spec, replace(spec, method="cimi")]
    said: list[str] = []
    try:
        cards = list(ray_fits.fits_with_ray(specs, 2, "", fitted_card, said.append))
    except ExplanationError as error:
        if "does not answer" not in str(error):
            raise
        pytest.skip(f"Ray cannot start its processes here: {error}")
    assert {card["method"] for card in cards} == {"aml", "cimi"}
    assert sum("is fitted, " in sentence for sentence in said) == 2
    model = cards[0]["model"]
    found = {one.method: one for one in available_artifacts(model["name"], model["version"])}
    for one in specs:
        local = run_fit(replace(one, out=str(tmp_path / "local"), folder=str(tmp_path / one.method)))
        assert isinstance(local, dict)
        assert found[one.method].card["command"] == local["command"]
        here, there = (
            load_file(tmp_path / "local" / f"{one.method}-mine.safetensors"),
            load_file(found[one.method].path),
        )
        assert here.keys() == there.keys()
        assert all(here[name].equal(there[name]) for name in here)


@pytest.fixture
def threads() -> Iterator[None]:
    """A task computes with one thread; the tests after it do not."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("name", ["texts.txt", "out", "run"])
def test_a_task_sends_back_what_it_wrote(spec: FitSpec, tmp_path: Path, name: str) -> None:
    spec = replace(spec, data=str(Path(spec.data).rename(tmp_path / name)))
    content, data = ray_fits._sendable(spec)
    Path(spec.data).unlink()  # which the worker's machine does not have
    sent = ray_fits.fitted(content, data, load(spec.model).version, VERSION, fitted_card)
    assert sent["problem"] == ""
    assert sorted(sent["files"]) == ["aml-mine.json", "aml-mine.safetensors"]
    ray_fits._store(spec, sent)
    model = sent["card"]["model"]
    (found,) = available_artifacts(model["name"], model["version"])
    assert (found.method, found.variant, found.card) == ("aml", "mine", sent["card"])
    assert store().stat().st_mode & 0o077 == 0


def test_a_narrator_goes_to_the_narrators_and_its_card_comes_last(
    spec: FitSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"cause.json": b"card", "cause.safetensors": b"weights", "cause.words.json": b"words"}
    moved: list[str] = []
    replaced = Path.replace
    monkeypatch.setattr(Path, "replace", lambda path, to: moved.append(path.name) or replaced(path, to))
    card = {"model": {"name": "small", "version": "1"}}
    ray_fits._store(replace(spec, method="cause", out=""), ray_fits.Sent(card=card, files=files, problem=""))
    assert sorted(path.name for path in own_folder("small", "1", "narrative").iterdir()) == sorted(files)
    assert moved[-1] == "cause.json"
    taken = tmp_path / "file"
    taken.write_text("x")
    with pytest.raises(ExplanationError, match=r"cannot be written: .* Choose another folder"):
        ray_fits._store(replace(spec, out=str(taken)), ray_fits.Sent(card=card, files=files, problem=""))


@pytest.mark.usefixtures("threads")
def test_what_fails_on_a_worker_is_a_sentence(spec: FitSpec) -> None:
    content, data = ray_fits._sendable(spec)
    model = load(spec.model).version
    other = ray_fits.fitted(content, data, model, "0.0", fitted_card)
    assert other["problem"].startswith(f"a worker of the cluster has Crosslight {VERSION} instead of 0.0.")
    changed = ray_fits.fitted(content, data, "another", VERSION, fitted_card)
    assert changed["problem"].startswith("a worker of the cluster has another ")
    few = ray_fits.fitted(content, b"one text\n", model, VERSION, fitted_card)
    assert few["problem"].startswith("A method learns from 20 to 20,000 different texts; 1 given.")
    assert few["files"] == other["files"] == changed["files"] == {}


def test_the_gpu_of_a_task_is_the_only_one_that_it_has(spec: FitSpec) -> None:
    content, _ = ray_fits._sendable(replace(spec, device="cuda:1", out="runs/here"))
    assert (read_spec(content).device, read_spec(content).out) == ("cuda", "")


class Cluster:
    """Tasks that run when they are waited for; the most that waited at once is kept."""

    def __init__(self, outcome: Callable[[str], ray_fits.Sent]) -> None:
        self.outcome, self.waiting, self.most = outcome, dict[int, str](), 0

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 8.0}

    def remote(self, **options: Any) -> Callable[[Any], Any]:
        assert options == {"num_cpus": 1, "num_gpus": None, "max_retries": 3}
        return lambda _function: SimpleNamespace(remote=self.submit)

    def submit(self, content: str, *_rest: Any) -> int:
        number = max(self.waiting, default=0) + 1
        self.waiting[number] = content
        self.most = max(self.most, len(self.waiting))
        return number

    def wait(self, given: list[int], num_returns: int) -> tuple[list[int], list[int]]:
        return given[:num_returns], given[num_returns:]

    def get(self, number: int) -> ray_fits.Sent:
        return self.outcome(read_spec(self.waiting.pop(number)).method)


def test_one_that_fails_does_not_end_the_others(spec: FitSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    card = {"model": {"name": "small", "version": "1"}}
    cluster = Cluster(
        lambda method: ray_fits.Sent(
            card=card, files={f"{method}-mine.json": b"{}"}, problem="No list of layers." if method == "aml" else ""
        )
    )
    monkeypatch.setattr(ray_fits, "connected", lambda _workers, _address: nullcontext(cluster))
    specs = [replace(spec, method=method) for method in ("aml", "cimi", "ciem")]
    said: list[str] = []
    fits = ray_fits.fits_with_ray(specs, 2, "", fitted_card, said.append)
    assert [next(fits), next(fits)] == [card, card]
    assert said == ["cimi (mine) is fitted, 2 of 3.", "ciem (mine) is fitted, 3 of 3."]
    with pytest.raises(ExplanationError, match=r"^aml \(mine\): No list of layers\.$"):
        next(fits)
    assert cluster.most == 2  # as many as there are workers


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"resume": True}, "--resume does not go with --engine ray"),
        ({"folder": "runs/mine"}, "--folder does not go with --engine ray"),
        ({"full": True}, "--full does not go with --engine ray"),
        ({"method": "lime"}, "'lime' does not learn"),
        ({"settings": (("depth", "3"),)}, "aml has no setting 'depth'"),
        ({"data": "gone.txt"}, "The file or folder gone.txt does not exist"),
        ({"method": "cause", "variant": "", "settings": (("depth", "3"),)}, "no setting 'depth'"),
    ],
)
def test_what_a_task_cannot_do_is_refused_before_the_cluster_is_asked(
    spec: FitSpec, changes: dict[str, Any], sentence: str
) -> None:
    fits = ray_fits.fits_with_ray([replace(spec, **changes)], 1, "127.0.0.1:1", fitted_card, print)
    with pytest.raises(ExplanationError, match=sentence):
        next(fits)


def test_a_model_that_is_not_there_is_refused_before_the_cluster_is_asked(spec: FitSpec) -> None:
    fits = ray_fits.fits_with_ray([replace(spec, model="runs/gone")], 1, "127.0.0.1:1", fitted_card, print)
    with pytest.raises(ExplanationError, match="runs/gone"):
        next(fits)


def test_without_ray_it_is_named(spec: FitSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ExplanationError, match=r"not installed\. Install it with: pip install 'crosslight\[ray\]'"):
        next(ray_fits.fits_with_ray([spec], 1, "", fitted_card, print))


@pytest.mark.usefixtures("threads")
def test_weights_that_are_replaced_and_what_a_card_warns_of_are_said(
    spec: FitSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    spec = replace(spec, folder=str(tmp_path / "run"))
    run_fit(spec, said.append)
    assert not any("replaces" in sentence for sentence in said)
    said.clear()
    monkeypatch.setattr(
        "explainers.learned.fit.fit_to", lambda *_given, **_named: {"method": "aml", "warnings": ["Odd."]}
    )
    run_fit(spec, said.append)
    assert said[0].startswith("aml (mine) learns from ")
    assert said[1].startswith("This replaces the weights of aml (mine) in ")
    assert said[2:] == ["aml: Odd."]
    assert run_fit(replace(spec, resume=True), said.append)
    assert len([sentence for sentence in said if "replaces" in sentence]) == 1  # a resumed one goes on


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--engine", "dask"), "Unknown engine 'dask'. Choose one of: local, ray."),
        (("--address", "auto"), "--address names a Ray cluster. Add --engine ray, or omit it."),
        (("--processes", "2"), "--processes is the number of Ray's workers. Add --engine ray, or omit it."),
        (
            ("--engine", "ray", "--address", "127.0.0.1:1"),
            "No Ray cluster answers at '127.0.0.1:1'. Give the HOST:PORT of its head, or auto on one of its machines.",
        ),
    ],
)
def test_wrong_engines_are_a_sentence(words: tuple[str, ...], sentence: str) -> None:
    assert error_line(ran("fit", "aml", "--model", "sst2", *words)) == sentence
