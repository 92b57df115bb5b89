"""Who plays the runs: this process, or Ray's workers.

Both are generators of (run, outcome) in the order in which runs end, and yield every run once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from typing import Any

from headroom._errors import InvalidError
from headroom._sweep.connection import connected
from headroom._sweep.extra import need
from headroom._sweep.grid import Grid, Run
from headroom._sweep.run import Outcome, build, play

WORKERS_MAX = 4096
# A run whose worker dies is played so often in all.
ATTEMPTS_MAX = 3


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
    with connected(ray, workers if workers is None else min(workers, len(runs)), address):
        if workers is None:
            workers = int(ray.cluster_resources().get("CPU", 0))
            if workers == 0:
                raise InvalidError("workers: this Ray has no CPU to run on")
        # Retries are counted here: Ray's own have no end for workers that it kills itself where
        # memory runs out.
        task = ray.remote(num_cpus=1, max_retries=0)(play)
        needed = dict.fromkeys(run.trace for run in runs)
        traces = {name: ray.put(grid.traces[name]) for name in needed}
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
                if isinstance(outcome, Outcome):
                    yield run, dataclasses.replace(outcome, attempts=attempt)
                elif attempt < ATTEMPTS_MAX:
                    waiting.append((run, attempt + 1))
                else:
                    died = f"its worker died, {attempt} times; the last time: {outcome}"
                    yield run, Outcome({}, died, attempts=attempt)
        finally:
            for asked in playing:
                ray.cancel(asked, force=True)


def _outcome(ray: Any, ended: Any) -> Outcome | str:
    """Text: what Ray calls the death of the worker."""
    try:
        outcome: Outcome = ray.get(ended)
        return outcome
    except ray.exceptions.RayTaskError as error:  # the worker has no such headroom
        return Outcome({}, f"its worker cannot run it: {error.cause!r}")
    except ray.exceptions.RayError as error:
        return type(error).__name__
