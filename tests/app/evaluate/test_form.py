"""What an evaluation costs, as the page says before it starts."""

import copy
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from threading import Event
from typing import cast

import pytest
import torch
from PIL import Image

from app.evaluate import form
from app.evaluate.data_form import SubmittedData
from app.evaluate.form import cost
from app.evaluate.state import Remaining
from app.model_info import ModelInfo
from app.model_pool import ModelPool, Placed
from app.server.login import Account
from app.train.jobs import Jobs
from explainers.datasets.images.files import zipped_table
from explainers.datasets.labelled_rows import InputRow
from explainers.evaluation.set_spec import SetSpec
from explainers.models import catalog
from explainers.models.foreign.hub_transfer import DownloadNotAllowed, DownloadSize, check_allowed
from explainers.models.frozen_model import FrozenModel
from tests.pages.conftest import scene_model

INFO = ModelInfo(("negative", "positive"), ("text",), version="1")


def rows(count: int) -> SubmittedData:
    return SubmittedData(rows=tuple(InputRow(str(number), f"a good film {number}") for number in range(count)))


def test_sanity_checks_cost_time(bag: Callable[..., FrozenModel], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "_seconds_per_pass", lambda *_: 1.0)
    monkeypatch.setattr(form, "duration", lambda seconds: f"{seconds:.0f} s")
    monkeypatch.setattr(catalog, "load", lambda name, *, device, roots: bag({"a": 0.0, "good": 2.0, "film": 0.25}))
    pool = ModelPool()
    pool.model("bag")
    spec = SetSpec("bag", "", methods=("occlusion",))  # a pass for each of the four words, and one without any erased
    lines = [cost(pool, replace(spec, sanity=number), rows(12), INFO) for number in (0, 6, 100)]
    without, some, all_ = (float(line.split("about ")[1].split(" s")[0]) for line in lines)
    assert (some - without, all_ - without) == (6 * 8 * 5, 12 * 8 * 5)
    pool.wait()


def test_a_brief_evaluation_is_said_to_take_fewer_passes() -> None:
    spec = SetSpec("sst2", "", methods=("occlusion", "kernel_shap", "faml"))
    brief, thorough = (cost(ModelPool(), replace(spec, thorough=way), rows(12), INFO) for way in (False, True))
    said = [int(line.split("at most ")[1].split(" passes")[0].replace(",", "")) for line in (brief, thorough)]
    assert said[0] < said[1] / 2


def test_the_remaining_time_follows_the_last_inputs() -> None:
    remaining = Remaining()
    assert [remaining.seconds(done, 60.0 + done, 100) for done in range(1, 6)] == [None] * 5  # the model was loaded
    assert remaining.seconds(6, 66.0, 100) == 94  # a second each
    assert remaining.seconds(7, 68.0, 100) == 94  # 7 s for 6 inputs: 108 s would be 15 % longer than was said
    assert remaining.seconds(7, 68.0, 100) == 94
    assert remaining.seconds(17, 78.0, 100) == pytest.approx(17 / 16 * 83)
    assert remaining.seconds(37, 178.0, 100) == 5 * 63  # 5 s each of the last 20


def test_one_slow_input_seldom_makes_the_remaining_time_rise(monkeypatch: pytest.MonkeyPatch) -> None:
    def rises() -> int:
        remaining, clock, said = Remaining(), 0.0, []
        for done in range(1, 100):
            clock += 3.0 if done % 7 == 0 else 1.0
            said.append(remaining.seconds(done, clock, 100))
        known = [seconds for seconds in said if seconds is not None]
        assert len(known) == 94
        return sum(later > before for before, later in pairwise(known))

    with_tolerance = rises()
    monkeypatch.setattr("app.evaluate.state.LONGER", 1.0)
    assert (with_tolerance, rises() >= 3) == (1, True)


def test_after_a_resumption_only_what_is_done_since_counts() -> None:
    remaining = Remaining(started=10_000.0)
    assert remaining.seconds(50, 2_000.0, 200) is None  # the last input before the pause
    assert [remaining.seconds(50 + done, 10_020.0 + done, 200) for done in range(1, 6)] == [None] * 5
    assert remaining.seconds(56, 10_026.0, 200) == 144


@pytest.mark.parametrize(("seconds", "said"), [(0.01, False), (100.0, True)])
def test_what_takes_hours_is_said_to_have_a_shorter_way(
    bag: Callable[..., FrozenModel], monkeypatch: pytest.MonkeyPatch, seconds: float, said: bool
) -> None:
    monkeypatch.setattr(form, "_seconds_per_pass", lambda *_: seconds)
    monkeypatch.setattr(catalog, "load", lambda name, *, device, roots: bag({"a": 0.0, "good": 2.0, "film": 0.25}))
    pool = ModelPool()
    pool.model("bag")
    line = cost(pool, SetSpec("bag", "", methods=("occlusion",)), rows(12), INFO)
    assert ("--unit sentence in the terminal." in line) is said
    pool.wait()


