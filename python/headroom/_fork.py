"""Trying changes, and taking them back."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Fork:
    """Open from fork() on; the end of `with` takes back what happened since, unless commit() came."""

    def __init__(self, owner: Any) -> None:
        self._depth = owner._fork()
        self._owner = owner

    def commit(self) -> None:
        """Keeps what happened since fork(). RuntimeError: a fork inside it is open, or it has ended."""
        self._end(keep=True)

    def rollback(self) -> None:
        """Takes back what happened since fork(). RuntimeError: as with commit()."""
        self._end(keep=False)

    def _end(self, *, keep: bool) -> None:
        if self._owner is None:
            raise RuntimeError("the fork has ended")
        if not self._owner._end_fork(self._depth, keep):
            raise RuntimeError("a fork inside this one is open: forks end in the order of `with`")
        self._owner = None

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
