"""What is taken for an object, and what is refused."""

import datetime
import json
import math
import os

import pytest
from conftest import node, pod

import headroom

NODES = {"apiVersion": "v1", "kind": "List", "items": [node("a"), node("b")]}


@pytest.mark.parametrize(
    "objects",
    [
        NODES,
        [node("a"), node("b")],
        (node("a"), node("b")),
        json.dumps(NODES),
        json.dumps(NODES).encode(),
        "\n".join(json.dumps(each) for each in NODES["items"]),
        "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: 4, memory: 8Gi, "
        "pods: 110}, capacity: {cpu: 4, memory: 8Gi, pods: 110}}\n---\n" + json.dumps(node("b")),
    ],
    ids=["list object", "list", "tuple", "json", "bytes", "json lines", "yaml"],
)
def test_forms(objects, tmp_path):
    expected = headroom.Engine()
    expected.upsert([node("a"), node("b")])
    engine = headroom.Engine()
    assert engine.upsert(objects) == 2
    assert engine.digest() == expected.digest()
    if isinstance(objects, (str, bytes)):
        path = tmp_path / "dump"
        path.write_bytes(objects if isinstance(objects, bytes) else objects.encode())
        engine = headroom.Engine()
        assert engine.upsert(path) == 2
        assert engine.digest() == expected.digest()


class BytesPath:
    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return os.fsencode(self.path)


def test_paths_may_be_bytes(tmp_path):
    dump = tmp_path / os.fsdecode(b"dump-\xff.json")
    dump.write_text(json.dumps(NODES))
    assert headroom.Engine().upsert(BytesPath(dump)) == 2
    assert headroom.Engine().upsert(dump) == 2


def test_a_pod_needs_no_kind(engine):
    bare = pod("p")
    del bare["kind"], bare["apiVersion"]
    assert engine.evaluate(bare) == engine.evaluate(pod("p"))
    assert engine.evaluate(json.dumps(pod("p"))) == engine.evaluate(pod("p"))
    listed = {"kind": "PodList", "apiVersion": "v1", "items": [bare, pod("q")]}
    assert len(engine.evaluate_many(listed)) == 2


class V1ObjectMeta:
    attribute_map = {
        "name": "name",
        "namespace": "namespace",
        "creation_timestamp": "creationTimestamp",
    }
    name, namespace = "p", "default"
    creation_timestamp = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


class V1Pod:
    """As a model of Kubernetes' Python client, of a list: neither apiVersion nor kind."""

    attribute_map = {
        "api_version": "apiVersion",
        "kind": "kind",
        "metadata": "metadata",
        "spec": "spec",
    }
    api_version = kind = None
    metadata = V1ObjectMeta()
    spec = {
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "3"}}}],
        "nodeName": "large",
    }


class V1PodList:
    attribute_map = {"api_version": "apiVersion", "kind": "kind", "items": "items"}
    api_version = kind = None
    items = [V1Pod()]


def test_models_of_the_client(engine):
    assert engine.upsert(V1Pod()) == 1
    assert engine.nodes().requested["cpu"].tolist() == [0, 0, 3000]
    assert engine.upsert([V1Pod()]) == 1
    assert engine.upsert(V1PodList()) == 1
    assert engine.stats().pods == 1
    assert len(engine.evaluate_many(V1PodList())) == 1


def test_other_kinds_are_counted_and_not_fatal(engine, tmp_path):
    dump = tmp_path / "dump.json"
    quota = {
        "apiVersion": "autoscaling.x-k8s.io/v1beta1",
        "kind": "CapacityQuota",
        "metadata": {"name": "q"},
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    dump.write_text("\n".join(json.dumps(each) for each in (quota, secret, secret, node("x"))))
    with pytest.warns(UserWarning) as warned:
        assert engine.upsert(dump) == 1
    assert sorted(str(each.message) for each in warned) == [
        "objects: 1 CapacityQuota not read",
        "objects: 2 v1/Secret not read",
    ]
    assert "x" in engine.node_names()


KINDS = {
    "Namespace": "v1",
    "Service": "v1",
    "ReplicationController": "v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "PersistentVolume": "v1",
    "PersistentVolumeClaim": "v1",
    "StorageClass": "storage.k8s.io/v1",
    "CSINode": "storage.k8s.io/v1",
    "CSIDriver": "storage.k8s.io/v1",
    "CSIStorageCapacity": "storage.k8s.io/v1",
}


def test_what_nodes_and_pods_refer_to(recwarn):
    default = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {}}],
    }
    engine = headroom.Engine(default)
    objects = [
        {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "d"}}
        for kind, version in KINDS.items()
    ]
    digests = [engine.digest()]
    for each in objects:
        assert engine.upsert(each) == 1
        digests.append(engine.digest())
    assert len(set(digests)) == len(digests)
    assert engine.upsert(objects) == len(objects)  # the same again
    assert engine.digest() == digests.pop()
    for kind in reversed(KINDS):
        engine.remove(kind, "y", "d")
        engine.remove(kind, "x", namespace="d")
        assert engine.digest() == digests.pop()
    with pytest.raises(headroom.InvalidError, match='kind: "Pod" is none of Namespace, Service, '):
        engine.remove("Pod", "x")
    with pytest.raises(headroom.InvalidError, match=r"Service d/x: spec\.selector: 1 is not an object"):
        engine.upsert({**objects[1], "spec": {"selector": 1}})
    assert not recwarn.list


