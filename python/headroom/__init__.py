"""Headroom in process: which nodes may run a pod, and which is best.

    >>> import headroom
    >>> engine = headroom.Engine()
    >>> engine.upsert(pathlib.Path("cluster.json"))  # kubectl get nodes,pods -A -o json
    2
    >>> engine.evaluate(pod).node
    'n1'

An Engine answers for single pods and for many in columns; simulate() plays a trace, sweep() a
grid of them on Ray. Errors are headroom.Error, by kind also ValueError, LookupError or OSError.
"""

from headroom._errors import (
    ConflictError,
    Error,
    InternalError,
    InvalidError,
    IoError,
    LimitExceededError,
    NotFoundError,
    UnsupportedError,
)
from headroom._fork import Fork
from headroom._headroom import CapacityQuotas, Engine, NodeColumns, PodColumns
from headroom._results import (
    CapacityCheck,
    CapacityQuotaRow,
    CapacityQuotaStatus,
    ChangedLimit,
    ChangedTemplate,
    Decision,
    ElasticQuotaAmount,
    ElasticQuotaStatus,
    ExplainTerm,
    Explanation,
    HeadroomRow,
    LimitAmounts,
    MaxTotal,
    NodeDetail,
    NodeScore,
    NodesDecision,
    NodeTable,
    NodeVerdict,
    NodeVictims,
    PlacedPods,
    Placement,
    PlanAnswer,
    PlanBreak,
    PlanRow,
    PluginScore,
    PodVerdict,
    PostFilter,
    PreFilterStatus,
    ReservationStatus,
    ReserveAnswer,
    Stats,
    TemplateHeadroom,
    Victim,
    WhatIf,
)
from headroom._simulation import Simulation, simulate
from headroom._sweep.result import Sweep
from headroom._sweep.sweep import sweep

__all__ = [
    "CapacityCheck",
    "CapacityQuotaRow",
    "CapacityQuotaStatus",
    "CapacityQuotas",
    "ChangedLimit",
    "ChangedTemplate",
    "ConflictError",
    "Decision",
    "ElasticQuotaAmount",
    "ElasticQuotaStatus",
    "Engine",
    "Error",
    "ExplainTerm",
    "Explanation",
    "Fork",
    "HeadroomRow",
    "InternalError",
    "InvalidError",
    "IoError",
    "LimitAmounts",
    "LimitExceededError",
    "MaxTotal",
    "NodeColumns",
    "NodeDetail",
    "NodeScore",
    "NodeTable",
    "NodeVerdict",
    "NodeVictims",
    "NodesDecision",
    "NotFoundError",
    "PlacedPods",
    "Placement",
    "PlanAnswer",
    "PlanBreak",
    "PlanRow",
    "PluginScore",
    "PodColumns",
    "PodVerdict",
    "PostFilter",
    "PreFilterStatus",
    "ReservationStatus",
    "ReserveAnswer",
    "Simulation",
    "Stats",
    "Sweep",
    "TemplateHeadroom",
    "UnsupportedError",
    "Victim",
    "WhatIf",
    "simulate",
    "sweep",
]
