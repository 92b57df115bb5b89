"""Kubernetes objects as the JSON text that the engine reads."""

from __future__ import annotations

import datetime
import json
import re
from typing import Any

_KINDS = {
    "v1": [
        "Pod",
        "Node",
        "Namespace",
        "Service",
        "ReplicationController",
        "PersistentVolume",
        "PersistentVolumeClaim",
    ],
    "apps/v1": ["ReplicaSet", "StatefulSet"],
    "policy/v1": ["PodDisruptionBudget"],
    "scheduling.k8s.io/v1": ["PriorityClass"],
    "storage.k8s.io/v1": ["StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity"],
}
_API_VERSIONS = {
    kind + suffix: version for version, kinds in _KINDS.items() for kind in kinds for suffix in ("", "List")
}


def _plain(value: Any) -> Any:
    """What json does not know: models of Kubernetes' Python client, and times."""
    if isinstance(value, datetime.datetime):
        return value.isoformat() + ("" if value.tzinfo else "Z")
    names = getattr(value, "attribute_map", None)
    if names is None:
        raise TypeError(
            f"a {type(value).__name__} is no Kubernetes object: give a dict, a list of them, "
            "JSON or YAML text, or a pathlib.Path"
        )
    fields = {names[key]: getattr(value, key) for key in names}
    # A list's items name neither; V1Pod is a Pod.
    kind = re.sub(r"^V\d+((alpha|beta)\d+)?", "", type(value).__name__)
    if kind in _API_VERSIONS:
        fields["kind"] = fields["kind"] or kind
        fields["apiVersion"] = fields["apiVersion"] or _API_VERSIONS[kind]
    return {name: field for name, field in fields.items() if field is not None}


def _text(value: Any) -> str:
    if isinstance(value, dict) and "api_version" in value:
        raise ValueError(
            "api_version: a dict of to_dict(); give the object itself, or "
            "ApiClient().sanitize_for_serialization(object)"
        )
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except ValueError as error:  # NaN, infinity, a circle
        raise ValueError(f"not a Kubernetes object: {error}") from None


def _is_list_object(value: Any) -> bool:
    return "items" in (value if isinstance(value, dict) else getattr(value, "attribute_map", ()))


def to_json(objects: Any, kind: str | None) -> str:
    """One object or several as text; those without a kind are of `kind` in v1, if given."""
    values = objects if isinstance(objects, (list, tuple)) else [objects]
    texts = [_text(value) for value in values]
    if kind is None or (len(values) == 1 and _is_list_object(values[0])):
        return "\n".join(texts)
    return f'{{"apiVersion":"v1","kind":"{kind}List","items":[{",".join(texts)}]}}'
