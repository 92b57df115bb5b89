#!/usr/bin/env python3
"""The row sweep: 64 simulations on 2 workers of Ray against 1, wall clock.

    bench/sweep.py

Both play the openb trace, repeated, under 2 profiles with 32 seeds each, in turns, on one Ray of 2
cores that has started and imported everything before. What is timed is headroom.sweep() whole: the
trace into the object store, runs out and answers back, every run written and synced to disk, the
table. Exits with 1 where the two tables differ. A run has one thread, so on 2 idle cores the target
allows a tenth for all that is not simulating. `under_way` is how many runs were under way on the
mean with 2 workers: what is missing to 2 is Headroom's and Ray's, and not the machine's.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

import numpy as np
import ray

import headroom

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
PROFILES = {name: DATA / f"{name}.yaml" for name in ("limit-aware", "least-allocated")}
TARGET = 1.8


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=64, help="even")
    parser.add_argument("--repeat", type=int, default=4, help="of the trace, in each run")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print the row as JSON")
    options = parser.parse_args()

    def sweep(workers: int, runs: int) -> tuple[float, headroom.Sweep]:
        with tempfile.TemporaryDirectory() as out:
            start = time.perf_counter()
            result = headroom.sweep(
                {"openb": {"repeat": options.repeat}},
                PROFILES,
                range(runs // 2),
                out=out,
                workers=workers,
                progress=False,
            )
            return time.perf_counter() - start, result

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    sweep(2, 4)
    seconds, under_way = [], []
    for _ in range(options.repetitions):
        one_seconds, one = sweep(1, options.runs)
        two_seconds, two = sweep(2, options.runs)
        if not two.table.equals(one.table) or len(one.failed):
            sys.exit("sweep: the tables of 1 and 2 workers differ, or runs failed")
        seconds.append((one_seconds, two_seconds))
        under_way.append(sum(two.timings["seconds"].to_pylist()) / two_seconds)
    ray.shutdown()

    one_seconds, two_seconds = np.median(seconds, axis=0)
    ratio = float(np.median([one / two for one, two in seconds]))
    row = {
        "row": "sweep",
        "what": f"{options.runs} runs of the openb trace, {options.repeat} times repeated, on 2 "
        "workers against 1 (tables equal)",
        "value": round(ratio, 3),
        "unit": "times",
        "target": {"at least": TARGET},
        "figures": {
            "one_worker_seconds": round(float(one_seconds), 2),
            "two_workers_seconds": round(float(two_seconds), 2),
            "under_way": round(float(np.median(under_way)), 3),
        },
    }
    if options.json:
        print(json.dumps(row))
        return
    verdict = "met" if ratio >= TARGET else f"missed by {100 * (1 - ratio / TARGET):.0f} %"
    print(f"{row['row']}: {row['what']}: {ratio:.3f} times", end=" ")
    print(
        "({one_worker_seconds} s and {two_workers_seconds} s; {under_way} runs under way)".format(
            **row["figures"]
        ),
        end="; ",
    )
    print(f"target at least {TARGET} times: {verdict}")


if __name__ == "__main__":
    main()
