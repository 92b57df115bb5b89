"""What a sweep plays: every trace under every profile with every seed, its input read and checked."""

from __future__ import annotations

import hashlib
import json
import operator
import os
import pathlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headroom._errors import InvalidError, IoError, LimitExceededError
from headroom._objects import to_json
from headroom._sweep.run import build

RUNS_MAX = 100_000
SEED_MAX = 2**64 - 1
WHOLE_MAX = 2**32 - 1  # of any other number
# Part of every digest: raise it when a run's figures change their meaning.
FORMAT = 1


@dataclass(frozen=True)
class Run:
    """One point of the grid."""

    trace: str
    profile: str
    seed: int
    digest: str  #: of all that its answer depends on; the names do not count


@dataclass(frozen=True)
class Grid:
    """All runs, and what they share. No file is read after it was made."""

    traces: dict[str, dict[str, Any]]  #: arguments of simulate()
    profiles: dict[str, str | None]  #: KubeSchedulerConfigurations as text
    options: dict[str, Any]  #: the other arguments of simulate()
    runs: list[Run]  #: traces outside, seeds inside


def make_grid(
    traces: Mapping[str, Mapping[str, Any]],
    profiles: Mapping[str, Any],
    seeds: Iterable[int],
    options: Mapping[str, Any],
) -> Grid:
    """Raises InvalidError, IoError or LimitExceededError naming the field and the value."""
    inputs = {
        name: _arguments(trace, TRACE, f"traces.{name}")
        for name, trace in _named(traces, "traces").items()
    }
    texts = {
        name: _profile(profile, f"profiles.{name}")
        for name, profile in _named(profiles, "profiles").items()
    }
    shared = _arguments(options, OPTIONS, "options")
    for name, trace in inputs.items():
        _check_together(trace, f"traces.{name}")
    if shared.get("autoscale") is None and shared.get("provision_seconds", 60) != 60:
        raise InvalidError("options.provision_seconds: of autoscale only")
    numbers = _seeds(seeds)
    count = len(inputs) * len(texts) * len(numbers)
    if count > RUNS_MAX:
        raise LimitExceededError(
            f"traces x profiles x seeds: {len(inputs)} x {len(texts)} x {len(numbers)} = "
            f"{count} runs, more than {RUNS_MAX}"
        )
    everywhere = [FORMAT, build(), _digest(shared)]
    of_trace = {name: _digest(trace) for name, trace in inputs.items()}
    of_profile = {name: _digest(text) for name, text in texts.items()}
    runs = [
        Run(
            trace, profile, seed, _digest([*everywhere, of_trace[trace], of_profile[profile], seed])
        )
        for trace in inputs
        for profile in texts
        for seed in numbers
    ]
    return Grid(inputs, texts, shared, runs)


def _check_together(trace: Mapping[str, Any], field: str) -> None:
    """What simulate() refuses, before any run."""
    made = trace.get("nodes") is not None
    if trace.get("repeat", 1) != 1 and (made or trace.get("cluster") is not None):
        raise InvalidError(f"{field}.repeat: of the openb trace only")
    if trace.get("elastic_quotas", 0) != 0 and not made:
        raise InvalidError(f"{field}.elastic_quotas: of a generated cluster only: give nodes")


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _named(values: Any, field: str) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise InvalidError(f"{field}: {values!r} is not a mapping of names")
    if not values:
        raise InvalidError(f"{field}: empty; there is nothing to run")
    for name in values:
        if not isinstance(name, str) or not name:
            raise InvalidError(f"{field}: {name!r} is not a name")
    return values


def _arguments(
    given: Any, known: Mapping[str, Callable[[Any, str], Any]], field: str
) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidError(f"{field}: {given!r} is not a mapping of {', '.join(known)}")
    for name in given:
        if name not in known:
            raise InvalidError(f"{field}: {name!r} is not known; known are {', '.join(known)}")
    return {name: known[name](value, f"{field}.{name}") for name, value in given.items()}


def _seeds(seeds: Any) -> list[int]:
    if isinstance(seeds, (str, bytes, Mapping)) or not isinstance(seeds, Iterable):
        raise InvalidError(f"seeds: {seeds!r} is not a list of whole numbers")
    numbers: list[int] = []
    for seed in seeds:  # may have no end
        if len(numbers) == RUNS_MAX:
            raise LimitExceededError(f"seeds: more than {RUNS_MAX}")
        numbers.append(_whole(seed, "seeds", SEED_MAX))
    if not numbers:
        raise InvalidError("seeds: empty; there is nothing to run")
    seen: set[int] = set()
    for seed in numbers:
        if seed in seen:
            raise InvalidError(f"seeds: {seed} is given twice")
        seen.add(seed)
    return numbers


def _whole(value: Any, field: str, most: int = WHOLE_MAX) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise InvalidError(f"{field}: {value!r} is not a whole number") from None
    if not 0 <= number <= most:
        raise InvalidError(f"{field}: {number} is not in [0, {most}]")
    return number


def _flag(value: Any, field: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidError(f"{field}: {value!r} is neither true nor false")
    return value


def _or_none(check: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    return lambda value, field: None if value is None else check(value, field)


def _file(path: os.PathLike[Any], field: str) -> str:
    name = os.fsdecode(path)
    try:
        return pathlib.Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidError(f"{field}: {name}: {error}") from None
    except OSError as error:
        raise IoError(f"{field}: {name}: {error.strerror}") from None


def _text(value: Any, field: str, kind: str | None = None) -> str:
    """The content of a path, text as it is, objects as JSON."""
    if isinstance(value, os.PathLike):
        return _file(value, field)
    try:
        if isinstance(value, bytes):
            return value.decode()
        return value if isinstance(value, str) else to_json(value, kind)
    except (TypeError, ValueError) as error:
        raise InvalidError(f"{field}: {error}") from None


def _objects(kind: str | None) -> Callable[[Any, str], list[str]]:
    def read(value: Any, field: str) -> list[str]:
        if isinstance(value, (list, tuple)) and any(
            isinstance(item, (os.PathLike, str, bytes)) for item in value
        ):
            return [_text(item, field, kind) for item in value]
        return [_text(value, field, kind)]

    return read


def _pods(value: Any, field: str) -> int | list[str]:
    return _whole(value, field) if hasattr(value, "__index__") else _objects("Pod")(value, field)


def _profile(value: Any, field: str) -> str | None:
    # Several objects are documents.
    is_text = value is None or isinstance(value, (str, bytes, os.PathLike))
    if value is None:
        return None
    text = _text(value, field)
    return text if is_text else text.replace("\n", "\n---\n")


TRACE: dict[str, Callable[[Any, str], Any]] = {
    "cluster": _or_none(_objects(None)),
    "pods": _or_none(_pods),
    "nodes": _or_none(_whole),
    "elastic_quotas": _whole,
    "repeat": _whole,
}
OPTIONS: dict[str, Callable[[Any, str], Any]] = {
    "departures": _flag,
    "metrics_every": _or_none(_whole),
    "preemption": _or_none(_flag),
    "autoscale": _or_none(_objects("Node")),
    "provision_seconds": _whole,
    "random_ties": _flag,
    "all_pods": _flag,
    "validate": _flag,
}
