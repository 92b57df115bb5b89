#!/usr/bin/env python3
"""The row python_place: pods from numpy columns onto nodes, against Engine::place in C++.

    bench/python_place.py build/release/bench/libheadroom_place_reference.so

Both place the same pods of the openb trace, repeated, onto the trace's nodes, repeated, in turns in
one process, and must choose the same node for every pod. Python's time is from numpy arrays to
arrays of rows; that of C++ is within Engine::place alone, its pods being there already. Requests are
a quarter of the trace's, and one pod in 8 keeps its GPUs, so that nearly all find room. Exits with 1
where an answer differs.
"""

import argparse
import csv
import ctypes
import json
import pathlib
import sys
import time

import numpy as np

import headroom

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
RESOURCES = ["cpu", "memory", "nvidia.com/gpu"]
TARGET = 1.2


def trace_nodes(count: int) -> np.ndarray:
    rows = []
    for row in csv.DictReader((DATA / "openb-nodes.csv").open()):
        amounts = [int(row["cpu_milli"]), int(row["memory_mib"]) << 20, int(row["gpu"])]
        rows += [amounts] * int(row["count"])
    return np.resize(np.array(rows, dtype=np.int64), (count, 3))


def trace_pods(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Requests and limits; of one shape all pods have the same."""
    shapes = [
        [int(row["cpu_milli"]) // 4, (int(row["memory_mib"]) << 20) // 4, int(row["num_gpu"])]
        for row in csv.DictReader((DATA / "openb-pod-shapes.csv").open())
    ]
    draw = np.random.default_rng(seed)
    requests = np.array(shapes, dtype=np.int64)
    limits = requests * np.column_stack(
        [
            draw.integers(4, 9, len(shapes)),
            draw.integers(4, 7, len(shapes)),
            np.full(len(shapes), 4),
        ]
    )
    limits //= 4
    of_pod = [int(row["shape"]) for row in csv.DictReader((DATA / "openb-pods.csv").open())]
    shape = np.resize(np.array(of_pod), count)
    requests, limits = requests[shape], limits[shape]
    without = np.arange(count) % 8 != 0
    requests[without, 2] = limits[without, 2] = 0
    return np.ascontiguousarray(requests), np.ascontiguousarray(limits)


def in_cpp(library: ctypes.CDLL, nodes: np.ndarray, requests: np.ndarray, limits: np.ndarray):
    rows = np.empty(len(requests), dtype=np.int32)

    def pointer(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    seconds = np.zeros(2)
    failed = library.headroom_place_reference(
        pointer(nodes),
        ctypes.c_int64(len(nodes)),
        ctypes.c_int64(len(requests)),
        pointer(requests),
        pointer(limits),
        pointer(rows),
        pointer(seconds),
    )
    if failed:
        sys.exit(1)
    return seconds, rows


def in_python(nodes: np.ndarray, requests: np.ndarray, limits: np.ndarray):
    engine = headroom.Engine(threads=1)
    allocatable = {
        resource: nodes[:, r] for r, resource in enumerate(RESOURCES) if nodes[:, r].any()
    }
    allocatable["pods"] = np.full(len(nodes), 110)
    engine.upsert(
        headroom.NodeColumns([f"node-{n}" for n in range(len(nodes))], allocatable=allocatable)
    )
    start = np.array([time.perf_counter(), time.process_time()])
    pods = headroom.PodColumns(
        requests={resource: requests[:, r] for r, resource in enumerate(RESOURCES)},
        limits={resource: limits[:, r] for r, resource in enumerate(RESOURCES)},
    )
    placed = engine.place_columns(pods)
    seconds = np.array([time.perf_counter(), time.process_time()]) - start
    engine.validate()
    return seconds, placed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("reference", type=pathlib.Path, help="libheadroom_place_reference.so")
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--pods", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the row as JSON")
    options = parser.parse_args()

    library = ctypes.CDLL(str(options.reference.resolve()))
    nodes = trace_nodes(options.nodes)
    requests, limits = trace_pods(options.pods, options.seed)
    cpp, python = [], []
    for _ in range(options.repetitions):
        seconds, rows = in_cpp(library, nodes, requests, limits)
        cpp.append(seconds)
        seconds, placed = in_python(nodes, requests, limits)
        python.append(seconds)
        if not np.array_equal(rows, placed.rows):
            first = int(np.flatnonzero(rows != placed.rows)[0])
            sys.exit(
                f"python_place: pod {first}: C++ chose row {rows[first]}, Python {placed.rows[first]}"
            )
    # Of wall clock, which is promised; and of processor time, which neighbours disturb less.
    ratio, cpu_ratio = np.median(np.array(python) / np.array(cpp), axis=0)
    row = {
        "row": "python_place",
        "what": f"{options.pods} pods from numpy columns onto {options.nodes} nodes, against C++ "
        f"({placed.placed} placed, all on the same nodes)",
        "value": round(float(ratio), 3),
        "unit": "times",
        "target": {"at most": TARGET},
        "figures": {
            "cpu_ratio": round(float(cpu_ratio), 3),
            "python_seconds": round(float(np.median(python, axis=0)[0]), 3),
            "cpp_seconds": round(float(np.median(cpp, axis=0)[0]), 3),
        },
    }
    if options.json:
        print(json.dumps(row))
        return
    verdict = "met" if ratio <= TARGET else f"missed by {100 * (ratio / TARGET - 1):.0f} %"
    print(f"{row['row']}: {row['what']}: {ratio:.3f} times", end=" ")
    print("({python_seconds} s and {cpp_seconds} s;".format(**row["figures"]), end=" ")
    print(f"of processor time {cpu_ratio:.3f} times)", end="; ")
    print(f"target at most {TARGET} times: {verdict}")


if __name__ == "__main__":
    main()
