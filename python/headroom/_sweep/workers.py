"""Who plays the runs: this process, or Ray's workers.

Both are generators of (run, outcome) in the order in which runs end, and yield every run once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import socket
from collections.abc import Generator, Iterator
from typing import Any

from headroom._errors import InvalidError, IoError
from headroom._sweep.extra import need
from headroom._sweep.grid import Grid, Run
from headroom._sweep.run import Outcome, build, play

WORKERS_MAX = 4096
# A run whose worker dies is played so often in all.
ATTEMPTS_MAX = 3
# Ray gives up a start after 30 s, and says so of a busy machine; it has no option for that.
STARTS_MAX = 3
CONNECT_SECONDS_MAX = 10


def play_here(grid: Grid, runs: list[Run]) -> Generator[tuple[Run, Outcome], None, None]:
    """One after the other in this process."""
    for run in runs:
        trace, profile = grid.traces[run.trace], grid.profiles[run.profile]
        yield run, play(trace, profile, run.seed, grid.options, build())


def play_on_ray(
    grid: Grid, runs: list[Run], workers: int | None, address: str | None
) -> Generator[tuple[Run, Outcome], None, None]:
    """At most `workers` at the same time. Closing the generator gives up what is under way."""
    ray = need("ray")
    with _connected(ray, workers if workers is None else min(workers, len(runs)), address):
        if workers is None:
            workers = int(ray.cluster_resources().get("CPU", 0))
            if workers == 0:
                raise InvalidError("workers: this Ray has no CPU to run on")
        # Retries are counted here: Ray's own never end for a worker that the kernel or Ray killed
        # because memory ran out.
        task = ray.remote(num_cpus=1, max_retries=0)(play)
        traces = {name: ray.put(trace) for name, trace in grid.traces.items()}
        options = ray.put(grid.options)
        waiting = [(run, 1) for run in reversed(runs)]
        playing: dict[Any, tuple[Run, int]] = {}
        try:
            while waiting or playing:
                while waiting and len(playing) < workers:
                    run, attempt = waiting.pop()
                    profile = grid.profiles[run.profile]
                    asked = task.remote(traces[run.trace], profile, run.seed, options, build())
                    playing[asked] = run, attempt
                ended, _ = ray.wait(list(playing))
                run, attempt = playing.pop(ended[0])
                outcome = _outcome(ray, ended[0])
                if outcome is None and attempt < ATTEMPTS_MAX:
                    waiting.append((run, attempt + 1))
                elif outcome is None:
                    yield run, Outcome({}, f"its worker died, {attempt} times", attempts=attempt)
                else:
                    yield run, dataclasses.replace(outcome, attempts=attempt)
        finally:
            for asked in playing:
                ray.cancel(asked, force=True)


@contextlib.contextmanager
def _connected(ray: Any, workers: int | None, address: str | None) -> Iterator[None]:
    """The Ray that the caller has started, which stays; or one of our own, which goes."""
    if address is None and ray.is_initialized():
        yield
        return
    if address is None:
        start(ray, num_cpus=workers)
    else:
        _reach(address)
        _init(ray, address, {})
    try:
        yield
    finally:
        ray.shutdown()


def start(ray: Any, **arguments: Any) -> None:
    """A Ray on this machine. Raises IoError where it does not start."""
    for attempt in range(1, STARTS_MAX + 1):
        try:
            return _init(ray, "local", {"include_dashboard": False, **arguments})
        except IoError:
            ray.shutdown()
            if attempt == STARTS_MAX:
                raise


def _init(ray: Any, address: str, arguments: dict[str, Any]) -> None:
    try:
        ray.init(address, log_to_driver=False, logging_level="ERROR", **arguments)
    except Exception as error:  # Ray raises all kinds, Exception itself among them
        raise IoError(f"address: {address}: {error}") from error


def _reach(address: str) -> None:
    """Raises IoError where nobody listens: Ray itself tries for many minutes. Other addresses than
    [ray://]HOST:PORT are left to Ray."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host:
        return
    if not port.isdecimal():
        raise InvalidError(f"address: {address!r}: {port!r} is not a port")
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS_MAX).close()
    except (OSError, OverflowError) as error:
        raise IoError(f"address: {address}: {error}") from None


def _outcome(ray: Any, ended: Any) -> Outcome | None:
    """None: the worker died."""
    try:
        outcome: Outcome = ray.get(ended)
        return outcome
    except ray.exceptions.RayTaskError as error:  # the worker has no such headroom
        return Outcome({}, f"its worker cannot run it: {error.cause!r}")
    except ray.exceptions.RayError:
        return None
