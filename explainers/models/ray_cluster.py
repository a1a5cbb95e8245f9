"""A Ray cluster (extra `ray`), found or started on this machine. Nothing is reported to Ray's makers."""

import logging
import os
import re
import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from explainers.errors import ExplanationError

LOCAL, RAY = ENGINES = ("local", "ray")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
MISSING = "Ray is not installed. Install it with: pip install 'crosslight[ray]'"
AUTO, REACHED = "auto", 5.0  # the address of the cluster that this machine belongs to; seconds
WORKER_FAILED = "A worker of the cluster failed: {} All need the same model, weights and version."
OTHER_WORKER = "A worker of the cluster has another {}. All need the same model, weights and version."
LOOPBACK = "127.0.0.1"  # no other machine reaches a cluster that is started here


@contextmanager
def connected(workers: int, address: str) -> Iterator[Any]:
    """Give the module `ray`, connected to the cluster at `address`; if that is empty, to one of so many `workers` that
    is started here and ends with the block.

    Raises `ExplanationError` where Ray or the cluster is not there, and where the cluster fails in the block.
    """
    check_reachable(address)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ExplanationError(MISSING) from error
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error", "ignore_reinit_error": True}
    try:
        if address:
            ray.init(address=address, **quiet)
        else:
            ray.init(num_cpus=workers, include_dashboard=False, _node_ip_address=LOOPBACK, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ExplanationError(f"The Ray cluster {address or 'on this machine'} does not answer: {error}") from error
    try:
        yield ray
    except ray.exceptions.RayError as error:
        *_, last = filter(None, (line.strip() for line in COLOURS.sub("", str(error)).splitlines()))
        raise ExplanationError(f"The Ray cluster failed: {last}") from error
    finally:
        ray.shutdown()


def name_for_workers(model: str) -> str:
    """Return the name by which workers load the model: of a folder its whole path."""
    return str(Path(model).resolve()) if Path(model).is_dir() else model


def map_with_actors(
    ray: Any, actor: type, arguments: tuple[Any, ...], items: Sequence[Any], workers: int, device: str
) -> Generator[Any]:
    """Yield what so many actors make of the items, as they are done. Each has one core, or one GPU where the `device`
    is "cuda"; one that dies is started anew, and its items are given to another one.

    An actor is made with the `arguments` and called with {"item": [one]}; it returns {"result": [one]}. Ray carries
    items of any class.
    """
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    given = ray.data.from_items([{"item": item} for item in items], override_num_blocks=len(items))
    made = given.map_batches(
        actor,
        fn_constructor_args=arguments,
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=1,
        num_gpus=1 if device == "cuda" else None,
    )
    for row in made.iter_rows():
        yield row["result"]


def check_engine(engine: str, address: str) -> None:
    """Raises `ExplanationError` for an unknown engine, and for the address of a cluster without it."""
    if engine not in ENGINES:
        raise ExplanationError(f"Unknown engine {engine!r}. Choose one of: {', '.join(ENGINES)}.")
    if address and engine != RAY:
        raise ExplanationError("--address names a Ray cluster. Add --engine ray, or omit it.")


def check_reachable(address: str) -> None:
    """Raises `ExplanationError` where nobody listens: Ray itself looks for two minutes and then ends the process."""
    if address in ("", AUTO):
        return
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=REACHED).close()
    except (OSError, ValueError, OverflowError) as error:
        raise ExplanationError(
            f"No Ray cluster answers at {address!r}. Give the HOST:PORT of its head, or auto on one of its machines."
        ) from error
