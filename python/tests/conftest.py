"""Small clusters, and where the headroom command is."""

from __future__ import annotations

import os
import pathlib
import shutil

import pytest

import headroom

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def node(name: str, cpu: str = "4", memory: str = "8Gi", **metadata) -> dict:
    resources = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, **metadata},
        "status": {"allocatable": resources, "capacity": resources},
    }


def pod(name: str, cpu: str = "1", memory: str = "1Gi", **spec) -> dict:
    resources = {
        "requests": {"cpu": cpu, "memory": memory},
        "limits": {"cpu": cpu, "memory": memory},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": "default", "name": name, "uid": name},
        "spec": {"containers": [{"name": "main", "resources": resources}], **spec},
        "status": {"phase": "Pending"},
    }


@pytest.fixture
def engine() -> headroom.Engine:
    """Three nodes of 2, 4 and 8 cores."""
    engine = headroom.Engine()
    assert engine.upsert([node("small", "2"), node("middle", "4"), node("large", "8")]) == 3
    return engine


@pytest.fixture(scope="session")
def command() -> str:
    """The headroom command: HEADROOM_COMMAND, or the release preset's."""
    built = REPOSITORY / "build/release/bin/headroom"
    found = os.environ.get("HEADROOM_COMMAND") or (
        built if built.exists() else shutil.which("headroom")
    )
    if not found:
        pytest.skip("no headroom command: build it, or set HEADROOM_COMMAND")
    return str(found)
