"""sweep() without Ray: the grid, the figures, what is kept, the command."""

import io
import json
import pathlib
import subprocess
import sys

import pytest
from conftest import node, pod

import headroom
from headroom._sweep import grid, workers
from headroom._sweep.command import main

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("tqdm", reason="tqdm is not installed")

TRACES = {"small": {"nodes": 20, "pods": 90}, "quotas": {"nodes": 30, "pods": 400, "elastic_quotas": 3}}
PROFILE = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {"schedulerName": "s", "plugins": {"score": {"enabled": [{"name": "LimitAware"}]}}}
    ],
}


def sweep(out, traces=TRACES, profiles={"standard": None}, seeds=(1, 2), **more):
    return headroom.sweep(
        traces, profiles, seeds, **{"out": out, "workers": 0, "departures": False, **more}
    )


def parts(out):
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in (out / "parts").iterdir()
    }


def test_rows_are_the_figures_of_simulate(tmp_path):
    result = sweep(tmp_path, profiles={"standard": None, "limits": PROFILE}, seeds=range(3, 5))
    rows = result.table.to_pylist()
    assert [(row["trace"], row["profile"], row["seed"]) for row in rows] == [
        (trace, profile, seed)
        for trace in TRACES
        for profile in ("standard", "limits")
        for seed in (3, 4)
    ]
    for row in rows:
        profile = PROFILE if row["profile"] == "limits" else None
        alone = headroom.simulate(
            **TRACES[row["trace"]], profile=profile, seed=row["seed"], departures=False
        ).summary
        assert (row["status"], row["error"]) == ("ok", None)
        for name in ("nodes", "pods", "placed", "failed", "departed"):
            assert row[name] == alone[name]
        cpu = alone["resources"][0]
        assert cpu["name"] == "cpu" and row["cpu.allocatable"] == cpu["allocatable"]
        assert row["cpu.peak_limits_fraction"] == cpu["peak_limits"] / cpu["allocatable"]
        compared = alone["series"]["summary"]["memory"]["limits"]
        assert {name: row[f"memory.limits.{name}"] for name in compared} == compared
        assert row["victims"] == alone.get("preemption", {}).get("victims", 0)
    assert sum(row["victims"] for row in rows) > 0
    assert len({row["cpu.limits.mean_percent"] for row in rows}) > 4
    assert not any("seconds" in name for name in result.table.column_names)
    assert result.timings.column_names == ["trace", "profile", "seed", "seconds", "attempts"]
    assert min(result.timings["seconds"].to_pylist()) > 0
    assert len(result.failed) == 0


def test_results_are_files_and_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    import pyarrow.parquet

    result = sweep(tmp_path / "a" / "b")
    assert result.path == tmp_path / "a" / "b" / "runs.parquet"
    assert pyarrow.parquet.read_table(result.path).equals(result.table)
    timings = pyarrow.parquet.read_table(result.path.with_name("timings.parquet"))
    assert timings.equals(result.timings)
    pandas.testing.assert_frame_equal(result.frame, pandas.read_parquet(result.path))
    assert repr(result) == f"<Sweep of 4 runs, complete: {result.path}>" == str(result)
    assert "<td>quotas</td><td>standard</td><td>2</td><td>0</td>" in result._repr_html_()


def test_clusters_and_templates_are_read_once(tmp_path, monkeypatch):
    files = {"nodes.json": [node("a"), node("b")], "pods.json": [pod(f"p{i}") for i in range(9)]}
    for name, objects in files.items():
        (tmp_path / name).write_text("\n".join(json.dumps(each) for each in objects))
    (tmp_path / "template.json").write_text(json.dumps(node("template", "8")))
    (tmp_path / "profile.json").write_text(json.dumps(PROFILE))
    read = []
    real = pathlib.Path.read_text
    monkeypatch.setattr(
        pathlib.Path, "read_text", lambda path, **how: read.append(path.name) or real(path, **how)
    )
    trace = {"cluster": [tmp_path / "nodes.json", tmp_path / "pods.json"], "pods": [pod("more")]}
    result = sweep(
        tmp_path / "out",
        {"ours": trace, "one file": {"cluster": tmp_path / "nodes.json", "pods": [pod("more")]}},
        {"p": tmp_path / "profile.json"},
        [1, 2, 3],
        autoscale=tmp_path / "template.json",
    )
    assert sorted(read) == ["nodes.json"] * 2 + ["pods.json", "profile.json", "template.json"]
    alone = headroom.simulate(
        trace["cluster"], trace["pods"], autoscale=node("template", "8"), departures=False
    )
    row = result.table.to_pylist()[0]
    assert (row["pods"], row["placed"]) == (10, alone.placed)
    added = sum(at["nodes"] for at in alone.summary["autoscaler"]["templates"])
    assert row["autoscaler.nodes_added"] == added > 0
    assert result.table["autoscaler.nodes_added"].to_pylist()[3:] == [0, 0, 0]