def test_a_text_in_windows_is_timed_whole(bert: FrozenModel) -> None:
    bert.tokenizer.enable_truncation(6)
    read: list[int] = []
    answers = bert._answers
    bert._answers = lambda encoding, *given: read.append(len(encoding.windows)) or answers(encoding, *given)  # type: ignore
    form._seconds_per_pass.__wrapped__("small", "1", "cpu", bert, "good film but dull plot the bad very", None)
    assert max(read) == 2


def test_a_model_on_another_device_is_timed_anew(bert: FrozenModel) -> None:
    timed: list[str] = []

    def on(device: str) -> FrozenModel:
        model = copy.copy(bert)
        model.version, model.device = "timed by device", torch.device(device)
        model.probabilities = lambda *_given: timed.append(device)  # type: ignore[method-assign, assignment]
        return model

    pool = ModelPool()
    for device in ("cpu", "cuda:0", "cpu"):
        pool.models = OrderedDict({Placed("small", device): on(device)})
        cost(pool, SetSpec("small", ""), rows(12), INFO)
    assert timed == ["cpu", "cpu", "cuda:0", "cuda:0"]  # the first batch of either warms up


def test_a_refused_download_is_said_and_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    drawn = Event()

    def load(name: str, **_rest: object) -> FrozenModel:
        assert drawn.wait(60)
        loads.append(name)
        raise DownloadNotAllowed(name, DownloadSize(1_340_000_000, 6))

    monkeypatch.setattr(catalog, "load", load)
    monkeypatch.setattr(form.st, "rerun", lambda scope: reruns.append(scope))
    monkeypatch.setattr(form, "submit", None)
    pool, spec, reruns = ModelPool(), SetSpec("owner/large", ""), list[str]()
    pool.needed.set()
    form.start(cast(Jobs, None), pool, cast(Account, None), spec, rows(12), INFO)
    assert reruns == []  # it is not known yet
    drawn.set()
    pool.wait()
    form._cost(pool, spec, rows(12), INFO, unknown=True)  # a tick
    assert reruns == ["app"]  # which ends the ticks
    form.start(cast(Jobs, None), pool, cast(Account, None), spec, rows(12), INFO)
    pool.wait()
    assert loads == ["owner/large"]
    assert cost(pool, spec, rows(12), INFO).endswith(
        "The time is unknown: 'owner/large' is not on this machine; fetching it takes 1.3 GB in 6 files. "
        "Download it on Compare first. Starting fetches it too."
    )


def test_a_refusal_is_forgotten_where_the_model_was_fetched_since(
    bag: Callable[..., FrozenModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Event()

    def load(name: str, **_rest: object) -> FrozenModel:
        check_allowed(name, DownloadSize(0 if there.is_set() else 1_340_000_000, 6), there.is_set)
        return bag({"a": 0.0, "good": 2.0, "film": 0.25})

    monkeypatch.setattr(catalog, "load", load)
    pool, spec = ModelPool(), SetSpec("owner/large", "")
    for line in ("Download it on Compare first. Starting fetches it too.", " on this machine."):
        form.start(cast(Jobs, None), pool, cast(Account, None), spec, rows(12), INFO)
        pool.wait()
        assert cost(pool, spec, rows(12), INFO).endswith(line)
        there.set()  # as by a training


def test_of_an_image_that_is_damaged_behind_its_header_the_time_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    model, pool = scene_model(), ModelPool()
    monkeypatch.setattr(catalog, "load", lambda name, *, device, roots: model)
    pool.model("scenes")
    image, file = BytesIO(), BytesIO()
    Image.effect_noise((400, 100), 50).save(image, "PNG")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mine.csv", "text,image\nThere is a square.,a.png\n")
        archive.writestr("a.png", image.getvalue()[:1000])
    data = replace(rows(1), zipped=zipped_table(file.getvalue(), "mine.zip", (".csv",)))
    data = replace(data, rows=(replace(data.rows[0], image="a.png"),))
    line = cost(pool, SetSpec("scenes", "", methods=("occlusion",)), data, replace(INFO, multimodal=True))
    assert "The time is unknown: a.png: The file is damaged." in line
    pool.wait()


@pytest.mark.parametrize(("count", "few"), [(9, True), (10, False)])
def test_too_few_inputs_are_said_before_the_start(count: int, few: bool) -> None:
    line = cost(ModelPool(), SetSpec("bag", ""), rows(count), INFO)
    assert line.startswith(f"{count} inputs × ")
    assert ("No method can be recommended from fewer than 10 inputs." in line) == few


def test_the_time_is_said_once_the_model_is_loaded(
    bag: Callable[..., FrozenModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, pool = bag({"a": 0.0, "good": 2.0, "film": 0.25}), ModelPool()
    monkeypatch.setattr(catalog, "load", lambda name, *, device, roots: model)
    assert cost(pool, SetSpec("bag", ""), rows(12), INFO).endswith("The time is known when the model is loaded.")
    pool.model("bag")
    assert cost(pool, SetSpec("bag", ""), rows(12), INFO).endswith(" on this machine.")
    pool.wait()
