"""headroom.sweep()."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

from headroom._errors import InvalidError
from headroom._sweep.extra import need
from headroom._sweep.grid import make_grid
from headroom._sweep.parts import Parts
from headroom._sweep.result import Sweep
from headroom._sweep.workers import WORKERS_MAX, play_here, play_on_ray
from headroom._types import ObjectsLike, ProfileLike


def sweep(
    traces: Mapping[str, Mapping[str, Any]],
    profiles: Mapping[str, ProfileLike],
    seeds: Iterable[int],
    *,
    out: str | os.PathLike[str],
    departures: bool = True,
    metrics_every: int | None = None,
    preemption: bool | None = None,
    autoscale: ObjectsLike | None = None,
    provision_seconds: int = 60,
    random_ties: bool = False,
    all_pods: bool = False,
    validate: bool = False,
    workers: int | None = None,
    address: str | None = None,
    progress: bool = True,
) -> Sweep:
    """Simulates every trace under every profile with every seed, on Ray, and tabulates the figures.

        >>> traces = {"openb": {}, "small": {"nodes": 500}}
        >>> profiles = {"standard": None, "mine": pathlib.Path("profile.yaml")}
        >>> frame = headroom.sweep(traces, profiles, range(1, 17), out="results").frame

    traces: by name what simulate() takes as input: cluster, pods, nodes, elastic_quotas, repeat. Files
    are read once, here. The arguments from departures to validate are simulate()'s, for all runs.

    out: a directory. A run that ends well is kept there at once, so calling again continues after
    any stop; a run whose input, or headroom's build, is another is done anew. At the end runs.parquet
    has all runs in the grid's order, the same bytes however they were run, and timings.parquet what
    each took. Runs that fail are in the table with their error, and are tried again by the next call.

    workers: runs at the same time; None, as many as Ray has cores; 0, in this process without Ray.
    address: of a Ray cluster, whose machines need this same headroom; None, the Ray that the caller
    has started, or else one on this machine for the time of the call. A run whose worker dies is
    tried 3 times in all. progress: a bar on stderr, where that is a terminal.

    Raises InvalidError, IoError or LimitExceededError naming what cannot be used, before any run;
    ImportError without the packages of headroom[sweep].
    """
    options = {
        "departures": departures,
        "metrics_every": metrics_every,
        "preemption": preemption,
        "autoscale": autoscale,
        "provision_seconds": provision_seconds,
        "random_ties": random_ties,
        "all_pods": all_pods,
        "validate": validate,
    }
    for module in ("tqdm", "pyarrow") + (() if workers == 0 else ("ray",)):
        need(module)
    if workers is not None and (type(workers) is not int or not 0 <= workers <= WORKERS_MAX):
        raise InvalidError(f"workers: {workers!r} is not a whole number in [0, {WORKERS_MAX}]")
    if workers == 0 and address is not None:
        raise InvalidError(f"address: {address!r}, but workers is 0, which is without Ray")
    grid = make_grid(traces, profiles, seeds, options)
    directory = pathlib.Path(out)
    parts = Parts(directory / "parts")
    outcomes = {run: part for run in grid.runs if (part := parts.read(run.digest)) is not None}
    pending = [run for run in grid.runs if run not in outcomes]
    bar = need("tqdm").tqdm(
        total=len(grid.runs),
        initial=len(outcomes),
        unit="run",
        disable=None if progress else True,  # None: where stderr is no terminal
    )
    if workers == 0 or not pending:
        played = play_here(grid, pending)
    else:
        played = play_on_ray(grid, pending, workers, address)
    try:
        with bar, closing(played):
            for run, outcome in played:
                outcomes[run] = outcome
                if outcome.error is None:
                    parts.write(run.digest, outcome)
                bar.update()
    except KeyboardInterrupt:
        kept = sum(outcome.error is None for outcome in outcomes.values())
        raise KeyboardInterrupt(
            f"stopped: {kept:,} of {len(grid.runs):,} runs are in {directory}; the same call continues"
        ) from None
    return Sweep(grid.runs, outcomes, directory)
