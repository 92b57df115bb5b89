"""Every call of Engine."""

import datetime
import pickle

import numpy as np
import pytest
from conftest import node, pod

import headroom

PROFILE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins: {multiPoint: {disabled: [{name: "*"}], enabled: [{name: NodeResourcesFit, weight: 3}]}}
"""


def test_evaluate_names_the_best_node(engine):
    decision = engine.evaluate(pod("p"), top_k=2)
    assert (decision.code, decision.nodes, decision.feasible) == ("Success", 3, 3)
    assert decision.node == "large"
    assert [best.node for best in decision.candidates] == ["large", "middle"]
    best = decision.candidates[0]
    weights = {
        "TaintToleration": 15,
        "NodeResourcesFit": 5,
        "NodeResourcesBalancedAllocation": 5,
        "VolumeBinding": 5,
        "ImageLocality": 5,
        "LimitAware": 1,
        "LoadAwareScheduling": 1,
    }
    assert best.total == sum(weights[name] * score.score for name, score in best.plugins.items())
    assert set(best.plugins) == set(weights)
    assert engine.node_names()[best.row] == "large"
    assert engine.evaluate(pod("p"), plugin_scores=False).candidates[0].plugins == {}


def test_no_node_is_feasible(engine):
    decision = engine.evaluate(pod("p", cpu="16"))
    assert (decision.code, decision.node, decision.feasible) == ("Unschedulable", None, 0)
    assert decision.reasons == {"Insufficient cpu": 3}
    assert decision.message == "0/3 nodes are available: 3 Insufficient cpu."
    assert engine.evaluate(pod("p", cpu="16"), reasons=False).reasons == {}


def test_many_nodes_and_all(engine):
    pods = [pod("a"), pod("b", cpu="3"), pod("c", cpu="16")]
    decisions = engine.evaluate_many(pods)
    assert decisions == [engine.evaluate(each) for each in pods]
    details = engine.evaluate_all(pods[1])
    assert [(d.node, d.code, d.rejected_by) for d in details] == [
        ("small", "UnschedulableAndUnresolvable", "NodeResourcesFit"),
        ("middle", "Success", None),
        ("large", "Success", None),
    ]
    answer = engine.evaluate_nodes(pods[1])
    assert answer.rows.tolist() == [0, 1, 2]
    assert answer.totals.tolist() == [d.total for d in details]
    assert answer.verdict.tolist() == [0, -1, -1]
    assert answer.verdicts[0].reasons == ["Insufficient cpu"]


def test_filter_looks_at_one_node_as_it_would_be(engine):
    engine.assume(pod("there", cpu="2"), "small")
    asked = pod("p")
    assert engine.filter(asked, "small").reasons == ["Insufficient cpu"]
    assert engine.filter(asked, "small", without=["default/there"]).code == "Success"
    assert engine.filter(asked, "large", assumed=[pod("other", cpu="8")]).code == "Unschedulable"
    with pytest.raises(headroom.NotFoundError, match="node nowhere is not known"):
        engine.filter(asked, "nowhere")
    with pytest.raises(ValueError, match="without: there is no namespace/name"):
        engine.filter(asked, "small", without=["there"])


def test_place_assume_and_forget(engine):
    before = engine.digest()
    placements = engine.place([pod("a"), pod("b"), pod("c", cpu="16")])
    assert [bool(each.node) for each in placements] == [True, True, False]
    assert engine.node_of_pod("default", "a") == placements[0].node
    for each, name in zip(placements, "ab"):
        engine.forget("default", name, name, each.node)
    assert engine.node_of_pod("default", "a") is None
    assert engine.digest() == before
    bare = pod("bare")
    del bare["metadata"]["uid"], bare["metadata"]["namespace"]
    engine.assume(bare, "middle")
    engine.forget("default", "bare", None, "middle")
    assert engine.node_of_pod("default", "bare") is None
    columns = headroom.PodColumns(names=["bare"], requests={"cpu": [1]})
    (at,) = engine.place_columns(columns).rows
    engine.forget("default", "bare", None, engine.nodes().names[at])
    with pytest.raises(headroom.InvalidError, match=r"pods\[0\] and pods\[2\] are one: default/a"):
        engine.place([pod("a"), pod("b"), pod("a")])
    assert engine.digest() == before
    engine.assume(pod("d"), "middle")
    assert engine.node_of_pod("default", "d") == "middle"
    engine.remove_pod("default", "d")
    assert engine.digest() == before
    engine.validate()


def test_facts_come_and_go(engine):
    before = engine.digest()
    metric = {
        "apiVersion": "slo.koordinator.sh/v1alpha1",
        "kind": "NodeMetric",
        "metadata": {"name": "small"},
        "status": {
            "updateTime": "2026-01-01T00:00:00Z",
            "nodeMetric": {"nodeUsage": {"resources": {"cpu": "1"}}},
        },
    }
    quota = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"namespace": "default", "name": "q"},
        "spec": {"min": {"cpu": "1"}, "max": {"cpu": "2"}},
    }
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": "default", "name": "b"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}},
        "status": {"disruptionsAllowed": 1},
    }
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 10,
    }
    facts = [metric, quota, budget, priority, node("more")]
    assert engine.upsert(facts) == 5
    after = engine.digest()
    assert after != before
    with pytest.warns(UserWarning, match="1 v1/Secret not read"):
        assert engine.upsert({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}) == 0
    (status,) = engine.elastic_quota_status()
    assert (status.namespace, status.name, status.over_min) == ("default", "q", False)
    (amount,) = [each for each in status.amounts if each.resource == "cpu"]
    assert (amount.min, amount.max, amount.used) == (1000, 2000, 0)
    engine.remove_node_metric("small")
    engine.remove_elastic_quota("default", "q")
    engine.remove_pod_disruption_budget("default", "b")
    engine.remove_priority_class("high")
    engine.remove_node("more")
    assert engine.digest() == before
    engine.remove_node("never there")
    engine.validate()


def test_elastic_quotas_and_preemption(engine):
    for name in "ab":
        engine.upsert(
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "ElasticQuota",
                "metadata": {"namespace": name, "name": "q"},
                "spec": {"min": {"cpu": "6"}, "max": {"cpu": "14"}},
            }
        )

    def of(space, name, cpu, **spec):
        made = pod(name, cpu, **spec)
        made["metadata"]["namespace"] = space
        return made

    assert engine.pre_filter(of("a", "p", "20")).code == "Unschedulable"
    assert engine.pre_filter(of("a", "p", "4")).code == "Success"
    for name, host, cpu in (("x", "small", "2"), ("y", "middle", "4"), ("z", "large", "8")):
        engine.upsert(of("b", name, cpu, nodeName=host))
    asked = of("a", "wants", "4")
    assert engine.evaluate(asked).code == "Unschedulable"
    answer = engine.post_filter(asked, candidates=True)
    assert answer.code == "Success" and answer.nominated_node in ("middle", "large")
    assert [victim.namespace for victim in answer.victims] == ["b"]
    assert {each.node for each in answer.candidates} >= {answer.nominated_node}
    verdicts = engine.explain_victims(asked, answer.nominated_node)
    assert [verdict.victim for verdict in verdicts] == [True]
    (placement,) = engine.place([asked], preempt=True)
    assert placement.node is None and placement.nominated_node == answer.nominated_node
    assert placement.victims == answer.victims


def test_explain_shows_the_numbers(engine):
    explanation = engine.explain(pod("p"), "small")
    (term,) = [
        each
        for each in explanation.terms
        if (each.plugin, each.extension_point, each.resource)
        == ("NodeResourcesFit", "Filter", "cpu")
    ]
    assert (term.capacity, term.aggregate, term.need, term.passed) == (2000, 0, 1000, True)
    assert explanation.total == engine.evaluate(pod("p"), top_k=3).candidates[-1].total
    assert "NodeResourcesFit" in repr(explanation) and "<table>" in explanation._repr_html_()


def test_clock(engine):
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    engine.advance(moment)
    assert engine.now_us == 1_767_225_600_000_000
    engine.advance(engine.now_us + 1)
    with pytest.raises(headroom.InvalidError):
        engine.advance(5)
    with pytest.raises(ValueError, match="tzinfo"):
        engine.advance(datetime.datetime(2026, 1, 1))
    with pytest.raises(TypeError, match="now"):
        engine.advance("now")
    with pytest.raises(ValueError, match="now: beyond 64 bits"):
        engine.advance(2**70)


@pytest.mark.parametrize("form", ["text", "dict", "path", "documents"])
def test_profiles(form, tmp_path):
    path = tmp_path / "scheduler.yaml"
    path.write_text(PROFILE)
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {
                    "multiPoint": {
                        "disabled": [{"name": "*"}],
                        "enabled": [{"name": "NodeResourcesFit", "weight": 3}],
                    }
                }
            }
        ],
    }
    ours = {"apiVersion": "headroom/v1alpha1", "kind": "HeadroomConfiguration", "mode": "Proposal"}
    profiles = {
        "text": PROFILE,
        "dict": configuration,
        "path": path,
        "documents": [configuration, ours],
    }
    engine = headroom.Engine(profiles[form])
    engine.upsert(node("n"))
    (best,) = engine.evaluate(pod("p")).candidates
    assert list(best.plugins) == ["NodeResourcesFit"]
    assert best.total == 3 * best.plugins["NodeResourcesFit"].score
    table = engine.nodes()
    assert "cpu" in table.requested and not table.limits and not table.estimated


def test_nodes_shows_what_pods_come_to(engine):
    engine.assume(pod("p", cpu="1500m", memory="1Gi"), "middle")
    table = engine.nodes()
    assert table.names == ["small", "middle", "large"]
    assert table.allocatable["cpu"].tolist() == [2000, 4000, 8000]
    assert table.requested["cpu"].tolist() == [0, 1500, 0]
    assert table.limits["memory"].tolist() == [0, 1 << 30, 0]
    assert table.pods.tolist() == [0, 1, 0]
    # LoadAwareScheduling estimates 85 % of the limit where no report says more.
    assert table.estimated["cpu"].tolist() == [0, 1275, 0]
    with pytest.raises(headroom.NotFoundError, match="resource example.com/none is not known"):
        engine.nodes(["example.com/none"])
    engine.remove_node("middle")
    assert engine.nodes().names == ["small", "", "large"]
    assert table.names[1] == "middle"  # a picture of its moment


def test_arrays_outlive_the_engine(engine):
    table = engine.nodes()
    answer = engine.evaluate_nodes(pod("p"))
    kept = answer.totals.copy()
    del engine
    assert table.allocatable["cpu"].sum() == 14_000
    assert np.array_equal(answer.totals, kept)
    assert not table.allocatable["cpu"].flags.owndata  # lent, not copied


def test_answers_are_plain_values(engine):
    decision = engine.evaluate(pod("p"))
    assert pickle.loads(pickle.dumps(decision)) == decision
    assert "large" in repr(decision) and "<table>" in decision._repr_html_()
    assert "<table>" in engine.evaluate(pod("p", cpu="99"))._repr_html_()
    stats = engine.stats()
    assert stats.nodes == 3 and stats.decisions == 2
    assert repr(engine) == "<headroom.Engine: 3 nodes, 0 pods, 2 decisions>"
    assert "<table>" in engine._repr_html_()
    assert engine.epoch > 0


def test_options():
    def totals(**options):
        engine = headroom.Engine(**options)
        engine.upsert([node(f"n{i}") for i in range(50)])
        return [engine.place([pod(f"p{i}")])[0].node for i in range(20)]

    assert totals() == totals(shape_cache=False) == totals(threads=1, shape_cache_bytes_max=0)
    assert totals(seed=1) == totals(seed=1) != totals(seed=2)
    with pytest.raises(headroom.InvalidError, match="threads: -1 is below 0"):
        headroom.Engine(threads=-1)


def test_bound_volumes():
    engine = headroom.Engine(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}"
    )
    engine.upsert(
        [
            node("a", labels={"topology.kubernetes.io/zone": "z"}),
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": "fast"},
                "provisioner": "disk.example.com",
                "volumeBindingMode": "WaitForFirstConsumer",
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"namespace": "default", "name": "data", "uid": "7"},
                "spec": {
                    "storageClassName": "fast",
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            },
        ]
    )
    asks = pod("store-0", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])
    volume, claim = engine.bound_volumes(asks, "a")
    assert (volume["kind"], volume["metadata"]["name"]) == ("PersistentVolume", "pvc-7")
    assert (claim["kind"], claim["spec"]["volumeName"]) == ("PersistentVolumeClaim", "pvc-7")
    engine.upsert([volume, claim])
    assert engine.bound_volumes(asks, "a") == []
    with pytest.raises(headroom.NotFoundError):
        engine.bound_volumes(asks, "nowhere")
