"""What an engine answers: plain values that compare, pickle and print."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray


def html_table(rows: list[list[Any]], header: list[str], caption: str = "") -> str:
    """A table for notebooks."""

    def row(tag: str, values: list[Any]) -> str:
        cells = "".join(f"<{tag}>{escape(str(value))}</{tag}>" for value in values)
        return f"<tr>{cells}</tr>"

    body = "".join(row("td", values) for values in rows)
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead>{row('th', header)}</thead><tbody>{body}</tbody></table>"
    )


def _fields_table(items: list[Any], kind: type[Any], caption: str) -> str:
    """Dataclasses of one kind, a column for each field."""
    header = [item.name for item in fields(kind)]
    return html_table([[getattr(at, name) for name in header] for at in items], header, caption)


@dataclass(frozen=True, slots=True)
class PluginScore:
    """One plugin's score of a node."""

    raw: int  #: what Score returns
    score: int  #: after NormalizeScore, in [0, 100]


@dataclass(frozen=True, slots=True)
class NodeScore:
    """A node that may run the pod."""

    node: str
    row: int  #: its row in Engine.node_names() and Engine.nodes()
    total: int  #: sum of weight * score
    plugins: dict[str, PluginScore]  #: empty where plugin_scores is off


@dataclass(frozen=True, slots=True)
class Decision:
    """Which nodes may run a pod, and which is best."""

    code: str  #: "Success", "Unschedulable", "UnschedulableAndUnresolvable" or "Error"
    nodes: int  #: nodes known
    feasible: int  #: nodes that may run the pod
    candidates: list[NodeScore]  #: best first, at most top_k
    reasons: dict[str, int]  #: how many nodes gave each reason
    pre_filter: list[str]  #: why its quota, gates or claims reject it; then no node was looked at
    epoch: int  #: the state that was answered for
    message: str  #: kube-scheduler's: "0/5 nodes are available: 3 Insufficient cpu limit, ..."
    #: what the pod asks for, or nodes say, that no plugin here looks at
    not_considered: list[str] = field(default_factory=list)

    @property
    def node(self) -> str | None:
        """The best node's name; None: no node is feasible."""
        return self.candidates[0].node if self.candidates else None

    def __repr__(self) -> str:
        best = f"{self.node!r}, total {self.candidates[0].total}" if self.candidates else "no node"
        left_out = f"; not considered: {', '.join(self.not_considered)}"
        return f"<Decision {self.code}: {best}; {self.message}{left_out * bool(self.not_considered)}>"

    def _repr_html_(self) -> str:
        plugins = list(self.candidates[0].plugins) if self.candidates else []
        if not self.candidates:
            rows = [[count, reason] for reason, count in self.reasons.items()]
            return html_table(rows, ["nodes", "reason"], f"{self.code}: {self.message}")
        rows = [
            [best.node, best.total, *(best.plugins[name].score for name in plugins)]
            for best in self.candidates
        ]
        return html_table(rows, ["node", "total", *plugins], self.message)


@dataclass(frozen=True, slots=True)
class NodeDetail:
    """One node's answer."""

    node: str
    row: int
    code: str
    reasons: list[str]
    rejected_by: str | None  #: the plugin; None where the node is feasible
    plugins: dict[str, PluginScore]  #: feasible nodes only
    total: int


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """Why nodes reject a pod."""

    code: str
    rejected_by: str
    reasons: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class NodesDecision:
    """Every node's answer in few words, as arrays side by side. The arrays own what they show."""

    nodes: int  #: nodes known
    rows: NDArray[np.uint32]  #: the nodes' rows, ascending
    totals: NDArray[np.int64]  #: sum of weight * score; 0 where rejected
    verdict: NDArray[np.int32]  #: place in verdicts; -1: feasible
    verdicts: list[NodeVerdict]
    pre_filter: list[str]
    epoch: int
    not_considered: list[str] = field(default_factory=list)  #: as in Decision


@dataclass(frozen=True, slots=True)
class ExplainTerm:
    """One line of an explanation: the numbers that went in, and what came out."""

    plugin: str
    #: "PreEnqueue", "PreFilter", "Filter", "Score" or "NormalizeScore"; "Note": a remark
    extension_point: str
    resource: str
    capacity: int
    aggregate: int
    need: int
    formula: str
    result: int
    passed: bool
    note: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one node says of a pod, step by step."""

    code: str
    terms: list[ExplainTerm]
    plugins: dict[str, PluginScore]
    total: int
    not_considered: list[str] = field(default_factory=list)  #: as in Decision

    def __repr__(self) -> str:
        lines = [f"{self.code}, total {self.total}"]
        for term in self.terms:
            mark = "" if term.passed else "  <- rejects"
            what = " ".join(
                text for text in (term.plugin, term.extension_point, term.resource) if text
            )
            detail = f" {term.formula} = {term.result}" if term.formula else ""
            lines.append(f"  {what}:{detail} {term.note}".rstrip() + mark)
        if self.not_considered:
            lines.append(f"  not considered: {', '.join(self.not_considered)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _fields_table(self.terms, ExplainTerm, f"{self.code}, total {self.total}")


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod that has to go."""

    namespace: str
    name: str
    uid: str
    priority: int
    node: str | None


