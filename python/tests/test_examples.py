"""The examples of docstrings and pages run as they are shown, beside the files that they name."""

from __future__ import annotations

import doctest
import functools
import inspect
import json
import pathlib
import re
import sys
import types

import pytest
from conftest import REPOSITORY, node, pod

import headroom


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (REPOSITORY / page).read_text(), re.M | re.S)


def with_examples() -> dict[str, doctest.DocTest]:
    modules = [m for m in list(sys.modules.values()) if inspect.ismodule(m)]
    finder = doctest.DocTestFinder(exclude_empty=True)
    return {
        test.name: test
        for module in modules
        if module.__name__.partition(".")[0] == "headroom"
        for test in finder.find(module)
        if test.examples
    }


@pytest.fixture
def names(tmp_path, monkeypatch) -> dict:
    """What examples use without saying where it is from; sweeps of one seed, in this process."""
    items = [node("n1"), pod("there", nodeName="n1")]
    cluster = {"apiVersion": "v1", "kind": "List", "items": items}
    for dump in ("cluster.json", "dump.json"):
        (tmp_path / dump).write_text(json.dumps(cluster))
    (tmp_path / "data").symlink_to(REPOSITORY / "data")
    (tmp_path / "profile.yaml").write_text((REPOSITORY / "data/limit-aware.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    here = types.SimpleNamespace(**vars(headroom))
    here.sweep = functools.partial(headroom.sweep, workers=0, progress=False)
    return {"headroom": here, "pathlib": pathlib, "range": lambda *_: [1], "pod": pod("p1")}


@pytest.mark.parametrize("name", with_examples())
def test_docstring(name, names):
    if "sweep" in name:
        pytest.importorskip("pyarrow")
        pytest.importorskip("pandas")
    test = with_examples()[name]
    test.globs = names
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


def test_docstrings_are_found():
    assert {"headroom", "headroom._sweep.sweep.sweep"} <= set(with_examples())


def test_embedding(names):
    (block,) = blocks("docs/embedding.md")
    exec(block, {})  # whole, as it is


def test_readme(names):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    (block,) = blocks("python/README.md")
    exec(block, names)
    assert set(names["result"].frame["trace"]) == {"openb", "small", "ours"}
    assert len(names["result"].failed) == 0
