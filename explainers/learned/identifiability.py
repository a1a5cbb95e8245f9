"""Does CIEM's autoencoder find the true latent variables? The experiment of the paper's App. E.5, with controls.

    "paper":     Z ~ N(0, I_30),  X = u(Z) + v(Z)·ε,  A = s(X),  Y ~ Bern(σ(l(X, Z)));  u, v, s, l linear     (Eq. 28)
    "segments":  Z | c ~ N(μ_c, σ_c²) in R^10,  A = s(c) for one of 40 segments c;  X and Y as above
    "CIEM":      the networks of `ciem.py`, prior p(Z|A,Y), trained by -ELBO
    "VAE":       the same networks, prior N(0, I); zeros stand where A and Y would

Found are the posterior means of data held out. MCC, the mean correlation coefficient, is measured in two ways:

    linear       each true latent against its least-squares fit from all found ones, a map fitted on training data
    one to one   each true latent against one found latent of its own, in the best matching, by absolute correlation

Linear is what the paper's figure shows, and it needs no identifiability: any code that keeps X nearly linearly has it.
One to one is what Theorem 4.1 promises. Linear latents with a Gaussian prior of fixed unit variance are known up to a
linear map at best: a rotated Z has the same distribution, and `rotation` is what a random rotation of the true Z
reaches. In the paper's process CIEM's prior adds nothing to that: Z depends on no cause, and A = s(X) says all of X, so
that posterior and prior can agree on any code. "segments" is the process that the theorem asks for, latents whose mean
and variance depend on A; it tells whether these networks and this training can identify anything at all.

Choices where the paper is silent: X and A have as many dimensions as Z; u is a random rotation, so that no latent
drowns in noise, and so is s; v is a tenth of u in size, and so is the decoder's standard deviation; 10,000 samples to
train and 2,000 to test. In "segments" the decoder's is 0.5, because a smaller one freezes the first code that gives X
back; and it is smaller because 30 latents take several times as long to come apart.
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
COLOURS = {"CIEM": "#1f77b4", "VAE": "#ff7f0e"}
DIMENSIONS: dict[Process, int] = {"paper": 30, "segments": 10}
SEGMENTS, TRAINED, TESTED = 40, 10_000, 2_000
NOISE = 0.1
DECODER_NOISE: dict[Process, float] = {"paper": 0.1, "segments": 0.5}
HIDDEN, BATCH, LEARNING_RATE = 128, 256, 1e-2
SHOWN = 3  # latents in the scatter plots
RESULT, FIGURE = "result.json", "identifiability.png"


@dataclass(frozen=True)
class Data:
    z: Tensor  # (n, d)
    x: Tensor  # (n, d)
    a: Tensor  # (n, d)
    y: Tensor  # (n, 1)

    def rows(self, some: slice | Tensor) -> "Data":
        return Data(self.z[some], self.x[some], self.a[some], self.y[some])


@dataclass(frozen=True)
class Result:
    """One training; `explained` is the share of X's variance that the decoder gives back from the held-out means."""

    process: Process
    kind: Kind
    seed: int
    linear: float
    one_to_one: float
    rotation: float
    explained: float
    true: Floats = field(repr=False, compare=False)  # (n, SHOWN): the first latents …
    mapped: Floats = field(repr=False, compare=False)  # … and what the linear map makes of the found ones

    def numbers(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name not in ("true", "mapped")}


def generated(process: Process, n: int, seed: int) -> Data:
    chance = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=chance)

    d = DIMENSIONS[process]
    u, s, v = rotation(normal(d, d)), rotation(normal(d, d)), normal(d, d) * NOISE / d**0.5
    l_x, l_z = normal(d, 1) / d**0.5, normal(d, 1) / d**0.5
    if process == "paper":
        z = normal(n, d)
    else:
        centres, spreads = normal(SEGMENTS, d), torch.rand(SEGMENTS, d, generator=chance) * 1.4 + 0.1
        c = torch.randint(SEGMENTS, (n,), generator=chance)
        z = centres[c] + spreads[c] * normal(n, d)
    x = z @ u + (z @ v) * normal(n, d)
    a = x @ s if process == "paper" else normal(SEGMENTS, d)[c]
    y = torch.bernoulli((x @ l_x + z @ l_z).sigmoid(), generator=chance)
    return Data(z, x, a, y)


def rotation(normal: Tensor) -> Tensor:
    """A random orthogonal matrix from a normal one."""
    found: Tensor = torch.linalg.qr(normal).Q
    return found


