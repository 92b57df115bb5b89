"""A sweep's arguments as a YAML file."""

from __future__ import annotations

import pathlib
from typing import Any

from headroom._errors import InvalidError, IoError, LimitExceededError
from headroom._sweep.extra import need
from headroom._sweep.grid import OPTIONS, RUNS_MAX

_REQUIRED = ("traces", "profiles", "seeds", "out")
_KNOWN = (*_REQUIRED, "options", "workers", "address")


def read_config(path: pathlib.Path) -> dict[str, Any]:
    """The arguments of sweep(). Relative paths start at the file's directory.

    Raises InvalidError, IoError or LimitExceededError naming the field; what sweep() itself checks is
    left to it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidError(f"{path}: {error}") from None
    except OSError as error:
        raise IoError(f"{path}: {error.strerror}") from None
    config = _parse(text, path)
    if not isinstance(config, dict):
        raise InvalidError(f"{path}: not a mapping of {', '.join(_KNOWN)}")
    for name in config:
        if name not in _KNOWN:
            raise InvalidError(f"{name!r} is not known; known are {', '.join(_KNOWN)}")
    for name in _REQUIRED:
        if name not in config:
            raise InvalidError(f"{name}: missing")
    options = config.pop("options", {})
    if not isinstance(options, dict):
        raise InvalidError(f"options: {options!r} is not a mapping")
    for name in options:
        if name not in OPTIONS:
            raise InvalidError(f"options: {name!r} is not known; known are {', '.join(OPTIONS)}")
    for name in ("out", "address"):
        if not isinstance(config.get(name, ""), str):
            raise InvalidError(f"{name}: {config[name]!r} is not a text")
    at = path.parent
    return {
        **config,
        "traces": _each(config["traces"], lambda trace: _files(trace, ("cluster", "pods"), at)),
        "profiles": _each(config["profiles"], lambda profile: _path(profile, at)),
        "seeds": _seeds(config["seeds"]),
        "out": at / config["out"],
        **_files(options, ("autoscale",), at),
    }


def _parse(text: str, path: pathlib.Path) -> Any:
    yaml = need("yaml")

    class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
        """Refuses what YAML forbids and PyYAML overwrites: a key that is there twice."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            keys = [key for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
            for key in keys:
                if not isinstance(key, yaml.ScalarNode):
                    continue  # of no use as a name, which sweep() says
                if (key.tag, key.value) in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"{key.value!r} is given twice", problem_mark=key.start_mark
                    )
                seen.add((key.tag, key.value))
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise InvalidError(f"{path}: {error}") from None


def _each(values: Any, change: Any) -> Any:
    """What is not a mapping is left to sweep(), which says so."""
    if not isinstance(values, dict):
        return values
    return {name: change(value) for name, value in values.items()}


def _path(value: Any, at: pathlib.Path) -> Any:
    """Text is a path; a list may have several; all else stays."""
    if isinstance(value, list):
        return [_path(item, at) for item in value]
    return at / value if isinstance(value, str) else value


def _files(values: Any, names: tuple[str, ...], at: pathlib.Path) -> Any:
    if not isinstance(values, dict):
        return values
    return {key: _path(value, at) if key in names else value for key, value in values.items()}


def _seeds(seeds: Any) -> Any:
    """A list; or {from, count}."""
    if not isinstance(seeds, dict):
        return seeds
    if set(seeds) != {"from", "count"}:
        raise InvalidError(f"seeds: {seeds!r} is neither a list nor {{from: FIRST, count: NUMBER}}")
    for name, value in seeds.items():
        if type(value) is not int or value < 0:
            raise InvalidError(f"seeds.{name}: {value!r} is not a whole number")
    if seeds["count"] > RUNS_MAX:
        raise LimitExceededError(f"seeds.count: {seeds['count']} is more than {RUNS_MAX}")
    return range(seeds["from"], seeds["from"] + seeds["count"])
