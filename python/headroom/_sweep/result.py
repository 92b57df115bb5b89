"""What a sweep came to, as tables."""

from __future__ import annotations

import io
import pathlib
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from headroom._results import html_table
from headroom._sweep.extra import need
from headroom._sweep.grid import Run
from headroom._sweep.run import Outcome
from headroom._whole_file import write_whole

_SHOWN_MAX = 10  # different errors in what is printed


class Sweep:
    """What a sweep came to: a row for each run, in the order of the grid."""

    def __init__(self, runs: list[Run], outcomes: Mapping[Run, Outcome], out: pathlib.Path) -> None:
        #: A pyarrow.Table: trace, profile, seed, status ("ok" or "failed"), error, and the figures
        #: of the simulation, null where it failed. The same for the same input, however it was run.
        self.table: Any = _table(runs, [_row(run, outcomes[run]) for run in runs], _HEAD)
        #: A pyarrow.Table: trace, profile, seed, seconds of the run on its worker, and attempts,
        #: more than 1 where workers died.
        self.timings: Any = _table(runs, [_timing(run, outcomes[run]) for run in runs], _TIMING)
        #: The table as a file, runs.parquet; timings.parquet is beside it.
        self.path = out / "runs.parquet"
        for path, table in (self.path, self.table), (out / "timings.parquet", self.timings):
            content = io.BytesIO()
            need("pyarrow.parquet").write_table(table, content)
            write_whole("out", path, content.getvalue())

    @cached_property
    def frame(self) -> Any:
        """The table as a pandas.DataFrame."""
        return self.table.to_pandas()

    @cached_property
    def failed(self) -> Any:
        """A pyarrow.Table of the runs that failed: trace, profile, seed, error."""
        failed = need("pyarrow.compute").equal(self.table["status"], "failed")
        return self.table.filter(failed).select(["trace", "profile", "seed", "error"])

    def __repr__(self) -> str:
        failed = len(self.failed)
        verdict = f"{failed:,} failed" if failed else "complete"
        return f"<Sweep of {len(self.table):,} runs, {verdict}: {self.path}>"

    def __str__(self) -> str:
        lines = [repr(self)]
        errors = self._errors()
        lines += [f"  {row[0]:,} x {row[1]} (first: {row[2]})" for row in errors[:_SHOWN_MAX]]
        if len(errors) > _SHOWN_MAX:
            lines.append(f"  and {len(errors) - _SHOWN_MAX:,} other errors: see the table")
        return "\n".join(lines)

    def _errors(self) -> list[list[Any]]:
        """What went wrong: how often, its text, and where first."""
        errors: dict[str, list[Any]] = {}
        for at in self.failed.to_pylist():
            where = f"{at['trace']}, {at['profile']}, seed {at['seed']}"
            errors.setdefault(at["error"], [0, at["error"], where])[0] += 1
        return list(errors.values())

    def _repr_html_(self) -> str:
        placed: dict[tuple[str, str], list[int]] = {}
        failed: Counter[tuple[str, str]] = Counter()
        for at in self.table.to_pylist():
            point = at["trace"], at["profile"]
            placed.setdefault(point, [])
            if at["status"] == "ok":
                placed[point].append(at["placed"])
            else:
                failed[point] += 1
        rows = [
            [*point, len(pods), failed[point], f"{sum(pods) / len(pods):,.1f}" if pods else ""]
            for point, pods in placed.items()
        ]
        header = ["trace", "profile", "runs", "failed", "pods placed, mean"]
        tables = html_table(rows, header, str(self.path))
        if failed:
            tables += html_table(self._errors()[:_SHOWN_MAX], ["runs", "error", "first"], "failed")
        return tables


_POINT = {"trace": "string", "profile": "string", "seed": "uint64"}
_HEAD = {**_POINT, "status": "string", "error": "string"}
_TIMING = {**_POINT, "seconds": "float64", "attempts": "uint32"}


def _point(run: Run) -> dict[str, Any]:
    return {"trace": run.trace, "profile": run.profile, "seed": run.seed}


def _row(run: Run, outcome: Outcome) -> dict[str, Any]:
    status = "ok" if outcome.error is None else "failed"
    return {**_point(run), "status": status, "error": outcome.error, **outcome.figures}


def _timing(run: Run, outcome: Outcome) -> dict[str, Any]:
    return {**_point(run), "seconds": outcome.seconds, "attempts": outcome.attempts}


def _table(runs: list[Run], rows: list[dict[str, Any]], types: Mapping[str, str]) -> Any:
    """Columns that some rows lack are null there."""
    pyarrow = need("pyarrow")
    names = dict.fromkeys([*types, *(name for row in rows for name in row)])
    return pyarrow.table(
        {
            name: pyarrow.array([row.get(name) for row in rows], types.get(name) or None)
            for name in names
        }
    )
