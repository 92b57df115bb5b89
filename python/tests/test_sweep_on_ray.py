"""sweep() on a real local Ray of 2 workers: the serial run's table, whoever dies.

The seam: Ray runs a worker_process_setup_hook in each worker as it starts. The tests' hook wraps what
run.py calls simulate(), so that runs of certain seeds say which process they are in, and wait there
to be killed, or kill themselves.
"""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

import headroom
from headroom._sweep import connection

ray = pytest.importorskip("ray", reason="ray is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("yaml", reason="yaml is not installed")

WAITS_ONCE, DIES, WAITS = 1001, 1002, 1003
TRACES = {"small": {"nodes": 20, "pods": 90}, "quotas": {"nodes": 30, "pods": 400, "elastic_quotas": 3}}
PROFILES = {"standard": None, "bad": "x: 1"}
PATIENCE_SECONDS = 300  # for what happens at some time or never


def hook_of(directory):
    """A run of WAITS_ONCE writes its process id and waits, the first time; WAITS, every time. DIES
    kills its own process."""

    def hook():  # is pickled by value: the workers do not have this module
        import os
        import signal

        from headroom._sweep import run

        real = run.simulate

        def simulate(**arguments):
            result = real(**arguments)
            seed = arguments["seed"]
            said = os.path.join(directory, f"{seed}.pid")
            if seed == 1002:
                os.kill(os.getpid(), signal.SIGKILL)
            if seed >= 1003 or (seed == 1001 and not os.path.exists(said)):
                with open(said + ".tmp", "w") as file:
                    file.write(str(os.getpid()))
                os.rename(said + ".tmp", said)
                while True:
                    signal.pause()
            return result

        run.simulate = simulate

    return hook


def start_ray(directory):
    hook = {"worker_process_setup_hook": hook_of(str(directory))}
    connection.start(ray, num_cpus=2, runtime_env=hook)


def eventually(what, text):
    end = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < end, f"not within {PATIENCE_SECONDS} s: {text}"
        time.sleep(0.05)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()


def parts(out):
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in (out / "parts").glob("*.json")
    }


