"""CapacityQuotas: every call."""

import pytest
from conftest import node, pod

import headroom


def capacity_quota(name: str, selector: dict | None = None, **limits) -> dict:
    spec = {"limits": {"resources": limits}}
    if selector is not None:
        spec["selector"] = {"matchLabels": selector}
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1beta1",
        "kind": "CapacityQuota",
        "metadata": {"name": name},
        "spec": spec,
    }


@pytest.fixture
def quotas() -> headroom.CapacityQuotas:
    quotas = headroom.CapacityQuotas()
    facts = [
        node("n1", "4", labels={"pool": "a"}),
        capacity_quota("all", cpu="20"),
        capacity_quota("a", {"pool": "a"}, nodes="3"),
    ]
    assert quotas.upsert(facts) == 3
    return quotas


def template(cpu: str = "4", pool: str = "a") -> dict:
    return node("template", cpu, labels={"pool": pool})


def test_check(quotas):
    check = quotas.check(template(), 5)
    assert check.allowed == 2 and check.skipped == {}
    rows = {row.quota: row for row in check.rows}
    assert (rows["CapacityQuota/all"].limit, rows["CapacityQuota/all"].used) == (20_000, 4_000)
    assert rows["CapacityQuota/a"].binding and not rows["CapacityQuota/all"].binding
    assert (
        rows["CapacityQuota/all"].headroom == 16_000
        and rows["CapacityQuota/all"].shortfall == 4_000
    )
    assert "2 allowed" in check._repr_html_()
    assert quotas.check(template()).allowed == 1
    with pytest.raises(headroom.InvalidError):
        quotas.check(template(), -1)
    with pytest.raises(headroom.InvalidError, match="give one"):
        quotas.check([template(), template()])


def test_plans_and_totals(quotas):
    plan = quotas.plan([(template(), 2), (template(), 1)])
    assert plan.net_break.item == 1 and plan.net_break.fits == 0
    assert quotas.plan([(template(), 3)], remove=["n1"]).net_break is None
    assert quotas.plan([(template(), 3)], remove=["n1"]).peak_break.fits == 2
    with pytest.raises(headroom.NotFoundError):
        quotas.plan([], remove=["nowhere"])
    most = quotas.max_total([(template(), 9), (template(pool="b"), 9)])
    assert (most.total, most.upper_bound) == (4, 4) and sum(most.counts) == 4
    first, second = quotas.headroom([template(), template("1", "b")])
    assert (first.max_nodes, second.max_nodes) == (2, 16)
    assert headroom.CapacityQuotas().headroom(template())[0].max_nodes is None
    with pytest.raises(TypeError, match="pairs"):
        quotas.plan([template()])


def test_what_if(quotas):
    answer = quotas.what_if(capacity_quota("a", {"pool": "a"}, nodes="1"), templates=template())
    (changed,) = [row for row in answer.rows if row.resource == "nodes"]
    assert (changed.before.limit, changed.after.limit) == (3, 1)
    (blocked,) = answer.templates
    assert (blocked.max_nodes_before, blocked.max_nodes_after) == (2, 0)
    assert blocked.blocked_by == ["CapacityQuota/a"]
    assert quotas.what_if(remove_capacity_quotas=["a"]).rows[0].after is None
    assert quotas.check(template(), 5).allowed == 2  # nothing changed


def test_reservations(quotas):
    answer = quotas.reserve("scale-up", [(template(), 2)], expires=1_000_000)
    assert answer.accepted and answer.allowed == [2]
    assert not quotas.reserve("other", [(template(), 2)], expires=1_000_000).accepted
    with pytest.raises(headroom.ConflictError):
        quotas.reserve("scale-up", [(template(), 1)], expires=1_000_000)
    with pytest.raises(headroom.LimitExceededError, match="the id has 1025 bytes"):
        quotas.reserve("x" * 1025, [(template(), 1)], expires=1_000_000)
    with pytest.raises(TypeError, match="templates: a count is a whole number"):
        quotas.reserve("half", [(template(), 0.5)], expires=1_000_000)
    (status,) = quotas.reservations()
    assert (status.id, status.nodes_left) == ("scale-up", 2)
    assert quotas.release("scale-up") and not quotas.release("scale-up")
    up_to = quotas.reserve("up to", [(template(), 9)], expires=1_000_000, up_to=True)
    assert up_to.accepted and up_to.allowed == [2] and up_to.stopped.fits == 2
    quotas.advance(1_000_000)
    assert quotas.reservations() == []


def test_forks(quotas):
    digest = quotas.digest()
    with quotas.fork():
        quotas.upsert(node("n2", "4", labels={"pool": "a"}))
        with quotas.fork() as inner:
            quotas.remove_capacity_quota("a")
            inner.commit()
        assert quotas.check(template(), 9).allowed == 3
    assert quotas.digest() == digest
    with pytest.raises(KeyError), quotas.fork():
        quotas.remove_node("n1")
        raise KeyError
    assert quotas.digest() == digest
    fork = quotas.fork()
    fork.rollback()
    with pytest.raises(RuntimeError, match="has ended"):
        fork.commit()
    quotas.validate()


def test_upsert_takes_all_or_nothing(quotas):
    before = quotas.digest()
    many = [node(f"x{n}") for n in range(17)]
    for n, one in enumerate(many):
        one["status"]["capacity"] = {f"example.com/r{n}-{r}": "1" for r in range(256)}
    with pytest.raises(headroom.LimitExceededError, match="kCapacityResourcesMax"):
        quotas.upsert(many)
    assert quotas.digest() == before


def test_status_and_large_amounts(quotas):
    quotas.upsert([capacity_quota("large", memory="7Ei"), capacity_quota("bad", cpu="x")])
    by_name = {status.name: status for status in quotas.status()}
    assert by_name["large"].amounts["memory"].limit == 7 << 60
    huge = quotas.check(node("huge", "1m", "7Ei"), 1000)
    (need,) = [row.need for row in huge.rows if row.resource == "memory"]
    assert need == 1000 * (7 << 60)  # beyond 64 bits
    assert not by_name["bad"].in_force and "quantity" in by_name["bad"].invalid
    assert by_name["a"].nodes == 1
    assert "bad" in next(iter(quotas.check(template()).skipped))
    quotas.remove_node("n1")
    assert quotas.check(template(), 9).allowed == 3
    assert repr(quotas) == "<headroom.CapacityQuotas: 4 quotas, 0 nodes, 0 reservations>"
    with pytest.raises(headroom.UnsupportedError, match="only Node and CapacityQuota"):
        quotas.upsert(pod("p"))
    aliased = headroom.CapacityQuotas(ignore_deleting=True, aliases={"gpu": "nvidia.com/gpu"})
    aliased.upsert(capacity_quota("g", gpu="1"))
    assert aliased.status()[0].amounts["gpu"].limit == 1
