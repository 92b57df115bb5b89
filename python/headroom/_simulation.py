"""Simulations: pods arrive one by one, each is placed on its best node, and leaves when its time ends."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from headroom import _headroom
from headroom._results import html_table
from headroom._types import ObjectsLike, ProfileLike
from headroom._whole_file import write_whole


def _frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A pandas.DataFrame; without pandas a dict of numpy arrays."""
    try:
        import pandas
    except ImportError:
        names = list(dict.fromkeys(name for row in rows for name in row))
        return {name: np.array([row.get(name) for row in rows]) for name in names}
    return pandas.DataFrame(list(rows))


class Simulation:
    """What a simulation came to."""

    def __init__(self, summary: str, decisions: str) -> None:
        self._json = summary
        #: What `headroom simulate --json` prints, as a dict.
        self.summary: dict[str, Any] = json.loads(summary)
        #: What `headroom simulate --out` writes: a line of JSON for each decision.
        self.decision_lines: str = decisions

    @property
    def placed(self) -> int:
        """Pods that found a place when they arrived."""
        return int(self.summary["placed"])

    @property
    def failed(self) -> int:
        """Pods that did not."""
        return int(self.summary["failed"])

    @property
    def not_considered(self) -> Any:
        """What pods ask for that no decision looked at: how many of those that a place was looked
        for, and of those that were there (affinity between pods only)."""
        return _frame(self.summary["not_considered"])

    @property
    def left_out(self) -> dict[str, int]:
        """Pods that no place was looked for: being deleted, with scheduling gates, of other schedulers."""
        return dict(self.summary["left_out"])

    @cached_property
    def decisions(self) -> Any:
        """Every decision: pod, time, node, total, feasible, nodes, and a column score.PLUGIN each."""
        rows = []
        for line in self.decision_lines.splitlines():
            row = json.loads(line)
            scores = row.pop("scores", {})
            row.update({f"score.{plugin}": score for plugin, score in scores.items()})
            if "not_considered" in row:
                row["not_considered"] = ", ".join(row["not_considered"])
            rows.append(row)
        frame = _frame(rows)
        if "time" in frame and not isinstance(frame, dict):
            import pandas

            frame["time"] = pandas.to_datetime(frame["time"], format="ISO8601")
        return frame

    @property
    def resources(self) -> Any:
        """By resource: allocatable, peaks of requests and limits, the fullest node by limits."""
        return _frame(self.summary["resources"])

    @property
    def failures(self) -> Any:
        """By reason: pods to whom most nodes gave it, and pods to whom some node did."""
        return _frame(self.summary["failures"])

    @property
    def elastic_quotas(self) -> Any:
        """By elastic quota and resource: min, max, used, borrowed, lent, reclaimed."""
        rows = []
        for quota in self.summary.get("elastic_quotas", []):
            head = {name: value for name, value in quota.items() if name != "resources"}
            rows += [
                {
                    **head,
                    **{("resource" if key == "name" else key): value for key, value in at.items()},
                }
                for at in quota["resources"]
            ]
        return _frame(rows)

    @property
    def intervals(self) -> Any:
        """Over time: preemptors, victims, and victims placed again."""
        return _frame(self.summary.get("preemption", {}).get("intervals", []))

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page of charts and tables of `headroom simulate --report`, as HTML; written to path,
        where given (IoError). It needs no network."""
        page = _headroom.report_page(self._json)
        if path is not None:
            write_whole("path", path, page.encode())
        return page

    def __repr__(self) -> str:
        return (
            f"<Simulation of {self.summary['input']}: {self.summary['nodes']:,} nodes, "
            f"{self.placed:,} pods placed, {self.failed:,} failed>"
        )

    def _repr_html_(self) -> str:
        caption = f"{self.summary['input']}: {self.summary['nodes']:,} nodes"
        rows = [[name, f"{self.summary[name]:,}"] for name in ("placed", "failed", "departed")]
        rows += [
            [f"failed: {at['reason']}", f"{at['pods_mainly']:,}"] for at in self.summary["failures"]
        ]
        rows += [[f"left out: {what}", f"{count:,}"] for what, count in self.left_out.items() if count]
        rows += [
            [f"not considered: {at['what']}", f"{at['pods'] + at['pods_there']:,}"]
            for at in self.summary["not_considered"]
        ]
        tables = html_table(rows, ["", "pods"], caption)
        if self.summary["resources"]:
            header = list(self.summary["resources"][0])
            body = [list(row.values()) for row in self.summary["resources"]]
            tables += html_table(body, header, "allocation, each at its peak")
        return tables


def simulate(
    cluster: ObjectsLike | Sequence[os.PathLike[str] | str] | None = None,
    pods: ObjectsLike | int | None = None,
    *,
    nodes: int | None = None,
    elastic_quotas: int = 0,
    repeat: int = 1,
    profile: ProfileLike = None,
    seed: int = 1,
    departures: bool = True,
    metrics_every: int | None = None,
    preemption: bool | None = None,
    autoscale: ObjectsLike | None = None,
    provision_seconds: int = 60,
    random_ties: bool = False,
    all_pods: bool = False,
    threads: int = 1,
    validate: bool = False,
    decisions: bool = True,
) -> Simulation:
    """What `headroom simulate` does, with the same answers.

    Without cluster and nodes it plays the openb trace (8,152 pods on 1,523 nodes), `repeat` times.

    cluster: what kubectl printed, as in Engine.upsert(), or a list of paths and texts: pods that have
    a node stay there, pending ones are placed. pods: with cluster more pods, each placed anew when it
    was created; with nodes their number (4 for each). nodes: generate a cluster of so many.
    elastic_quotas: with nodes, namespaces with an ElasticQuota each. metrics_every: nodes report usage
    so often, in seconds; None, never. preemption: None, where the input has quotas or priority classes.
    autoscale: Nodes as templates to add, and CapacityQuotas that limit them; each comes after
    provision_seconds. all_pods: place also pods with schedulingGates and those that name another
    scheduler than the profile; else they are left out and counted. random_ties: ties go to an order
    drawn from the seed. validate: recompute every sum at the end, and check the rules of quotas at
    every moment; what is broken is in summary["violations"]. decisions: keep them (about 300 bytes a
    pod).

    Raises InvalidError, ConflictError or LimitExceededError naming what cannot be used.
    """
    return Simulation(
        *_headroom.simulate_json(
            cluster=cluster,
            pods=pods,
            nodes=nodes,
            elastic_quotas=elastic_quotas,
            repeat=repeat,
            profile=profile,
            seed=seed,
            departures=departures,
            metrics_every=metrics_every,
            preemption=preemption,
            autoscale=autoscale,
            provision_seconds=provision_seconds,
            random_ties=random_ties,
            all_pods=all_pods,
            threads=threads,
            validate=validate,
            decisions=decisions,
        )
    )