@dataclass(frozen=True, slots=True)
class NodeVictims:
    """One node's outcome in a preemption."""

    node: str | None
    code: str
    reasons: list[str]
    victims: list[Victim]
    pdb_violations: int


@dataclass(frozen=True, slots=True)
class PostFilter:
    """Who must go so that a pod has its place."""

    code: str  #: "Success": the victims make room on the nominated node
    nominated_node: str | None
    victims: list[Victim]  #: most important first
    pdb_violations: int
    reasons: list[str]
    stays_nominated: bool
    cross_node: bool
    cross_node_would_help: bool
    victims_at_least: int
    cross_node_gave_up: bool
    candidates: list[NodeVictims]
    nodes_dry_run: int
    nodes_ruled_out: int
    epoch: int
    not_considered: list[str] = field(default_factory=list)  #: as in Decision


@dataclass(frozen=True, slots=True)
class PodVerdict:
    """Whether a pod would have to go, and why."""

    pod: Victim
    victim: bool
    why: str


@dataclass(frozen=True, slots=True)
class PreFilterStatus:
    """What the pod's elastic quota says."""

    code: str
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a pod was placed."""

    node: str | None  #: None: not placed, and the decision says why
    decision: Decision  #: on the node that the pod was nominated to: of that alone, without scores
    nominated_node: str | None  #: with preempt: where it waits for its victims to go
    victims: list[Victim]


@dataclass(frozen=True, slots=True)
class ElasticQuotaAmount:
    """An elastic quota's amounts of one resource (cpu in milli)."""

    resource: str
    min: int
    max: int | None  #: None: the quota names none
    used: int
    nominated: int


@dataclass(frozen=True, slots=True)
class ElasticQuotaStatus:
    """What an elastic quota uses."""

    namespace: str
    name: str
    amounts: list[ElasticQuotaAmount]
    over_min: bool  #: uses more than its min: it borrows


@dataclass(frozen=True, slots=True)
class Stats:
    """An engine's counters."""

    decisions: int
    cache_hits: int
    cold_passes: int
    rows_replayed: int
    bad_annotations: int
    nodes: int
    pods: int
    shapes: int
    resources: int
    node_classes: int
    cache_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class PlacedPods:
    """Where Engine.place_columns() placed each pod, as arrays in the pods' order.

    The arrays own what they show: they stay as they are whatever happens to the engine.
    """

    rows: NDArray[np.int32]  #: row of the chosen node, see Engine.node_names(); -1: not placed
    totals: NDArray[np.int64]  #: the node's total; 0: not placed, or on its nominated node
    #: By plugin, in [0, 100]; -1: the plugin skips the pod, or it is on its nominated node.
    scores: dict[str, NDArray[np.int32]]
    reason: NDArray[np.int32]  #: place in reasons; -1: placed
    reasons: list[str]  #: what most nodes said of a pod that was not placed
    placed: int
    #: What pods' templates ask for, or nodes say, that no plugin here looks at: in how many of the
    #: answers. Columns of numbers ask for nothing of it.
    not_considered: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        left_out = ", ".join(f"{what} ({n:,})" for what, n in self.not_considered.items())
        considered = f"; not considered: {left_out}" * bool(left_out)
        return f"<PlacedPods: {self.placed:,} of {len(self.rows):,} placed{considered}>"

    def _repr_html_(self) -> str:
        failed = np.bincount(self.reason[self.reason >= 0], minlength=len(self.reasons))
        rows: list[list[Any]] = [["placed", f"{self.placed:,}"]]
        rows += [[text, f"{count:,}"] for text, count in zip(self.reasons, failed)]
        rows += [[f"not considered: {what}", f"{n:,}"] for what, n in self.not_considered.items()]
        return html_table(rows, ["", "pods"], f"{len(self.rows):,} pods")


