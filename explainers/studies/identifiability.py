"""Can CIEM's autoencoder recover the true latent variables of synthetic data? (App. E.5 of its paper, with controls.)

    "paper":     Z ~ N(0, I_30),  X = u(Z) + v(Z)·ε,  A = s(X),  Y ~ Bern(σ(l(X, Z)));  u, v, s, l linear     (Eq. 28)
    "segments":  Z | c ~ N(μ_c, σ_c²) in R^10,  A = s(c) for one of 40 segments c;  X and Y as above
    "CIEM":      the networks of `ciem`, prior p(Z|A,Y), trained by -ELBO;   "VAE": prior N(0, I), zeros for A and Y

The recovered latents are the posterior means of held-out data. The mean correlation coefficient (MCC) is measured after
a least-squares map from all of them, fitted on training data ("linear", as in the paper's figure; any code that keeps X
nearly linearly has it), and in the best matching of single latents ("one to one", which Theorem 4.1 promises).
`rotation` is the one-to-one MCC of randomly rotated true latents: in the paper's process no method can do better.

The report on CIEM's identifiability: `experiment`, with both networks, both processes and several seeds.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from explainers.errors import ExplanationError
from explainers.learned.ciem import Autoencoder, Gaussian

Floats = NDArray[np.float64]
Process = Literal["paper", "segments"]
Kind = Literal["CIEM", "VAE"]

PROCESSES: tuple[Process, ...] = ("paper", "segments")
KINDS: tuple[Kind, ...] = ("CIEM", "VAE")
DIMENSIONS: dict[Process, int] = {"paper": 30, "segments": 10}
SEGMENTS, TRAINED, TESTED = 40, 10_000, 2_000
NOISE = 0.1  # size of v, relative to u; u and s are rotations, so that no latent drowns in noise
DECODER_NOISE: dict[Process, float] = {"paper": 0.1, "segments": 0.5}  # a smaller one keeps the first code that fits
HIDDEN, BATCH, LEARNING_RATE = 128, 256, 1e-2
PLOTTED = 3  # latents in the scatter plots


@dataclass(frozen=True)
class LatentData:
    z: Tensor  # (n, d)
    x: Tensor  # (n, d)
    a: Tensor  # (n, d)
    y: Tensor  # (n, 1)

    def rows(self, some: slice | Tensor) -> "LatentData":
        return LatentData(self.z[some], self.x[some], self.a[some], self.y[some])


@dataclass(frozen=True)
class LatentRecovery:
    """One training; `explained` is the share of X's variance that the decoder reconstructs from the held-out means."""

    process: Process
    kind: Kind
    seed: int
    linear: float
    one_to_one: float
    rotation: float
    explained: float
    true: Floats = field(repr=False, compare=False)  # (n, PLOTTED): the first latents …
    mapped: Floats = field(repr=False, compare=False)  # … and what the linear map makes of the recovered ones

    def numbers(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name not in ("true", "mapped")}


def generated(process: Process, n: int, seed: int) -> LatentData:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    d = DIMENSIONS[process]
    u, s, v = rotation(normal(d, d)), rotation(normal(d, d)), normal(d, d) * NOISE / d**0.5
    l_x, l_z = normal(d, 1) / d**0.5, normal(d, 1) / d**0.5
    if process == "paper":
        z = normal(n, d)
    else:
        centres, spreads = normal(SEGMENTS, d), torch.rand(SEGMENTS, d, generator=generator) * 1.4 + 0.1
        c = torch.randint(SEGMENTS, (n,), generator=generator)
        z = centres[c] + spreads[c] * normal(n, d)
    x = z @ u + (z @ v) * normal(n, d)
    a = x @ s if process == "paper" else normal(SEGMENTS, d)[c]
    y = torch.bernoulli((x @ l_x + z @ l_z).sigmoid(), generator=generator)
    return LatentData(z, x, a, y)


def rotation(normal: Tensor) -> Tensor:
    """A random orthogonal matrix from a normal one."""
    orthogonal: Tensor = torch.linalg.qr(normal).Q
    return orthogonal


