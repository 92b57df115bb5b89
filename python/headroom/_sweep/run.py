"""One run of a sweep: a simulation, and the figures that a table has of it."""

from __future__ import annotations

import functools
import hashlib
import pathlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headroom import _headroom
from headroom._simulation import simulate


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    figures: dict[str, Any]  #: by column; empty where it failed
    error: str | None = None  #: None: it did not fail
    seconds: float = 0.0  #: of the run that counted, on its worker
    attempts: int = 1  #: more than one: workers died under it


@functools.cache
def build() -> str:
    """The digest of the engine that this process runs: another build is another engine."""
    assert _headroom.__file__ is not None
    return hashlib.sha256(pathlib.Path(_headroom.__file__).read_bytes()).hexdigest()


def play(
    trace: Mapping[str, Any],
    profile: str | None,
    seed: int,
    options: Mapping[str, Any],
    driver_build: str,
) -> Outcome:
    """Runs one simulation, here. Raises nothing: what goes wrong is in the outcome."""
    if build() != driver_build:
        return Outcome({}, "the worker has another build of headroom than the driver")
    begin = time.perf_counter()
    try:
        result = simulate(**trace, profile=profile, seed=seed, **options, decisions=False)
    except Exception as error:
        return Outcome({}, str(error) or repr(error), time.perf_counter() - begin)
    seconds = time.perf_counter() - begin
    broken = result.summary.get("violations")
    if broken:
        return Outcome({}, "rules that were broken: " + "; ".join(broken), seconds)
    return Outcome(figures_of(result.summary), None, seconds)


def figures_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The summary's figures that are one number for the whole run, and no timing.

    Those of series.summary, which compare profiles, keep their names: cpu.limits.nodes_above_100 is
    how many nodes have limits of cpu above what they have, the mean over the simulation.
    """
    figures = {name: summary[name] for name in ("nodes", "pods", "placed", "failed", "departed")}
    reasons = [at for at in summary["failures"] if at["pods_mainly"] > 0]
    if reasons:
        figures["main_reason"] = max(reasons, key=lambda at: at["pods_mainly"])["reason"]
    preemption = summary.get("preemption", {})
    for name in ("preemptors", "victims", "victims_placed_again", "victims_not_placed"):
        figures[name] = preemption.get(name, 0)
    for at in summary["resources"]:
        figures[f"{at['name']}.allocatable"] = at["allocatable"]
        if at["allocatable"] > 0:
            for peak in ("peak_requested", "peak_limits"):
                figures[f"{at['name']}.{peak}_fraction"] = at[peak] / at["allocatable"]
    for resource, measures in summary["series"]["summary"].items():
        for measure, values in measures.items():
            for name, value in values.items():
                figures[f"{resource}.{measure}.{name}"] = value
    growth = summary.get("autoscaler")
    if growth is not None:
        figures["autoscaler.nodes_added"] = sum(at["nodes"] for at in growth["templates"])
        for name in ("waited", "waiting_at_end", "wait_seconds_p50", "wait_seconds_p99"):
            figures[f"autoscaler.{name}"] = growth[name]
    return figures