def test_continuing_runs_what_is_missing(tmp_path):
    first = sweep(tmp_path)
    before = parts(tmp_path)
    assert len(before) == 4
    assert sweep(tmp_path).table.equals(first.table) and parts(tmp_path) == before
    more = sweep(tmp_path, seeds=(2, 1, 3))
    assert len(parts(tmp_path)) == 6 and parts(tmp_path).items() > before.items()
    assert more.table["seed"].to_pylist() == [2, 1, 3] * 2
    renamed = sweep(tmp_path, {"new name": TRACES["small"]}, {"p": None})
    assert renamed.table["trace"].to_pylist() == ["new name"] * 2 and len(parts(tmp_path)) == 6


@pytest.mark.parametrize(
    "change",
    [
        {"traces": {**TRACES, "small": {"nodes": 20, "pods": 91}}},
        {"profiles": {"standard": PROFILE}},
        {"seeds": (7, 8)},
        {"departures": True},
        {"random_ties": True},
        {"all_pods": True},
        {"metrics_every": 3600},
    ],
    ids=lambda change: next(iter(change)),
)
def test_changed_input_runs_anew(tmp_path, change):
    sweep(tmp_path)
    before = parts(tmp_path)
    changed = sweep(tmp_path, **change)
    new = len(parts(tmp_path)) - len(before)
    assert new == (2 if "traces" in change else 4) and parts(tmp_path).items() > before.items()
    assert changed.table.equals(sweep(tmp_path / "fresh", **change).table)


def test_another_build_runs_anew(tmp_path, monkeypatch):
    sweep(tmp_path)
    monkeypatch.setattr(grid, "build", lambda: "another")
    monkeypatch.setattr(workers, "build", lambda: "another")
    result = sweep(tmp_path)
    assert len(result.failed) == 4 and len(parts(tmp_path)) == 4
    assert "another build" in result.failed["error"][0].as_py()


@pytest.mark.parametrize("damage", ["cut", "empty", "one bit", "another run's"])
def test_a_damaged_part_is_found(tmp_path, damage):
    first = sweep(tmp_path)
    before = parts(tmp_path)
    hurt, other, *_ = sorted((tmp_path / "parts").iterdir())
    content = hurt.read_bytes()
    middle = len(content) // 2
    hurt.write_bytes(
        {
            "cut": content[:middle],
            "empty": b"",
            "one bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
            "another run's": other.read_bytes(),
        }[damage]
    )
    with pytest.warns(UserWarning, match=f"{hurt.name} is damaged"):
        again = sweep(tmp_path)
    assert again.table.equals(first.table)
    del before[hurt.name]
    assert parts(tmp_path).items() > before.items()
    assert sweep(tmp_path).timings.equals(again.timings)


def test_failed_runs_have_rows(tmp_path):
    result = sweep(
        tmp_path, {**TRACES, "none": {"nodes": 0}}, {"standard": None, "bad": "x: 1"}, (1, 2)
    )
    rows = result.table.to_pylist()
    assert [row["status"] for row in rows] == ["ok", "ok", "failed", "failed"] * 2 + ["failed"] * 4
    assert rows[2]["error"].startswith("profile:1: ") and rows[2]["placed"] is None
    assert rows[8]["error"] == "nodes: 0 is not in [1, 1000000]"
    assert len(result.failed) == 8 and result.failed.column_names[-1] == "error"
    assert repr(result) == f"<Sweep of 12 runs, 8 failed: {result.path}>"
    assert "2 x nodes: 0 is not in [1, 1000000] (first: none, standard, seed 1)" in str(result)
    assert "<td>bad</td><td>0</td><td>2</td><td></td>" in result._repr_html_()
    assert len(parts(tmp_path)) == 4  # they are tried again


def test_broken_rules_are_failures(tmp_path, monkeypatch):
    from headroom._sweep import run

    class Broken:
        summary = {"violations": ["max of a/b exceeded", "and more"]}

    monkeypatch.setattr(run, "simulate", lambda **arguments: Broken)
    result = sweep(tmp_path, seeds=[1], validate=True)
    assert result.failed["error"][0].as_py() == (
        "rules that were broken: max of a/b exceeded; and more"
    )