def trained(kind: Kind, data: LatentData, *, noise: float, epochs: int, seed: int) -> Autoencoder:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Autoencoder(data.z.shape[1], 1, 0, HIDDEN, composite=False)
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(network.parameters(), LEARNING_RATE)
    steps = epochs * (len(data.x) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(epochs):
        order = torch.randperm(len(data.x), generator=generator)
        for some in order[: len(order) // BATCH * BATCH].view(-1, BATCH):
            optimiser.zero_grad()
            loss = negative_elbo(kind, network, data.rows(some), noise, generator)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
    return network


def negative_elbo(
    kind: Kind, network: Autoencoder, data: LatentData, noise: float, generator: torch.Generator
) -> Tensor:
    """Up to a constant, a mean over samples."""
    a, y = read(kind, data)
    posterior = network.posterior(data.x, a, y)
    if kind == "CIEM":
        prior = network.expected(a, y)
    else:
        prior = Gaussian(torch.zeros_like(posterior.mean), torch.zeros_like(posterior.mean))
    away = (data.x - network.decoded(posterior.sample(generator), y)) ** 2 / (2 * noise**2)
    return (away + posterior.divergence(prior)).sum(-1).mean()


def read(kind: Kind, data: LatentData) -> tuple[Tensor, Tensor]:
    """A and Y as this network sees them."""
    return (data.a, data.y) if kind == "CIEM" else (torch.zeros_like(data.a), torch.zeros_like(data.y))


def correlations(true: Floats, recovered: Floats) -> Floats:
    """Absolute, each true latent (row) with each recovered one (column); 0 where one does not vary."""
    parts = []
    for values in (true, recovered):
        centred = values - values.mean(0)
        parts.append(centred / np.maximum(np.linalg.norm(centred, axis=0), 1e-12))
    return np.asarray(np.abs(parts[0].T @ parts[1]))


def one_to_one(true: Floats, recovered: Floats) -> float:
    """MCC in the best matching of recovered to true latents."""
    table = correlations(true, recovered)
    return float(table[linear_sum_assignment(-table)].mean())


def linear_map(true: Floats, recovered: Floats) -> Floats:
    """Least squares with a constant, (recovered + 1, true)."""
    return np.asarray(np.linalg.lstsq(with_constant(recovered), true, rcond=None)[0], dtype=np.float64)


def with_constant(recovered: Floats) -> Floats:
    return np.column_stack([recovered, np.ones(len(recovered))])


def linear(true: Floats, mapped: Floats) -> float:
    """MCC of latents that a linear map has brought to the true ones' places."""
    return float(np.diag(correlations(true, mapped)).mean())


def measured(process: Process, kind: Kind, seed: int, *, epochs: int, samples: int = TRAINED) -> LatentRecovery:
    """One data set, one training."""
    data = generated(process, samples + TESTED, seed)
    training, test = data.rows(slice(samples)), data.rows(slice(samples, None))
    network = trained(kind, training, noise=DECODER_NOISE[process], epochs=epochs, seed=seed)
    with torch.no_grad():
        before, after = (network.posterior(part.x, *read(kind, part)).mean for part in (training, test))
        error = test.x - network.decoded(after, read(kind, test)[1])
    explained = 1 - float(error.var() / test.x.var())
    true, recovered = test.z.double().numpy(), after.double().numpy()
    mapped = with_constant(recovered) @ linear_map(training.z.double().numpy(), before.double().numpy())
    normal = torch.randn(len(true.T), len(true.T), generator=torch.Generator().manual_seed(seed))
    rotated = true @ rotation(normal).double().numpy()
    return LatentRecovery(
        process, kind, seed, linear(true, mapped), one_to_one(true, recovered), one_to_one(true, rotated), explained,
        true[:300, :PLOTTED], mapped[:300, :PLOTTED],
    )  # fmt: skip


COLOURS = {"CIEM": "#1f77b4", "VAE": "#ff7f0e"}
RESULT, PLOT = "result.json", "identifiability.png"


def experiment(seeds: int, *, epochs: int = 25, samples: int = TRAINED) -> list[LatentRecovery]:
    """Both networks on both processes, for the seeds 0, 1, …"""
    return [
        measured(process, kind, seed, epochs=epochs, samples=samples)
        for process in PROCESSES
        for seed in range(seeds)
        for kind in KINDS
    ]


def summary(results: Sequence[LatentRecovery]) -> dict[str, dict[str, dict[str, float]]]:
    """Means over seeds, by process and network."""
    names = ("linear", "one_to_one", "rotation", "explained")
    return {
        process: {
            kind: {name: float(np.mean([getattr(row, name) for row in of_kind])) for name in names}
            for kind in KINDS
            if (of_kind := [result for result in results if (result.process, result.kind) == (process, kind)])
        }
        for process in PROCESSES
    }


def plot(results: Sequence[LatentRecovery]) -> Figure:
    """A row per process: both MCC of every seed, and the first latents of the first seed against the recovered ones."""
    figure = Figure(figsize=(12, 6), dpi=110, facecolor="white", layout="constrained")
    rows = figure.subplots(len(PROCESSES), 1 + PLOTTED, squeeze=False)
    for process, (bars, *scatters) in zip(PROCESSES, rows, strict=True):
        of_process = [result for result in results if result.process == process]
        for position, measure in enumerate(("linear", "one_to_one")):
            for shift, kind in enumerate(KINDS):
                values = [getattr(row, measure) for row in of_process if row.kind == kind]
                at = np.full(len(values), position + 0.3 * shift - 0.15) + np.linspace(-0.05, 0.05, len(values))
                bars.scatter(at, values, s=22, color=COLOURS[kind], label=None if position else kind)
        bars.axhline(
            np.mean([row.rotation for row in of_process]), color="#777777", linestyle=":", label="random rotation"
        )
        bars.set_xticks([0, 1], ["linear", "one to one"])
        bars.set(ylim=(0, 1.02), ylabel="MCC, a point per seed", title=f"{process}: {DIMENSIONS[process]} latents")
        bars.legend(fontsize=8, loc="lower left")
        for number, axis in enumerate(scatters):
            for fit in (row for row in of_process if row.seed == of_process[0].seed):
                axis.scatter(fit.true[:, number], fit.mapped[:, number], s=5, alpha=0.5, color=COLOURS[fit.kind])
            axis.set(xlabel=f"true latent {number + 1}", ylabel="recovered, after the linear map")
    return figure


def report(seeds: int, out: Path) -> dict[str, object]:
    """Runs the experiment and writes result.json and identifiability.png into the folder."""
    if seeds < 1:
        raise ExplanationError(f"The experiment needs at least one seed, not {seeds}.")
    out.mkdir(parents=True, exist_ok=True)
    results = experiment(seeds)
    content: dict[str, object] = {
        "seeds": seeds,
        "means": summary(results),
        "results": [result.numbers() for result in results],
    }
    (out / RESULT).write_text(json.dumps(content, indent=2), encoding="utf-8")
    FigureCanvasAgg(plot(results)).print_figure(out / PLOT, format="png")
    return content
