"""What the package promises to its readers: types, docstrings, an example that works."""

import inspect
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import REPOSITORY

import headroom


def test_everything_is_documented():
    for name in headroom.__all__:
        member = getattr(headroom, name)
        assert inspect.getdoc(member), name
        if inspect.isclass(member) and member.__module__.startswith("headroom"):
            for key, value in vars(member).items():
                if callable(value) and not key.startswith("_"):
                    assert inspect.getdoc(value), f"{name}.{key}"


def test_types_are_shipped():
    package = pathlib.Path(headroom.__file__).parent
    stub = (package / "_headroom.pyi").read_text()
    assert (package / "py.typed").exists()
    for call in (
        "def place_columns(self, pods: PodColumns",
        "def evaluate(self, pod: ",
        "-> headroom._results.Decision",
    ):
        assert call in stub


def test_types_are_right(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "import headroom\n"
        "engine = headroom.Engine('text', threads=1)\n"
        "name: str | None = engine.evaluate({}).node\n"
        "placed: headroom.PlacedPods = engine.place_columns(headroom.PodColumns(5))\n"
        "count: int = engine.upsert([])\n"
        "wrong: int = engine.evaluate({})\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line.split(":")[1] for line in errors] == ["6"], done.stdout + done.stderr


def examples():
    page = (REPOSITORY / "docs/embedding.md").read_text()
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize("example", examples())
def test_the_examples_of_the_page_work(example, capsys):
    exec(compile(example, "docs/embedding.md", "exec"), {})
    assert capsys.readouterr().out


def test_errors_have_one_class_each():
    codes = {"Invalid", "NotFound", "Conflict", "LimitExceeded", "Unsupported", "Io", "Internal"}
    kinds = [
        kind
        for kind in vars(headroom).values()
        if inspect.isclass(kind) and issubclass(kind, headroom.Error)
    ]
    assert {kind.code for kind in kinds} - {""} == codes