def test_models_of_what_pods_refer_to():
    class V1Service:
        attribute_map = {"api_version": "apiVersion", "kind": "kind", "metadata": "metadata"}
        api_version = kind = None
        metadata = {"name": "s"}

    class V1CSINode(V1Service):
        pass

    assert headroom.Engine().upsert([V1Service(), V1CSINode()]) == 2


def test_a_text_that_names_a_file_says_so(engine, tmp_path):
    dump = tmp_path / "dump"
    dump.write_text(json.dumps(node("x")))
    for text in (str(dump), "cluster.json", "nowhere/cluster.yaml"):
        with pytest.raises(headroom.InvalidError, match="is the name of a file: give pathlib.Path"):
            engine.upsert(text)
    with pytest.raises(headroom.InvalidError) as caught:
        engine.upsert("just words")
    assert "name of a file" not in str(caught.value)


def test_answers_name_what_was_not_considered(engine):
    asking = pod(
        "p",
        schedulerName="other",
        resourceClaims=[{"name": "g", "resourceClaimName": "g"}],
    )
    expected = ["another scheduler's name", "resource claims"]
    decision = engine.evaluate(asking)
    assert decision.not_considered == expected
    assert "not considered: another scheduler's name, resource claims" in repr(decision)
    assert engine.evaluate_nodes(asking).not_considered == expected
    name = next(name for name in engine.node_names() if name)
    assert engine.explain(asking, name).not_considered == expected
    assert engine.evaluate(pod("q")).not_considered == []


def test_errors_have_the_texts_of_the_engine(engine):
    with pytest.raises(headroom.InvalidError) as caught:
        engine.upsert(node("n1", cpu="4x"))
    assert str(caught.value) == 'objects: Node n1: status.allocatable.cpu: "4x" is not a quantity'
    assert caught.value.code == "Invalid"
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, headroom.Error)
    with pytest.raises(headroom.InvalidError, match="spec.containers"):
        engine.evaluate({"metadata": {"name": "p"}, "spec": {"containers": 5}})
    with pytest.raises(headroom.InvalidError, match="-1"):
        engine.evaluate(pod("p", cpu="-1"))
    with pytest.raises(headroom.LimitExceededError):
        engine.evaluate(pod("p", memory="9" * 30))
    with pytest.raises(headroom.InvalidError, match="top_k"):
        engine.evaluate(pod("p"), top_k=0)
    with pytest.raises(headroom.Error, match="top_k"):
        engine.evaluate(pod("p"), top_k=1_000_000)
    with pytest.raises(headroom.InvalidError, match=r"top_k: -1 is not in \[1, 1024\]"):
        engine.evaluate(pod("p"), top_k=-1)
    with pytest.raises(headroom.IoError, match="No such file") as missing:
        import pathlib

        engine.upsert(pathlib.Path("/nowhere/at/all.json"))
    assert isinstance(missing.value, OSError)
    with pytest.raises(LookupError):
        engine.explain(pod("p"), "nowhere")
    with pytest.raises(headroom.UnsupportedError, match="CapacityScheduling"):
        headroom.Engine(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"plugins": {}}],
            }
        ).place([pod("p")], preempt=True)


@pytest.mark.parametrize(
    "profile", ["profiles: 5", "nonsense: 1", {"kind": "Pod"}, "a: b: c", '{"a": ', [1]], ids=str
)
def test_bad_profiles(profile):
    with pytest.raises(headroom.Error, match="profile"):
        headroom.Engine(profile)


@pytest.mark.parametrize("value", [None, 5, 1.5, object(), [5], {"a": object()}, {1, 2}], ids=repr)
def test_wrong_types(engine, value):
    for call in (engine.upsert, engine.evaluate, engine.place):
        with pytest.raises((TypeError, headroom.InvalidError)):
            call(value)
    assert engine.stats().pods == 0


def test_values_that_json_has_not(engine):
    with pytest.raises(ValueError, match="not a Kubernetes object"):
        engine.upsert({**node("n"), "x": math.nan})
    circle = node("n")
    circle["circle"] = circle
    with pytest.raises(ValueError, match="not a Kubernetes object"):
        engine.upsert(circle)
    with pytest.raises(ValueError, match="to_dict"):
        engine.upsert({"api_version": "v1", "kind": "Pod"})
    with pytest.raises(ValueError, match="surrogates"):
        engine.upsert("\ud800")
    with pytest.raises(headroom.InvalidError, match="give one"):
        engine.evaluate([pod("a"), pod("b")])
    with pytest.raises(headroom.InvalidError, match="not only Pod"):
        engine.evaluate(node("n"))
    assert engine.upsert("") == engine.upsert([]) == 0
    assert engine.place([]) == []


def test_unknown_fields_are_passed_over(engine):
    strange = pod("p", somethingNew={"a": [1, 2]})
    assert engine.evaluate(strange) == engine.evaluate(pod("p"))


def test_a_path_with_a_nul_is_none(tmp_path):
    headroom.Engine().save(tmp_path / "real")
    with pytest.raises(ValueError, match="embedded null byte"):
        headroom.Engine.load(f"{tmp_path}/real\0junk")
