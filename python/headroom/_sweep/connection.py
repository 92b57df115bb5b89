"""The Ray that a sweep runs on."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

from headroom._errors import InvalidError, IoError

# Ray gives up a start after 30 s, as happens on a busy machine, and has no option for that.
STARTS_MAX = 3
CONNECT_SECONDS_MAX = 10


@contextlib.contextmanager
def connected(ray: Any, workers: int | None, address: str | None) -> Iterator[None]:
    """The Ray that the caller has started, which stays; or one of our own, which goes.

    Raises InvalidError or IoError where there is none to be had.
    """
    if address is None and ray.is_initialized():
        yield
        return
    if address is None:
        start(ray, num_cpus=workers)
    else:
        _reach(address)
        _init(ray, address, {})
    try:
        yield
    finally:
        ray.shutdown()


def start(ray: Any, **arguments: Any) -> None:
    """A Ray on this machine."""
    for attempt in range(1, STARTS_MAX + 1):
        try:
            return _init(ray, "local", {"include_dashboard": False, **arguments})
        except IoError:
            ray.shutdown()
            if attempt == STARTS_MAX:
                raise


def _init(ray: Any, address: str, arguments: dict[str, Any]) -> None:
    try:
        ray.init(address, log_to_driver=False, logging_level="ERROR", **arguments)
    except Exception as error:  # Ray raises all kinds, Exception itself among them
        raise IoError(f"address: {address}: {error}") from error


def _reach(address: str) -> None:
    """Raises IoError where nobody listens: Ray itself tries for many minutes. Other addresses than
    [ray://]HOST:PORT are left to Ray."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host:
        return
    if not port.isdecimal():
        raise InvalidError(f"address: {address!r}: {port!r} is not a port")
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS_MAX).close()
    except (OSError, OverflowError) as error:
        raise IoError(f"address: {address}: {error}") from None