def test_the_command_starts_a_ray_of_its_own(tmp_path):
    """And takes it away, with nothing printed but the result."""
    config = tmp_path / "config.yaml"
    text = (
        "{traces: {small: {nodes: 20, pods: 90}}, profiles: {s: null}, out: OUT, workers: 2, "
        "seeds: {from: 1, count: 4}}"
    )
    config.write_text(text.replace("OUT", "out"))
    done = subprocess.run(
        [sys.executable, "-m", "headroom.sweep", str(config)],
        capture_output=True,
        text=True,
        check=False,
    )
    path = tmp_path / "out/runs.parquet"
    assert (done.returncode, done.stdout) == (0, f"<Sweep of 4 runs, complete: {path}>\n"), done
    serial = headroom.sweep(
        {"small": TRACES["small"]}, {"s": None}, range(1, 5), out=tmp_path / "serial", workers=0
    )
    assert serial.path.read_bytes() == path.read_bytes()
    assert done.stderr == ""


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT], ids=lambda stop: stop.name)
def test_a_stopped_driver_is_continued(tmp_path, stop):
    """It stops with 3 runs done and 2 under way."""
    seeds = [1, 2, 3, WAITS, WAITS + 1, 4]
    config = tmp_path / "config.yaml"
    config.write_text(
        "{traces: {small: {nodes: 20, pods: 90}}, profiles: {s: null}, out: out, workers: 2, "
        f"seeds: {seeds}}}"
    )
    # What a shell starts in the background inherits SIGINT ignored, and Python leaves it so.
    program = (
        f"import pathlib, signal, sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import test_sweep_on_ray\n"
        "from headroom._sweep.command import main\n"
        f"test_sweep_on_ray.start_ray({str(tmp_path)!r})\n"
        f"sys.exit(main([{str(config)!r}]))\n"
    )
    waiting = [tmp_path / f"{seed}.pid" for seed in (WAITS, WAITS + 1)]
    with open(tmp_path / "stderr", "w") as file:
        driver = subprocess.Popen([sys.executable, "-c", program], stderr=file)
    try:
        eventually(
            lambda: driver.poll() is not None or all(path.exists() for path in waiting),
            "2 runs wait",
        )
        assert driver.poll() is None, (tmp_path / "stderr").read_text()
        eventually(lambda: len(parts(tmp_path / "out")) == 3, "3 runs are kept")
        before = parts(tmp_path / "out")
        driver.send_signal(stop)
        returned = driver.wait(PATIENCE_SECONDS)
    finally:
        driver.kill()
        driver.wait()
    if stop == signal.SIGINT:
        stderr = (tmp_path / "stderr").read_text()
        assert returned == 130, stderr
        assert f"stopped: 3 of 6 runs are in {tmp_path / 'out'}; the same call" in stderr
    else:
        assert returned == -signal.SIGKILL
    pids = [int(path.read_text()) for path in waiting]
    eventually(lambda: not any(alive(pid) for pid in pids), "the driver's workers are gone")
    assert parts(tmp_path / "out") == before and not (tmp_path / "out/runs.parquet").exists()

    arguments = ({"small": TRACES["small"]}, {"s": None}, seeds)
    serial = headroom.sweep(*arguments, out=tmp_path / "serial", workers=0)
    continued = headroom.sweep(*arguments, out=tmp_path / "out", workers=2)
    assert continued.table.equals(serial.table)
    after = parts(tmp_path / "out")
    assert len(after) == 6 and after.items() > before.items()


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Where waiting runs write their process ids; Ray runs."""
    directory = tmp_path_factory.mktemp("said")
    start_ray(directory)
    yield directory
    ray.shutdown()


def test_the_table_is_that_of_the_serial_run(said, tmp_path, monkeypatch):
    put = []
    real = ray.put
    monkeypatch.setattr(ray, "put", lambda value: put.append(value) or real(value))
    on_ray = headroom.sweep(TRACES, PROFILES, range(6), out=tmp_path / "ray")
    assert put[:-1] == list(TRACES.values())  # and the options: once for all 24 runs
    serial = headroom.sweep(TRACES, PROFILES, range(6), out=tmp_path / "serial", workers=0)
    assert len(serial.table) == 24 and len(serial.failed) == 12
    assert on_ray.table.equals(serial.table)
    assert on_ray.path.read_bytes() == serial.path.read_bytes()
    assert set(parts(tmp_path / "ray")) == set(parts(tmp_path / "serial"))
    assert on_ray.timings["attempts"].to_pylist() == [1] * 24
    assert ray.is_initialized()  # it is the caller's
    one = headroom.sweep(TRACES, PROFILES, range(6), out=tmp_path / "one", workers=1)
    assert one.table.equals(serial.table)


def test_a_killed_worker_changes_nothing(said, tmp_path):
    waiting = said / f"{WAITS_ONCE}.pid"
    killed = []

    def kill():
        eventually(waiting.exists, "the run waits")
        killed.append(int(waiting.read_text()))
        os.kill(killed[0], signal.SIGKILL)

    seeds = [1, WAITS_ONCE, 2, 3]
    killer = threading.Thread(target=kill)
    killer.start()
    on_ray = headroom.sweep({"small": TRACES["small"]}, {"s": None}, seeds, out=tmp_path / "ray")
    killer.join()
    serial = headroom.sweep(
        {"small": TRACES["small"]}, {"s": None}, seeds, out=tmp_path / "serial", workers=0
    )
    assert len(on_ray.failed) == 0 and on_ray.table.equals(serial.table)
    assert on_ray.timings["attempts"].to_pylist() == [1, 2, 1, 1]
    assert not alive(killed[0])


def test_a_run_that_kills_its_workers_fails(said, tmp_path):
    seeds = [1, DIES, 2]
    result = headroom.sweep({"small": TRACES["small"]}, {"s": None}, seeds, out=tmp_path / "ray")
    assert result.table["status"].to_pylist() == ["ok", "failed", "ok"]
    assert result.table["error"][1].as_py() == (
        "its worker died, 3 times; the last time: WorkerCrashedError"
    )
    assert result.timings["attempts"].to_pylist() == [1, 3, 1]
    assert len(parts(tmp_path / "ray")) == 2
    # It is tried again where it does not die.
    again = headroom.sweep(
        {"small": TRACES["small"]}, {"s": None}, seeds, out=tmp_path / "ray", workers=0
    )
    assert len(again.failed) == 0
