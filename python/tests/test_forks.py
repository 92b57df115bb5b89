"""Trying changes, and keeping whole states."""

import pytest
from conftest import node, pod

import headroom


def test_a_fork_is_taken_back(engine):
    before = engine.digest()
    with engine.fork():
        engine.place([pod("a"), pod("b")])
        engine.remove_node("large")
        engine.advance(1_000_000)
        assert engine.evaluate(pod("p")).node != "large"
    assert engine.digest() == before
    assert engine.evaluate(pod("p")).node == "large"
    engine.validate()


def test_forks_nest_and_can_be_kept(engine):
    with engine.fork() as outer:
        engine.upsert(node("first"))
        kept = engine.digest()
        with pytest.raises(ZeroDivisionError), engine.fork():
            engine.upsert(node("second"))
            raise ZeroDivisionError
        assert engine.digest() == kept
        outer.commit()
        with pytest.raises(RuntimeError, match="has ended"):
            outer.rollback()
    assert engine.digest() == kept


def test_forks_end_in_their_order(engine):
    before = engine.digest()
    with engine.fork() as outer:
        engine.upsert(node("first"))
        with engine.fork() as inner:
            with pytest.raises(RuntimeError, match="inside this one is open"):
                outer.commit()
            inner.rollback()
        outer.rollback()
    assert engine.digest() == before


def test_upsert_takes_all_or_nothing(engine):
    before = engine.digest()
    many = node("many")
    many["status"]["allocatable"]["example.com/r"] = "-1"
    with pytest.raises(headroom.InvalidError, match="is negative"):
        engine.upsert([node("new"), many])
    assert engine.digest() == before


def test_a_state_is_saved_and_loaded(engine, tmp_path):
    engine.assume(pod("a"), "small")
    engine.save(tmp_path / "state")
    again = headroom.Engine.load(tmp_path / "state", seed=0)
    assert again.digest() == engine.digest()
    again.validate()
    assert again.evaluate(pod("p")).node == engine.evaluate(pod("p")).node


def test_a_damaged_state_is_refused(engine, tmp_path):
    path = tmp_path / "state"
    engine.save(str(path))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(headroom.InvalidError):
        headroom.Engine.load(path)
    path.write_bytes(whole)
    only_fit = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}}
    other = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": only_fit}],
    }
    with pytest.raises(headroom.InvalidError, match="profile"):
        headroom.Engine.load(path, other)
    with pytest.raises(headroom.IoError):
        headroom.Engine.load(tmp_path / "none")