def test_interrupting_keeps_what_is_done(tmp_path, monkeypatch, capsys):
    real = workers.play

    def play(trace, profile, seed, options, build):
        if seed == 3:
            raise KeyboardInterrupt
        return real(trace, profile, seed, options, build)

    monkeypatch.setattr(workers, "play", play)
    config = tmp_path / "config.yaml"
    config.write_text(
        "{traces: {a: {nodes: 5}}, profiles: {s: null}, seeds: [1, 2, 3, 4], out: out, workers: 0}"
    )
    assert main([str(config)]) == 130
    message = f"stopped: 2 of 4 runs are in {tmp_path / 'out'}; the same call continues"
    assert message in capsys.readouterr().err
    before = parts(tmp_path / "out")
    assert len(before) == 2 and not (tmp_path / "out/runs.parquet").exists()
    monkeypatch.setattr(workers, "play", real)
    assert main([str(config)]) == 0
    assert parts(tmp_path / "out").items() > before.items()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_for_terminals(tmp_path, monkeypatch):
    for name, stderr, progress, shown in (
        ("terminal", Terminal(), True, True),
        ("file", io.StringIO(), True, False),
        ("off", Terminal(), False, False),
    ):
        monkeypatch.setattr(sys, "stderr", stderr)
        sweep(tmp_path / name, progress=progress)
        assert ("4/4" in stderr.getvalue()) == shown, name


@pytest.mark.parametrize(
    "arguments, kind, text",
    [
        ({"traces": {}}, ValueError, "traces: empty"),
        ({"traces": ["openb"]}, ValueError, r"traces: \['openb'\] is not a mapping"),
        ({"traces": {"": {}}}, ValueError, "traces: '' is not a name"),
        ({"traces": {"a": None}}, ValueError, "traces.a: None is not a mapping of cluster, pods"),
        ({"traces": {"a": {"nods": 1}}}, ValueError, "traces.a: 'nods' is not known"),
        ({"traces": {"a": {"nodes": "1"}}}, ValueError, "traces.a.nodes: '1' is not a whole"),
        ({"traces": {"a": {"nodes": -1}}}, ValueError, r"traces.a.nodes: -1 is not in \[0, "),
        ({"traces": {"a": {"nodes": 2**32}}}, ValueError, "traces.a.nodes: 4294967296 is not"),
        ({"traces": {"a": {"pods": True}}}, ValueError, "traces.a.pods: True is not a whole"),
        ({"traces": {"a": {"cluster": {1, 2}}}}, ValueError, "traces.a.cluster: a set is no"),
        ({"traces": {"a": {"cluster": pathlib.Path("/no")}}}, OSError, "a.cluster: /no: No such"),
        ({"traces": {"a": {"nodes": 5, "repeat": 4}}}, ValueError, "traces.a.repeat: of the openb"),
        ({"traces": {"a": {"elastic_quotas": 4}}}, ValueError, "traces.a.elastic_quotas: of a gen"),
        ({"provision_seconds": 5}, ValueError, "options.provision_seconds: of autoscale only"),
        ({"profiles": {}}, ValueError, "profiles: empty"),
        ({"profiles": {"p": pathlib.Path("/no")}}, OSError, "profiles.p: /no: No such file"),
        ({"profiles": {"p": b"\xff"}}, ValueError, "profiles.p: 'utf-8'"),
        ({"seeds": []}, ValueError, "seeds: empty"),
        ({"seeds": 3}, ValueError, "seeds: 3 is not a list"),
        ({"seeds": "12"}, ValueError, "seeds: '12' is not a list"),
        ({"seeds": [1, 2, 1]}, ValueError, "seeds: 1 is given twice"),
        ({"seeds": [1.0]}, ValueError, "seeds: 1.0 is not a whole number"),
        ({"seeds": [2**64]}, ValueError, "seeds: 18446744073709551616 is not in"),
        ({"seeds": range(2**40)}, headroom.LimitExceededError, "seeds: more than 100000"),
        (
            {"seeds": range(60_000)},
            headroom.LimitExceededError,
            "2 x 1 x 60000 = 120000 runs, more than 100000",
        ),
        ({"departures": 1}, ValueError, "options.departures: 1 is neither true nor false"),
        ({"metrics_every": 0.5}, ValueError, "options.metrics_every: 0.5 is not a whole number"),
        ({"workers": -1}, ValueError, r"workers: -1 is not a whole number in \[0, 4096\]"),
        ({"workers": "2"}, ValueError, "workers: '2'"),
        ({"address": "auto"}, ValueError, "address: 'auto', but workers is 0"),
        ({"out": pathlib.Path("/proc/none")}, OSError, "out: /proc/none/parts: No such"),
        ({"threads": 2}, TypeError, "threads"),
    ],
    ids=str,
)
def test_bad_arguments(tmp_path, arguments, kind, text):
    with pytest.raises(kind, match=text):
        sweep(**{"out": tmp_path / "out", **arguments})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("module", ["ray", "pyarrow", "tqdm"])
