"""Pods and nodes as columns."""

import array
import ctypes
import math
import os
import random

import numpy as np
import pytest
from conftest import node, pod

import headroom

SEED = int(os.environ.get("HEADROOM_SEED", "1"))


def cluster(nodes: int = 40) -> headroom.Engine:
    engine = headroom.Engine()
    engine.upsert([node(f"n{i}", str(4 + i % 5), f"{8 + i % 7}Gi") for i in range(nodes)])
    return engine


def test_what_templates_ask_for_and_nobody_looks_at_is_counted():
    claims = pod("claims", resourceClaims=[{"name": "g", "resourceClaimName": "g"}])
    columns = headroom.PodColumns(templates=[claims, pod("plain")], template=[0, 0, 1, 0, 1])
    placed = cluster().place_columns(columns)
    assert placed.not_considered == {"resource claims": 3}
    assert repr(placed).endswith("; not considered: resource claims (3)>")
    assert "not considered: resource claims" in placed._repr_html_()
    # Numbers alone ask for nothing of it.
    assert cluster().place_columns(headroom.PodColumns(requests={"cpu": [100]})).not_considered == {}


def test_columns_give_what_dicts_give():
    print("HEADROOM_SEED", SEED)
    draw = random.Random(SEED)
    tolerant = pod("template")
    tolerant["spec"]["tolerations"] = [{"operator": "Exists"}]
    tolerant["spec"]["containers"][0]["resources"] = {"requests": {"example.com/gpu": "1"}}
    tolerant["spec"]["priority"] = 7
    plain = pod("template", memory="64Mi")
    count = 1500
    cpu = [draw.choice([0, 100, 250, 1000, 1500]) for _ in range(count)]
    limit = [draw.choice([0, value, 2 * value]) for value in cpu]
    template = [draw.randrange(2) for _ in range(count)]

    pods = []
    for i in range(count):
        made = pod(f"pod-{i}")
        del made["metadata"]["uid"]
        own = (plain, tolerant)[template[i]]
        resources = {
            what: dict(amounts)
            for what, amounts in own["spec"]["containers"][0]["resources"].items()
        }
        for what, value in (("requests", cpu[i]), ("limits", limit[i])):
            resources.setdefault(what, {}).pop("cpu", None)
            if value:
                resources[what]["cpu"] = f"{value}m"
        made["spec"] = {**own["spec"], "containers": [{"name": "main", "resources": resources}]}
        pods.append(made)

    taint = node("tainted", "16", "64Gi")
    taint["spec"] = {"taints": [{"key": "a", "effect": "NoSchedule"}]}
    taint["status"]["allocatable"]["example.com/gpu"] = "40"
    by_dicts, by_columns = cluster(), cluster()
    for engine in (by_dicts, by_columns):
        engine.upsert(taint)
    placements = by_dicts.place(pods)
    columns = headroom.PodColumns(
        requests={"cpu": np.array(cpu)},
        limits={"cpu": np.array(limit)},
        templates=[plain, tolerant],
        template=np.array(template, dtype=np.uint8),
    )
    assert len(columns) == count and "1,500 pods of 2 templates" in repr(columns)
    placed = by_columns.place_columns(columns, scores=True)

    names = by_columns.node_names()
    assert [names[row] if row >= 0 else None for row in placed.rows] == [p.node for p in placements]
    assert placed.placed == sum(p.node is not None for p in placements)
    assert 0 < placed.placed < count
    for i, placement in enumerate(placements):
        best = placement.decision.candidates
        assert placed.totals[i] == (best[0].total if best else 0)
        for plugin, scores in placed.scores.items():
            expected = best[0].plugins[plugin].score if best and plugin in best[0].plugins else -1
            assert scores[i] == expected
        if best:
            assert placed.reason[i] == -1
        else:
            reasons = placement.decision.reasons
            assert reasons[placed.reasons[placed.reason[i]]] == max(reasons.values())
    assert by_columns.digest() == by_dicts.digest()
    by_columns.validate()
    assert repr(placed) == f"<PlacedPods: {placed.placed:,} of 1,500 placed>"
    assert "<table>" in placed._repr_html_()

    facts = cluster()
    facts.upsert(taint)
    where = [names[row] if row >= 0 else "" for row in placed.rows]
    bound = headroom.PodColumns(
        requests={"cpu": cpu},
        limits={"cpu": limit},
        templates=[plain, tolerant],
        template=template,
        nodes=where,
    )
    assert facts.upsert(bound) == count
    for resource in ("cpu", "memory", "example.com/gpu"):
        of_facts, of_placed = facts.nodes([resource]), by_columns.nodes([resource])
        assert of_facts.requested[resource].tolist() == of_placed.requested[resource].tolist()
        assert of_facts.limits[resource].tolist() == of_placed.limits[resource].tolist()


