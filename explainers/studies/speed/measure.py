"""Speed on this machine, measured in one run: of our methods, of Captum's, and of the app's cold start.

The reference is Captum as its documentation shows it: token ids as input, words as features, one perturbation per
call; for integrated gradients `LayerIntegratedGradients` with its default of all steps in one batch.

A cold start ends in three steps: the server answers, the page is there with its first heading, and it is complete
when every method is done and there is an answer.
"""

import re
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from captum import attr
from torch import Tensor

from explainers.comparison.decision import decide
from explainers.comparison.runner import run
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.methods.registry import default_methods, select
from explainers.models import batching, calls, catalog, tasks
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import NO_UNIT
from explainers.results.decision import Decision, Settings
from explainers.results.events import MethodResult

ROOT = Path(__file__).parents[3]
COMMAND = (sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.headless=true")
TIMEOUT = 180  # seconds
LIGHT = "chromium-headless-shell"  # draws a page for a third less
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--font-render-hinting=none",  # letters as wide as on a screen
]

PROBE = """
(() => {
  const moments = (window.moments = {});
  const shadows = (node) => [...node.querySelectorAll("*")].map((element) => element.shadowRoot).filter(Boolean);
  const roots = (node) => [node, ...shadows(node).flatMap(roots)];
  const all = (selector) => roots(document).flatMap((root) => [...root.querySelectorAll(selector)]);
  const look = () => {
    const methods = all("[data-method][data-status]");
    const done = methods.length > 0 && methods.every((row) => row.dataset.status === "done");
    const answer = all(".answer:is(.supported, .open)").length > 0;
    const states = {
      "main part": all("[data-testid=stMain]").length > 0,
      "page there": all("[data-testid=stMain] :is(h1, h2)").length > 0,
      "answer": answer,
      "first method": methods.some((each) => each.dataset.status === "done"),
      "complete": done && answer,
    };
    for (const [name, holds] of Object.entries(states)) if (holds) moments[name] ??= performance.now();
    if (!moments.complete) setTimeout(look, 10);
  };
  document.addEventListener("DOMContentLoaded", look);
})()
"""  # milliseconds since the navigation, by name


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def start(port: int, log: IO[bytes] | int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
    """The app, started as by hand but without opening a browser; what it prints goes to `log`."""
    return subprocess.Popen([*COMMAND, f"--server.port={port}"], cwd=ROOT, stdout=log, stderr=log)


def wait_for(port: int) -> None:
    """Returns when the server answers. Raises `ExplanationError` if it does not."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1)
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.02)
    raise ExplanationError("The app did not start.")


def chromium(*preferred: str) -> str | None:
    """The path of the system's browser; None for the one installed by playwright."""
    return next(filter(None, map(shutil.which, (*preferred, "chromium", "chromium-browser", LIGHT))), None)


def peak_memory(process: int) -> float | None:
    """GB; None on systems without /proc."""
    status = Path(f"/proc/{process}/status")
    match = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(match.group(1)) / 1e6 if match else None


def cold_start() -> dict[str, float | None]:
    """Seconds by name. Raises `ExplanationError` without playwright; needs Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise ExplanationError(
            "The cold start is measured in a browser: run `pip install -r tests/requirements.txt`, "
            "or omit it with --no-browser."
        ) from error
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(PROBE)
        port = free_port()
        started = time.perf_counter()
        app = start(port)
        try:
            wait_for(port)
            answering = time.perf_counter() - started
            page.goto(f"http://127.0.0.1:{port}/")
            page.wait_for_function("() => window.moments?.complete", timeout=TIMEOUT * 1000)
            seen = {name: moment / 1000 for name, moment in page.evaluate("() => window.moments").items()}
            return {
                "server answers after": answering,
                **{f"{name}, after opening": seconds for name, seconds in seen.items()},
                "complete, after the page is there": seen["complete"] - seen["page there"],
                "peak memory, GB": peak_memory(app.pid),
            }
        finally:
            app.terminate()
            app.wait()
            browser.close()


SAMPLES, STEPS, REPEATS = 500, 50, 3
PERTURBING = ("lime", "kernel_shap", "occlusion")


def seconds(action: Callable[[], object], repeats: int = 1) -> float:
    """The median of `repeats` runs."""
    durations = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        durations.append(time.perf_counter() - started)
    return statistics.median(durations)


def benchmark(name: str, threads: int, *, browser: bool) -> dict[str, Any]:
    """All measurements by name; times in seconds. `browser` also starts the app and opens it in Chromium."""
    if threads:
        torch.set_num_threads(threads)
    model = catalog.load(name)
    decision, _ = decide(model, example_for(model), settings=Settings(samples=SAMPLES, steps=STEPS))
    list(run(model, decision, select(default_methods()), calls.Meter()))  # warms up
    results: dict[str, Any] = {
        "model": name,
        "words": sum(len(text.split()) for text in decision.encoding.texts),
        "units": len(decision.encoding.units),
        "tokens": len(decision.encoding.ids),
        "threads": torch.get_num_threads(),
        "device": str(model.device),
        "whole comparison": whole_comparison(model, decision),
        "each method": each_method(model, decision),
    }
    if decision.encoding.canvas is None:  # otherwise words and patches do not share one stack of layers
        results["arithmetic"] = arithmetic(model, decision)
    if not model.multimodal:  # Captum's own way needs token ids
        results |= compare_with_captum(model, decision)
    if browser:
        results["app"] = cold_start()
    return results


def example_for(model: FrozenModel) -> Example:
    """The benchmark example of the first task with inputs of the model's kind: a text, a pair, or image and text."""
    pair = len(model.input_names) == 2 and not model.multimodal
    kind = (model.multimodal, pair)
    return next(
        task.example() for task in tasks.TASKS.values() if (task.multimodal, len(task.input_names) == 2) == kind
    )


def each_method(model: FrozenModel, decision: Decision) -> dict[str, float]:
    """Seconds of each finished method within a whole comparison, without its metrics."""
    events = run(model, decision, select(default_methods()), calls.Meter())
    return {event.attribution.method: event.attribution.seconds for event in events if isinstance(event, MethodResult)}


def whole_comparison(model: FrozenModel, decision: Decision) -> dict[str, float]:
    """Seconds to the first and to the last column with its curves, and the model's share of them."""
    meter, started, first = calls.Meter(), time.perf_counter(), 0.0
    for event in run(model, decision, select(default_methods()), meter):
        if isinstance(event, MethodResult) and not first:
            first = time.perf_counter() - started
    total = time.perf_counter() - started
    return {
        "first column": first,
        "all columns": total,
        "model calls": meter.calls,
        "share of time in the model": meter.seconds / total,
    }


def compare_with_captum(model: FrozenModel, decision: Decision) -> dict[str, dict[str, float]]:
    """Seconds here and with Captum, and their ratios."""
    ours, captum = our_seconds(model, decision), captum_seconds(model, decision)
    ratios = {method: captum[method] / ours[method] for method in captum}
    together = sum(map(captum.__getitem__, PERTURBING)) / sum(map(ours.__getitem__, PERTURBING))
    times_faster = {"perturbing methods together": together, **ratios}
    return {"ours": ours, "captum as documented": captum, "times faster": times_faster}


def our_seconds(model: FrozenModel, decision: Decision) -> dict[str, float]:
    """Each method alone."""
    settings, durations = decision.settings, {}
    for spec in select(("integrated_gradients", *PERTURBING)):
        method = spec.made_with(settings)
        action = partial(method.attribute, model, decision.encoding, decision.label)
        durations[spec.id] = seconds(action, REPEATS)
    return durations


def captum_seconds(model: FrozenModel, decision: Decision) -> dict[str, float]:
    """The same methods with Captum's defaults."""
    encoding, label = decision.encoding, decision.label
    ids = torch.tensor([encoding.ids], device=model.device)
    owners = torch.tensor([encoding.owners])
    words = torch.where(owners == NO_UNIT, len(encoding.units), owners).to(model.device)  # special tokens: one more
    blank = torch.where(owners.to(model.device) == NO_UNIT, ids, model.mask_token)

    def differentiable(inputs: Tensor) -> Tensor:
        return torch.softmax(model.logits(inputs, encoding.segments), dim=-1)[:, label]

    def probability(inputs: Tensor) -> Tensor:
        with torch.no_grad():
            return differentiable(inputs)

    table = model.base.get_input_embeddings()  # type: ignore[operator]
    return {
        "integrated_gradients": seconds(
            lambda: attr.LayerIntegratedGradients(differentiable, table).attribute(ids, baselines=blank, n_steps=STEPS),
            REPEATS,
        ),
        "lime": seconds(
            lambda: attr.Lime(probability).attribute(ids, baselines=blank, feature_mask=words, n_samples=SAMPLES)
        ),
        "kernel_shap": seconds(
            lambda: attr.KernelShap(probability).attribute(ids, baselines=blank, feature_mask=words, n_samples=SAMPLES)
        ),
        "occlusion": seconds(
            lambda: attr.FeatureAblation(probability).attribute(ids, baselines=blank, feature_mask=words), REPEATS
        ),
    }


def arithmetic(model: FrozenModel, decision: Decision) -> dict[str, float]:
    """GFLOP/s of full perturbation batches through the model, and of bare matrix products of the same shapes."""
    encoding = decision.encoding
    rows = batching.rows_per_batch(len(encoding.ids), model.device.type)
    config: Any = model.base.config
    width, layers, heads = int(config.hidden_size), int(config.num_hidden_layers), int(config.num_attention_heads)
    inner = int(config.intermediate_size)
    masks = np.random.default_rng(0).random((rows, len(encoding.units))) < 0.5
    length = len(encoding.ids)
    operations = layers * 2 * rows * length * (4 * width * width + 2 * width * inner + 2 * length * width)
    through_model = seconds(lambda: model.probabilities(encoding, masks), 10)
    bare = layers * seconds(_products(rows * length, length, rows * heads, width, inner, width // heads), 10)
    return {
        "rows in a batch": rows,
        "model, GFLOP/s": operations / through_model / 1e9,
        "bare products, GFLOP/s": operations / bare / 1e9,
        "share of bare products": bare / through_model,
    }


def _products(tokens: int, length: int, batches: int, width: int, inner: int, head: int) -> Callable[[], None]:
    """The matrix products of one encoder layer, and nothing else."""
    x, wide = torch.randn(tokens, width), torch.randn(tokens, inner)
    square, up, down = torch.randn(width, width), torch.randn(width, inner), torch.randn(inner, width)
    queries, keys = torch.randn(batches, length, head), torch.randn(batches, head, length)
    weights, values = torch.randn(batches, length, length), torch.randn(batches, length, head)

    def once() -> None:
        with torch.inference_mode():
            for _ in range(4):
                x @ square
            x @ up
            wide @ down
            queries @ keys
            weights @ values

    return once
