"""Nothing is kept that nobody needs, seen coarsely: the process does not grow."""

import gc
import pathlib

import numpy as np
import pytest
from conftest import node, pod

import headroom


def resident_bytes() -> int:
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


def growth(work, times: int) -> int:
    """Bytes that `times` more runs of `work` add, after some that fill caches and free lists."""
    for _ in range(times // 3):
        work()
    gc.collect()
    before = resident_bytes()
    for _ in range(times):
        work()
    gc.collect()
    return resident_bytes() - before


def fresh_engine():
    engine = headroom.Engine()
    engine.upsert([node(f"n{i}") for i in range(50)])
    engine.evaluate(pod("p"))


def arrays():
    engine = headroom.Engine()
    engine.upsert(
        headroom.NodeColumns([f"n{i}" for i in range(2000)], allocatable={"cpu": np.full(2000, 9)})
    )
    table = engine.nodes()
    placed = engine.place_columns(headroom.PodColumns(5000, requests={"cpu": np.full(5000, 1)}))
    del engine
    assert table.allocatable["cpu"].sum() == 18_000 and len(placed.rows) == 5000


def arrow():
    pyarrow = pytest.importorskip("pyarrow")
    names = pyarrow.array([f"pod-{i}" for i in range(20_000)])
    chunked = pyarrow.chunked_array([np.full(10_000, 1), np.full(10_000, 2)])
    headroom.PodColumns(requests={"cpu": chunked}, names=names)


def errors():
    engine = headroom.Engine()
    for _ in range(20):
        with pytest.raises(headroom.InvalidError):
            engine.upsert([node("n", cpu="x" * 1000)] * 20)
        with pytest.raises(TypeError):
            headroom.PodColumns(names=["x" * 10_000, 5])


@pytest.mark.parametrize(
    "work", [fresh_engine, arrays, arrow, errors], ids=lambda work: work.__name__
)
def test_memory_stays(work):
    assert growth(work, 60) < 6 << 20


def test_facts_that_go_leave_nothing():
    engine = headroom.Engine()
    engine.upsert([node(f"n{i}", "1000", "1000Gi") for i in range(20)])

    def come_and_go():
        engine.place([pod(f"p{i}", "1m", "1Mi") for i in range(100)])
        for i in range(100):
            engine.remove_pod("default", f"p{i}")

    assert growth(come_and_go, 30) < 4 << 20
    assert engine.stats().pods == 0