def test_nodes_from_columns():
    names = [f"n{i}" for i in range(30)]
    cpu = np.arange(30) * 500 + 1000
    zones = [f"zone-{i % 3}" for i in range(30)]
    template = node("template", "1", "8Gi", labels={"pool": "a"})
    template["spec"] = {"taints": [{"key": "a", "effect": "NoSchedule"}]}
    columns = headroom.NodeColumns(
        names,
        allocatable={"cpu": cpu},
        capacity={"cpu": cpu},
        labels={"zone": zones},
        template=template,
    )
    assert len(columns) == 30
    engine, expected = headroom.Engine(), headroom.Engine()
    assert engine.upsert(columns) == 30
    for i in range(30):
        made = node(names[i], f"{cpu[i]}m", "8Gi", labels={"pool": "a", "zone": zones[i]})
        made["spec"] = template["spec"]
        expected.upsert(made)
    assert engine.digest() == expected.digest()
    asked = pod("p", nodeSelector={"zone": "zone-1"}, tolerations=[{"operator": "Exists"}])
    assert engine.evaluate(asked) == expected.evaluate(asked)
    assert engine.evaluate(asked).feasible == 10
    assert np.array_equal(engine.nodes().allocatable["cpu"], cpu)
    assert engine.upsert(headroom.NodeColumns([], allocatable={"cpu": []})) == 0