def trained(kind: Kind, data: Data, *, noise: float, epochs: int, seed: int) -> Autoencoder:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Autoencoder(data.z.shape[1], 1, 0, HIDDEN, composite=False)
    chance = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(network.parameters(), LEARNING_RATE)
    steps = epochs * (len(data.x) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(epochs):
        order = torch.randperm(len(data.x), generator=chance)
        for some in order[: len(order) // BATCH * BATCH].view(-1, BATCH):
            optimiser.zero_grad()
            loss = negative_elbo(kind, network, data.rows(some), noise, chance)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
    return network


def negative_elbo(kind: Kind, network: Autoencoder, data: Data, noise: float, chance: torch.Generator) -> Tensor:
    """Up to a constant, a mean over samples."""
    a, y = read(kind, data)
    posterior = network.posterior(data.x, a, y)
    if kind == "CIEM":
        prior = network.expected(a, y)
    else:
        prior = Gaussian(torch.zeros_like(posterior.mean), torch.zeros_like(posterior.mean))
    away = (data.x - network.decoded(posterior.sample(chance), y)) ** 2 / (2 * noise**2)
    return (away + posterior.divergence(prior)).sum(-1).mean()


def read(kind: Kind, data: Data) -> tuple[Tensor, Tensor]:
    """A and Y as this network sees them."""
    return (data.a, data.y) if kind == "CIEM" else (torch.zeros_like(data.a), torch.zeros_like(data.y))


def correlations(true: Floats, found: Floats) -> Floats:
    """Absolute, each true latent (row) with each found one (column); 0 where one does not vary."""
    parts = []
    for values in (true, found):
        centred = values - values.mean(0)
        parts.append(centred / np.maximum(np.linalg.norm(centred, axis=0), 1e-12))
    return np.asarray(np.abs(parts[0].T @ parts[1]))


def one_to_one(true: Floats, found: Floats) -> float:
    """MCC in the best matching of found to true latents."""
    table = correlations(true, found)
    return float(table[linear_sum_assignment(-table)].mean())


def linear_map(true: Floats, found: Floats) -> Floats:
    """Least squares with a constant, (found + 1, true)."""
    return np.asarray(np.linalg.lstsq(with_constant(found), true, rcond=None)[0], dtype=np.float64)


def with_constant(found: Floats) -> Floats:
    return np.column_stack([found, np.ones(len(found))])


def linear(true: Floats, mapped: Floats) -> float:
    """MCC of latents that a linear map has brought to the true ones' places."""
    return float(np.diag(correlations(true, mapped)).mean())


def measured(process: Process, kind: Kind, seed: int, *, epochs: int, samples: int = TRAINED) -> Result:
    """One data set, one training."""
    data = generated(process, samples + TESTED, seed)
    training, test = data.rows(slice(samples)), data.rows(slice(samples, None))
    network = trained(kind, training, noise=DECODER_NOISE[process], epochs=epochs, seed=seed)
    with torch.no_grad():
        before, after = (network.posterior(part.x, *read(kind, part)).mean for part in (training, test))
        error = test.x - network.decoded(after, read(kind, test)[1])
    explained = 1 - float(error.var() / test.x.var())
    true, found = test.z.double().numpy(), after.double().numpy()
    mapped = with_constant(found) @ linear_map(training.z.double().numpy(), before.double().numpy())
    drawn = torch.randn(len(true.T), len(true.T), generator=torch.Generator().manual_seed(seed))
    turned = true @ rotation(drawn).double().numpy()
    return Result(
        process, kind, seed, linear(true, mapped), one_to_one(true, found), one_to_one(true, turned), explained,
        true[:300, :SHOWN], mapped[:300, :SHOWN],
    )  # fmt: skip


def experiment(seeds: int, *, epochs: int = 25, samples: int = TRAINED) -> list[Result]:
    """Both networks on both processes, for the seeds 0, 1, …"""
    return [
        measured(process, kind, seed, epochs=epochs, samples=samples)
        for process in PROCESSES
        for seed in range(seeds)
        for kind in KINDS
    ]


def summary(results: Sequence[Result]) -> dict[str, dict[str, dict[str, float]]]:
    """Means over seeds, by process and network."""
    names = ("linear", "one_to_one", "rotation", "explained")
    return {
        process: {
            kind: {name: float(np.mean([getattr(each, name) for each in mine])) for name in names}
            for kind in KINDS
            if (mine := [each for each in results if (each.process, each.kind) == (process, kind)])
        }
        for process in PROCESSES
    }


def figure(results: Sequence[Result]) -> Figure:
    """A row per process: both MCC of every seed, and the first latents of the first seed against what was found."""
    drawn = Figure(figsize=(12, 6), dpi=110, facecolor="white", layout="constrained")
    rows = drawn.subplots(len(PROCESSES), 1 + SHOWN, squeeze=False)
    for process, (bars, *scatters) in zip(PROCESSES, rows, strict=True):
        mine = [each for each in results if each.process == process]
        for place, measure in enumerate(("linear", "one_to_one")):
            for shift, kind in enumerate(KINDS):
                found = [getattr(each, measure) for each in mine if each.kind == kind]
                at = np.full(len(found), place + 0.3 * shift - 0.15) + np.linspace(-0.05, 0.05, len(found))
                bars.scatter(at, found, s=22, color=COLOURS[kind], label=None if place else kind)
        bars.axhline(np.mean([each.rotation for each in mine]), color="#777777", linestyle=":", label="random rotation")
        bars.set_xticks([0, 1], ["linear", "one to one"])
        bars.set(ylim=(0, 1.02), ylabel="MCC, a point per seed", title=f"{process}: {DIMENSIONS[process]} latents")
        bars.legend(fontsize=8, loc="lower left")
        for number, axis in enumerate(scatters):
            for each in (each for each in mine if each.seed == mine[0].seed):
                axis.scatter(each.true[:, number], each.mapped[:, number], s=5, alpha=0.5, color=COLOURS[each.kind])
            axis.set(xlabel=f"true latent {number + 1}", ylabel="found, after the linear map")
    return drawn


def report(seeds: int, out: Path) -> dict[str, object]:
    """Runs the experiment and writes result.json and identifiability.png into the folder."""
    if seeds < 1:
        raise ExplanationError(f"{seeds} seeds were asked for. The experiment needs at least one.")
    out.mkdir(parents=True, exist_ok=True)
    results = experiment(seeds)
    content: dict[str, object] = {
        "seeds": seeds,
        "means": summary(results),
        "results": [each.numbers() for each in results],
    }
    (out / RESULT).write_text(json.dumps(content, indent=2), encoding="utf-8")
    FigureCanvasAgg(figure(results)).print_figure(out / FIGURE, format="png")
    return content