def test_what_is_not_installed_is_named(tmp_path, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"needs {module}, which the extra headroom\[sweep\]"):
        sweep(tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


def test_importing_headroom_imports_none_of_it():
    program = (
        "import sys, headroom\n"
        "import headroom.sweep\n"
        "assert callable(headroom.sweep), headroom.sweep\n"
        "found = {'ray', 'pyarrow', 'yaml', 'tqdm'} & set(sys.modules)\n"
        "assert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


GOOD = """
traces:
  small: {nodes: 20, pods: 90}
  ours: {cluster: [cluster/nodes.json], pods: cluster/pods.json}
profiles: {standard: null, file: profile.json, inline: PROFILE}
seeds: {from: 5, count: 2}
options: {departures: false, metrics_every: 60}
out: results/a
workers: 0
"""


def test_the_command(tmp_path, monkeypatch, capsys):
    pytest.importorskip("yaml", reason="yaml is not installed")
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster/nodes.json").write_text(json.dumps(node("a")))
    (tmp_path / "cluster/pods.json").write_text(json.dumps(pod("p")))
    (tmp_path / "profile.json").write_text(json.dumps(PROFILE))
    config = tmp_path / "config.yaml"
    config.write_text(GOOD.replace("PROFILE", json.dumps(PROFILE)))
    assert main([str(config)]) == 0
    path = tmp_path / "results/a/runs.parquet"
    assert capsys.readouterr().out == f"<Sweep of 12 runs, complete: {path}>\n"
    same = headroom.sweep(
        {
            "small": TRACES["small"],
            "ours": {"cluster": node("a"), "pods": pod("p")},
        },
        {"standard": None, "file": PROFILE, "inline": PROFILE},
        [5, 6],
        departures=False,
        metrics_every=60,
        workers=0,
        out=tmp_path / "same",
    )
    assert same.path.read_bytes() == path.read_bytes()
    config.write_text(GOOD.replace("PROFILE", "{x: 1}").replace("results/a", "results/b"))
    assert main([str(config)]) == 1
    out = capsys.readouterr().out
    assert "<Sweep of 12 runs, 4 failed:" in out and "4 x profile:1: " in out


@pytest.mark.parametrize(
    "change, text",
    [
        (("seeds: {from: 5, count: 2}", "seed: [1]"), "'seed' is not known; known are traces"),
        (("out: results/a", ""), "out: missing"),
        (("out: results/a", "out: 3"), "out: 3 is not a text"),
        (("workers: 0", "address: 5"), "address: 5 is not a text"),
        (("workers: 0", "workers: two"), "workers: 'two' is not a whole number"),
        (("workers: 0", "address: 'here:port'"), "address: 'here:port': 'port' is not a port"),
        (("workers: 0", "address: '127.0.0.1:1'"), "address: 127.0.0.1:1: "),
        (("metrics_every", "threads"), "options: 'threads' is not known; known are departures"),
        (("false, metrics_every: 60", "'no'"), "options.departures: 'no' is neither"),
        (("{departures: false, metrics_every: 60}", "3"), "options: 3 is not a mapping"),
        (("profile.json", "none.json"), "none.json: No such file"),
        (("{from: 5, count: 2}", "{from: 5}"), "seeds: {'from': 5} is neither a list nor"),
        (("count: 2", "count: 1e9"), "seeds.count: '1e9' is not a whole number"),
        (("count: 2", "count: 1000000"), "seeds.count: 1000000 is more than 100000"),
        (("inline: PROFILE", "file: null"), "'file' is given twice"),
        (("{from: 5, count: 2}", "{[from]: 5}"), "found unhashable key"),
        (("traces:", "traces: ["), "config.yaml: while parsing"),
        ((GOOD, "5"), "config.yaml: not a mapping of traces"),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_bad_configs(tmp_path, capsys, change, text):
    pytest.importorskip("yaml", reason="yaml is not installed")
    pytest.importorskip("ray", reason="ray is not installed")
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster/nodes.json").write_text(json.dumps(node("a")))
    (tmp_path / "cluster/pods.json").write_text(json.dumps(pod("p")))
    (tmp_path / "profile.json").write_text(json.dumps(PROFILE))
    config = tmp_path / "config.yaml"
    config.write_text(GOOD.replace(*change).replace("PROFILE", "null"))
    assert main([str(config)]) == 2
    printed = capsys.readouterr()
    assert text in printed.err and printed.err.startswith("headroom.sweep: ")
    assert printed.out == "" and not (tmp_path / "results/a/runs.parquet").exists()


def test_a_missing_config(tmp_path, capsys):
    assert main([str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml: No such file or directory" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