def numbers() -> dict:
    values = [100, 0, 2500]
    forms = {
        str(kind): np.array(values, dtype=kind)
        for kind in ("int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
    }
    forms["int8"] = np.array([100, 0, 25], dtype="int8")
    forms["strided"] = np.array([100, 9, 0, 9, 2500, 9])[::2]
    forms["reversed"] = np.array(values[::-1])[::-1]
    forms["read-only"] = np.array(values)
    forms["read-only"].flags.writeable = False
    forms["list"] = values
    forms["list of numpy's"] = list(np.array(values))
    forms["nothing masked"] = np.ma.array(values)
    forms["tuple"] = tuple(values)
    forms["array.array"] = array.array("q", values)
    forms["memoryview"] = memoryview(array.array("i", values))
    return forms


@pytest.mark.parametrize("form", numbers())
def test_forms_of_numbers(form):
    column = numbers()[form]
    engine = cluster()
    placed = engine.place_columns(headroom.PodColumns(requests={"cpu": column}))
    assert placed.placed == 3
    assert engine.nodes().requested["cpu"].sum() == sum(int(value) for value in column)


def test_arrow_and_pandas():
    pyarrow = pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    values = [100, 0, 2500]
    arrow = pyarrow.array([7, *values], type=pyarrow.int32())[1:]  # with an offset
    chunked = pyarrow.chunked_array([[100], [], [0, 2500]])
    series = pandas.Series(values, index=[5, 6, 7])
    names = ["a", "long-name-that-lies-outside-of-a-view", "c"]
    texts = [
        pyarrow.array(["x", *names])[1:],
        pyarrow.array(names, type=pyarrow.large_string()),
        pyarrow.array(names, type=pyarrow.string_view()),
        pyarrow.array(names).dictionary_encode(),
        pyarrow.chunked_array([names[:1], names[1:]]),
        pandas.Series(names),
        np.array(names),
        np.array(names, dtype=object),
        names,
    ]
    for column in (arrow, chunked, series, pyarrow.array(values, type=pyarrow.float64())):
        for name in texts:
            engine = cluster()
            engine.place_columns(headroom.PodColumns(requests={"cpu": column}, names=name))
            assert engine.nodes().requested["cpu"].sum() == 2600
            for text in names:
                assert engine.node_of_pod("default", text)
    with pytest.raises(headroom.InvalidError, match=r"requests\[cpu\]\[1\]: null"):
        headroom.PodColumns(requests={"cpu": pyarrow.array([1, None, 3])})
    with pytest.raises(headroom.InvalidError, match=r"names\[0\]: null"):
        headroom.PodColumns(names=pyarrow.array([None, "a"]))
    with pytest.raises(TypeError, match="whole numbers"):
        headroom.PodColumns(requests={"cpu": pyarrow.array(["a"])})
    with pytest.raises(TypeError, match="strings"):
        headroom.PodColumns(names=pyarrow.array([1]))
    frame = cluster().nodes().frame()
    assert frame.loc["n1", "allocatable.cpu"] == 5000 and len(frame) == 40


BAD = [
    ({"requests": {"cpu": [1, -1]}}, ValueError, r"requests\[cpu\]\[1\]: -1 is negative"),
    (
        {"requests": {"cpu": np.array([1.0, math.nan])}},
        ValueError,
        r"requests\[cpu\]\[1\]: nan is no whole",
    ),
    ({"requests": {"cpu": [math.inf]}}, ValueError, "inf is no whole"),
    ({"limits": {"cpu": np.array([0.5])}}, ValueError, r"limits\[cpu\]\[0\]: 0.5"),
    ({"requests": {"cpu": np.array([2**63], dtype="uint64")}}, ValueError, "does not fit 64 bits"),
    ({"requests": {"cpu": [2**63]}}, ValueError, "does not fit 64 bits"),
    ({"requests": {"cpu": [1e30]}}, ValueError, "no whole number"),
    (
        {"requests": {"cpu": [1], "memory": [1, 2]}},
        ValueError,
        r"requests\[memory\]: 2 rows, 1 expected",
    ),
    ({"requests": {"cpu": [1]}, "names": ["a", "b"]}, ValueError, "names: 2 rows"),
    (
        {"size": 2, "template": [0, 1], "templates": [{"metadata": {"name": "t"}}]},
        ValueError,
        r"template\[1\]: 1",
    ),
    ({"template": [-1]}, ValueError, r"template\[0\]: -1"),
    ({}, ValueError, "size"),
    ({"size": 10**9}, ValueError, "kPodsMax"),
    ({"size": 1, "templates": []}, ValueError, "templates: 0 pods"),
    ({"names": ["a", "b", "a"]}, ValueError, r"names\[2\]: default/a is names\[0\] too"),
    ({"requests": {"cpu": np.ma.array([1, 2], mask=[0, 1])}}, ValueError, "some values are masked"),
    ({"size": 1, "namespace": "x" * 254}, ValueError, "namespace: has 1 to 253"),
    ({"names": [""]}, ValueError, r"names\[0\]: a name has"),
    ({"names": ["x" * 254]}, ValueError, r"names\[0\]: a name has"),
    ({"size": 1, "name_prefix": "x" * 254}, ValueError, "name_prefix"),
    ({"requests": {"": [1]}}, ValueError, "a resource is a name"),
    ({"requests": {5: [1]}}, ValueError, "a resource is a name"),
    ({"requests": {"cpu": np.ones((2, 2), dtype=int)}}, TypeError, "2 dimensions"),
    ({"requests": {"cpu": np.array([True])}}, TypeError, "another type"),
    ({"requests": {"cpu": np.array([1j])}}, TypeError, "another type"),
    ({"requests": {"cpu": np.array(["a"])}}, TypeError, r"requests\[cpu\]"),
    ({"requests": {"cpu": [True]}}, TypeError, "no whole number"),
    ({"requests": {"cpu": [np.array([1, 2])]}}, TypeError, r"requests\[cpu\]\[0\]: no whole number"),
    ({"requests": {"cpu": ["1"]}}, TypeError, "no whole number"),
    ({"requests": {"cpu": "11"}}, TypeError, "an array of whole numbers"),
    ({"requests": {"cpu": b"11"}}, TypeError, "an array of whole numbers"),
    ({"requests": {"cpu": 5}}, TypeError, "an array of whole numbers"),
    ({"requests": [1]}, TypeError, "a dict of columns"),
    ({"names": "abc"}, TypeError, "names: give strings"),
    ({"names": [1]}, TypeError, r"names\[0\]: no string"),
    ({"size": -1}, TypeError, "incompatible function arguments"),
    ({"size": 1, "unknown": 1}, TypeError, "incompatible function arguments"),
    ({"size": 1, "templates": {"spec": 5}}, headroom.Error, "templates"),
]


@pytest.mark.parametrize("arguments, kind, text", BAD, ids=str)
def test_bad_pod_columns(arguments, kind, text):
    with pytest.raises(kind, match=text):
        headroom.PodColumns(**arguments)


def test_bad_node_columns():
    with pytest.raises(headroom.InvalidError, match=r"allocatable\[cpu\]: 1 rows, 2 expected"):
        headroom.NodeColumns(["a", "b"], allocatable={"cpu": [1]})
    with pytest.raises(headroom.InvalidError, match=r"labels\[zone\]: 1 rows"):
        headroom.NodeColumns(["a", "b"], allocatable={}, labels={"zone": ["x"]})
    with pytest.raises(headroom.InvalidError, match=r"labels\[zone\]\[0\]: longer than 1024"):
        headroom.NodeColumns(["a"], allocatable={}, labels={"zone": ["x" * 1025]})
    with pytest.raises(headroom.InvalidError, match="labels: a key has"):
        headroom.NodeColumns(["a"], allocatable={}, labels={5: ["x"]})
    with pytest.raises(TypeError, match="labels: give a dict"):
        headroom.NodeColumns(["a"], allocatable={}, labels=["zone"])
    with pytest.raises(headroom.InvalidError, match=r"names\[0\]"):
        headroom.NodeColumns([""], allocatable={})
    with pytest.raises(headroom.InvalidError, match="template: 0 nodes"):
        headroom.NodeColumns(["a"], allocatable={}, template=[])


def test_nothing_is_half_placed():
    engine = cluster()
    columns = headroom.PodColumns(2000, requests={"cpu": [10] * 2000})
    assert engine.place_columns(columns).placed == 2000
    digest = engine.digest()
    with pytest.raises(headroom.ConflictError, match="Pod default/pod-0 is on a node already"):
        engine.place_columns(columns)
    # The first 600 are new; one of the second chunk is known.
    engine.remove_pod("default", "pod-700")
    for i in range(700):
        engine.remove_pod("default", f"pod-{i}")
    before = engine.digest()
    with pytest.raises(headroom.ConflictError, match="Pod default/pod-701"):
        engine.place_columns(columns)
    assert engine.digest() == before != digest
    engine.validate()
    named = headroom.PodColumns(
        requests={"cpu": [10] * 700}, names=[f"pod-{i}" for i in range(700)]
    )
    assert engine.place_columns(named).placed == 700


def test_huge_amounts_are_refused_whole():
    engine = cluster()
    before = engine.digest()
    huge = np.full(2000, 1000)
    huge[1500] = 2**63 - 1
    columns = headroom.PodColumns(requests={"memory": huge}, limits={"memory": huge})
    try:
        placed = engine.place_columns(columns)
    except headroom.Error:
        assert engine.digest() == before
    else:
        assert placed.rows[1500] == -1
    engine.validate()


def test_columns_are_copied():
    cpu = np.full(1000, 10)
    columns = headroom.PodColumns(requests={"cpu": cpu})
    cpu[:] = 10**9
    engine = cluster()
    placed = engine.place_columns(columns)
    assert placed.placed == 1000
    rows = placed.rows.copy()
    del engine, columns
    assert np.array_equal(placed.rows, rows)
    assert not placed.rows.flags.owndata


def test_a_million_pods_in_one_call():
    engine = headroom.Engine()
    engine.upsert(
        headroom.NodeColumns(
            [f"n{i}" for i in range(1000)],
            allocatable={name: np.full(1000, 10**9) for name in ("cpu", "memory", "pods")},
        )
    )
    pods = headroom.PodColumns(1_000_000, requests={"cpu": np.full(1_000_000, 100)})
    assert engine.upsert(pods) == 1_000_000
    assert engine.stats().pods == 1_000_000


def test_what_has_the_buffer_protocol_alone():
    # ctypes does not say how far values are apart.
    for array_type in (ctypes.c_int64, ctypes.c_uint8, ctypes.c_double):
        column = (array_type * 3)(100, 0, 25)
        engine = cluster()
        assert engine.place_columns(headroom.PodColumns(requests={"cpu": column})).placed == 3
        assert engine.nodes().requested["cpu"].sum() == 125