@dataclass(frozen=True, slots=True, eq=False)
class NodeTable:
    """What every node has and holds, by row (cpu in milli, all else in whole units).

    The arrays own what they show: a picture of the moment. A row without a node is "" in names and
    has nothing allocatable; what pods there ask for counts. A resource is missing from `requested`,
    `limits` or `estimated` where no plugin of the profile keeps it.
    """

    names: list[str]
    allocatable: dict[str, NDArray[np.int64]]
    requested: dict[str, NDArray[np.int64]]
    limits: dict[str, NDArray[np.int64]]  #: the larger of limit and request, by container
    estimated: dict[str, NDArray[np.int64]]  #: usage: reported, and estimated beyond it
    pods: NDArray[np.int64] | None = field(default=None)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<NodeTable: {len(self.names):,} rows, {', '.join(self.allocatable)}>"

    def frame(self) -> Any:
        """A pandas.DataFrame by node name; without pandas a dict of columns."""
        columns: dict[str, Any] = {}
        for what in ("allocatable", "requested", "limits", "estimated"):
            for resource, values in getattr(self, what).items():
                columns[f"{what}.{resource}"] = values
        if self.pods is not None:
            columns["pods"] = self.pods
        try:
            import pandas
        except ImportError:
            return {"node": np.array(self.names, dtype=object), **columns}
        return pandas.DataFrame(columns, index=pandas.Index(self.names, name="node"))


@dataclass(frozen=True, slots=True)
class CapacityQuotaRow:
    """One limit of a capacity quota against one request."""

    quota: str  #: "CapacityQuota/name"
    resource: str
    limit: int
    used: int
    reserved: int
    need: int  #: count * amount
    headroom: int  #: limit - used - reserved; below 0: over the limit already
    shortfall: int
    max_nodes: int | None  #: the most that it would take; None: any number
    binding: bool  #: max_nodes is what is allowed, and less than asked


@dataclass(frozen=True, slots=True)
class CapacityCheck:
    """How many of the nodes asked for may be created."""

    allowed: int
    rows: list[CapacityQuotaRow]  #: every limit that the template touches
    skipped: dict[str, str]  #: quotas that cannot be used, and why

    def _repr_html_(self) -> str:
        return _fields_table(self.rows, CapacityQuotaRow, f"{self.allowed:,} allowed")


@dataclass(frozen=True, slots=True)
class PlanBreak:
    """Where a plan stops: the items before `item` fit, and `fits` nodes of it."""

    item: int
    fits: int
    rows: list[CapacityQuotaRow]  #: the binding ones


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One limit that a plan touches."""

    quota: str
    resource: str
    limit: int
    used: int
    reserved: int
    added: int
    removed: int
    net: int
    peak: int


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """Whether a plan fits; None: it does."""

    net_break: PlanBreak | None  #: the removed nodes go before the first is added
    peak_break: PlanBreak | None  #: they go after the last was added
    rows: list[PlanRow]
    skipped: dict[str, str]


@dataclass(frozen=True, slots=True)
class MaxTotal:
    """The most nodes of several templates together."""

    total: int
    counts: list[int]  #: by template
    upper_bound: int  #: no choice has more
    skipped: dict[str, str]


@dataclass(frozen=True, slots=True)
class HeadroomRow:
    """What one limit leaves of a template."""

    quota: str
    resource: str
    headroom: int
    stranded: int  #: left after max_nodes
    max_nodes: int | None
    binding: bool


@dataclass(frozen=True, slots=True)
class TemplateHeadroom:
    """How many more of a template; None: nothing limits them."""

    max_nodes: int | None
    rows: list[HeadroomRow]
    skipped: dict[str, str]


@dataclass(frozen=True, slots=True)
class LimitAmounts:
    """One limit, and what is used and reserved of it."""

    limit: int
    used: int
    reserved: int


@dataclass(frozen=True, slots=True)
class ChangedLimit:
    """A limit that a change touches. None: there is none before, or after."""

    quota: str
    resource: str
    before: LimitAmounts | None
    after: LimitAmounts | None
    newly_over: bool


@dataclass(frozen=True, slots=True)
class ChangedTemplate:
    """A template of which a change lets through none, or again some."""

    name: str
    max_nodes_before: int | None
    max_nodes_after: int | None
    blocked_by: list[str]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What a change of capacity quotas would do."""

    rows: list[ChangedLimit]
    templates: list[ChangedTemplate]
    skipped: dict[str, str]


@dataclass(frozen=True, slots=True)
class CapacityQuotaStatus:
    """What is used of a capacity quota."""

    id: str
    name: str
    in_force: bool
    invalid: str  #: why the last spec cannot be used; empty: it can
    nodes: int
    amounts: dict[str, LimitAmounts]


@dataclass(frozen=True, slots=True)
class ReserveAnswer:
    """Whether nodes are held."""

    accepted: bool
    allowed: list[int]
    stopped: PlanBreak | None
    skipped: dict[str, str]


@dataclass(frozen=True, slots=True)
class ReservationStatus:
    """A live reservation."""

    id: str
    expires_us: int
    nodes_left: int
    nodes_registered: int
