"""simulate(), against the headroom command."""

import datetime
import json
import subprocess
import sys

import pytest
from conftest import node, pod

import headroom


def of_command(command, tmp_path, *arguments):
    lines = tmp_path / "decisions.jsonl"
    done = subprocess.run(
        [command, "simulate", "--json", "--out", str(lines), *arguments],
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(done.stdout), lines.read_text()


def without_speed(summary):
    return {name: value for name, value in summary.items() if name != "speed"}


@pytest.mark.parametrize(
    "options, arguments",
    [
        ({}, []),
        (
            {"departures": False, "seed": 3, "random_ties": True},
            ["--no-departures", "--seed", "3", "--random-ties"],
        ),
        (
            {
                "nodes": 60,
                "pods": 900,
                "elastic_quotas": 4,
                "metrics_every": 3600,
                "departures": False,
                "validate": True,
            },
            "--nodes 60 --pods 900 --elastic-quotas 4 --metrics-every 3600 --no-departures --validate".split(),
        ),
    ],
    ids=["the openb trace", "all at once", "quotas"],
)
def test_answers_are_those_of_the_command(command, tmp_path, options, arguments):
    summary, lines = of_command(command, tmp_path, *arguments)
    result = headroom.simulate(**options)
    assert without_speed(result.summary) == without_speed(summary)
    assert result.decision_lines == lines


def test_an_engine_places_as_the_command_does(command, tmp_path):
    """A generated cluster with metrics, taints and bound pods through Engine, pod by pod."""
    dump = tmp_path / "cluster.json"
    generate = [command, "generate", "--nodes", "150", "--pods", "900", "--bound", "500"]
    subprocess.run([*generate, "--fill", "1300", "--output", str(dump)], check=True)
    _, text = of_command(command, tmp_path, "--cluster", str(dump), "--no-departures")
    assert headroom.simulate(dump, departures=False).decision_lines == text
    lines = [json.loads(line) for line in text.splitlines()]

    objects = json.loads(dump.read_text())["items"]
    waiting = [
        each
        for each in objects
        if each["kind"] == "Pod"
        and "nodeName" not in each["spec"]
        and each.get("status", {}).get("phase") not in ("Succeeded", "Failed")
    ]
    # As kube-scheduler's queue: those that come together by priority.
    waiting.sort(
        key=lambda each: (
            each["metadata"].get("creationTimestamp", ""),
            -each["spec"].get("priority", 0),
        )
    )
    engine = headroom.Engine()
    engine.advance(datetime.datetime.fromisoformat(lines[0]["time"].replace("Z", "+00:00")))
    engine.upsert([each for each in objects if not any(each is one for one in waiting)])
    placements = engine.place(waiting)
    assert len(lines) == len(placements) > 300
    for line, placement in zip(lines, placements):
        decision = placement.decision
        assert line["node"] == placement.node
        assert (line["feasible"], line["nodes"]) == (decision.feasible, decision.nodes)
        if placement.node:
            best = decision.candidates[0]
            assert line["total"] == best.total
            assert line["scores"] == {name: at.score for name, at in best.plugins.items()}
        else:
            assert line["reasons"] == decision.reasons
            assert line["message"] == decision.message
    assert any(placement.node is None for placement in placements)


def test_frames():
    pytest.importorskip("pandas")
    result = headroom.simulate()
    decisions = result.decisions
    assert len(decisions) == 8152 and result.decisions is decisions
    assert decisions["node"].notna().sum() == result.placed
    assert str(decisions["time"].dtype).startswith("datetime64")
    assert decisions["score.LimitAware"].max() <= 100
    resources = result.resources.set_index("name")
    assert 0 < resources.loc["cpu", "peak_requested"] <= resources.loc["cpu", "allocatable"]
    assert result.failures["pods_mainly"].sum() == result.failed
    assert result.elastic_quotas.empty and result.intervals.empty
    assert repr(result).startswith("<Simulation of the openb trace: 1,523 nodes, 8,150 pods placed")
    assert "<table>" in result._repr_html_()


def test_frames_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    result = headroom.simulate(nodes=20, pods=50)
    assert set(result.resources) >= {"name", "allocatable", "peak_requested"}
    assert result.decisions["pod"].shape == (50,)
    assert list(result.elastic_quotas) == []
    engine = headroom.Engine()
    engine.upsert(node("n"))
    assert engine.nodes().frame()["allocatable.cpu"].tolist() == [4000]


def test_clusters_from_python(tmp_path):
    nodes = [node("a"), node("b")]
    present, waiting, more = pod("present", nodeName="a"), pod("waiting"), pod("more")
    by_objects = headroom.simulate([*nodes, present, waiting], [more])
    assert (by_objects.placed, by_objects.failed) == (2, 0)
    assert by_objects.summary["pods_present"] == 1
    files = []
    for name, objects in (("nodes", nodes), ("pods", [present, waiting]), ("more", [more])):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text("\n".join(json.dumps(each) for each in objects))
    by_files = headroom.simulate(files[:2], files[2])
    assert by_files.decision_lines == by_objects.decision_lines
    grown = headroom.simulate(
        nodes, [pod(f"p{i}", "3") for i in range(6)], autoscale=node("template", "8")
    )
    assert grown.placed + grown.summary["autoscaler"]["waited"] >= 6
    assert headroom.simulate(nodes=5, pods=9, decisions=False).decision_lines == ""


@pytest.mark.parametrize(
    "arguments, kind, text",
    [
        ({"nodes": 0}, ValueError, r"nodes: 0 is not in \[1"),
        ({"nodes": 10**7}, ValueError, "nodes: 10000000"),
        ({"nodes": -1}, ValueError, r"nodes: -1 is not in \[1, 1000000\]"),
        ({"seed": -1}, ValueError, r"seed: -1 is not in \[0, 9223372036854775807\]"),
        ({"nodes": 1, "pods": 10**9}, ValueError, "pods: 1000000000"),
        ({"nodes": 1, "pods": "x"}, TypeError, "number"),
        ({"nodes": 1, "cluster": []}, ValueError, "cluster, nodes: give one"),
        ({"pods": []}, ValueError, "they need a cluster"),
        ({"cluster": []}, ValueError, "the cluster has no Node"),
        ({"repeat": 0}, ValueError, "repeat: 0"),
        ({"nodes": 3, "repeat": 2}, ValueError, "repeat: of the trace only"),
        ({"elastic_quotas": 2}, ValueError, "elastic_quotas: of a generated cluster only"),
        ({"provision_seconds": 5}, ValueError, "provision_seconds: of autoscale only"),
        ({"metrics_every": 0}, ValueError, "metrics_every: 0"),
        ({"metrics_every": 2**62}, headroom.LimitExceededError, "kMetricsEverySecondsMax"),
        (
            {"autoscale": [node("t")], "provision_seconds": 10**13},
            headroom.LimitExceededError,
            "kProvisionSecondsMax",
        ),
        ({"threads": 2**31 - 1}, headroom.LimitExceededError, "kThreadsMax"),
        ({"autoscale": []}, ValueError, "autoscale: no Node"),
        ({"autoscale": node("t"), "provision_seconds": 0}, ValueError, "provision_seconds: 0"),
        ({"threads": -1}, ValueError, "threads"),
        ({"profile": "x: 1"}, ValueError, "profile"),
        (
            {"cluster": [node("a"), pod("p")], "pods": [pod("p")]},
            headroom.ConflictError,
            "default/p",
        ),
        ({"cluster": [node("a")], "pods": [node("b")]}, ValueError, "give those with the cluster"),
        ({"seconds": 1}, TypeError, "seconds"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, kind, text):
    with pytest.raises(kind, match=text):
        headroom.simulate(**arguments)


def test_what_pods_ask_for_and_who_is_left_out():
    claims = [{"name": "g", "resourceClaimName": "g"}]
    pods = [pod(f"claims-{n}", cpu="100m", resourceClaims=claims) for n in range(5)]
    pods += [pod("gated", schedulingGates=[{"name": "g"}]), pod("other", schedulerName="other")]
    pods.append(pod("deleted"))
    pods[-1]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    played = headroom.simulate([node("a"), *pods])
    assert (played.placed, played.left_out) == (5, {"deleting": 1, "scheduling_gates": 1, "other_schedulers": 1})
    assert played.summary["not_considered"] == [{"what": "resource claims", "pods": 5, "pods_there": 0}]
    assert len(played.decisions) == 5
    assert headroom.simulate([node("a"), *pods], all_pods=True).placed == 7


def test_the_report_is_a_page(tmp_path):
    played = headroom.simulate(nodes=5, pods=20, seed=3)
    page = played.report(tmp_path / "report.html")
    assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    with pytest.raises(headroom.IoError, match=r"path: /no/such/page\.html: No such file"):
        played.report("/no/such/page.html")
    assert f'"placed": {played.placed}' in page or f'"placed":{played.placed}' in page
