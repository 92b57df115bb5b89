"""Many threads, one engine or several."""

import gc
import sys
import threading
import time

import numpy as np
import pytest
from conftest import node, pod

import headroom


def run_all(works):
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as error:  # a failure of a thread is the test's
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_one_engine_from_many_threads():
    engine = headroom.Engine()
    engine.upsert([node(f"n{i}", "64", "256Gi") for i in range(20)])

    def place(prefix):
        for i in range(20):
            assert engine.place([pod(f"{prefix}-{i}", "100m", "1Mi")])[0].node
            engine.evaluate_nodes(pod("asked"))
            engine.nodes()

    def come_and_go():
        for i in range(20):
            engine.upsert(node(f"other-{i}", "1"))
            engine.evaluate(pod("asked", cpu="99")).reasons
            engine.remove_node(f"other-{i}")

    def columns(prefix):
        pods = headroom.PodColumns(600, requests={"cpu": np.full(600, 1)}, name_prefix=prefix)
        assert engine.place_columns(pods).placed == 600

    run_all(
        [lambda name=name: place(name) for name in "abc"]
        + [come_and_go]
        + [lambda name=name: columns(name) for name in "xy"]
    )
    assert engine.stats().pods == 3 * 20 + 2 * 600
    assert engine.nodes().requested["cpu"].sum() == 3 * 20 * 100 + 2 * 600
    engine.validate()


def test_the_gil_is_free_while_an_engine_works():
    engine = headroom.Engine(threads=1)
    engine.upsert(
        headroom.NodeColumns(
            [f"n{i}" for i in range(2000)],
            allocatable={name: np.full(2000, 10**12) for name in ("cpu", "memory", "pods")},
        )
    )
    pods = headroom.PodColumns(20_000, requests={"cpu": np.arange(20_000) % 50 + 1})
    state = ["before"]

    def place():
        state[0] = "inside"
        engine.place_columns(pods)
        state[0] = "done"

    # A thread keeps the GIL until it gives it away: this one sees "inside" only if the call does.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=place)
        thread.start()
        seen = set()
        while state[0] != "done":
            seen.add(state[0])
            time.sleep(0)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert "inside" in seen


def test_a_finaliser_may_ask_the_engine_that_answers():
    engine = headroom.Engine()
    engine.upsert([node(f"n{i}") for i in range(300)])
    asked = []

    class Curious:
        def __init__(self):
            self.circle = self

        def __del__(self):
            asked.append(engine.stats().nodes)

    gc.collect()
    threshold = gc.get_threshold()
    gc.set_threshold(5)
    try:
        for _ in range(5):
            Curious()
            engine.evaluate_all(pod("p"))
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert asked == [300] * 5


def test_engines_work_side_by_side():
    def work():
        engine = headroom.Engine(threads=1)
        engine.upsert([node(f"n{i}") for i in range(10)])
        for i in range(30):
            engine.place([pod(f"p{i}", "10m", "1Mi")])
        engine.validate()

    run_all([work] * 6)


@pytest.mark.parametrize("call", ["upsert", "place"])
def test_an_error_leaves_the_engine_usable(engine, call):
    for _ in range(3):
        with pytest.raises(headroom.InvalidError):
            getattr(engine, call)(pod("p", cpu="x"))
    assert engine.evaluate(pod("p")).node
