"""Trying changes, and taking them back."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Fork:
    """Open from fork() on; the end of `with` takes back what happened since, unless commit() came."""

    def __init__(self, owner: Any) -> None:
        owner._fork()
        self._owner = owner

    def commit(self) -> None:
        """Keeps what happened since fork()."""
        self._end("_commit")

    def rollback(self) -> None:
        """Takes back what happened since fork()."""
        self._end("_rollback")

    def _end(self, how: str) -> None:
        if self._owner is None:
            raise RuntimeError("the fork has ended")
        owner, self._owner = self._owner, None
        getattr(owner, how)()

    def __enter__(self) -> Fork:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._owner is not None:
            self.rollback()
