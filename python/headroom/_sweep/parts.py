"""The finished runs of a sweep, a file each: what continuing starts from.

A part is named after the digest of all that its run depends on, so a run whose input changed has
another one, and several sweeps may share a directory, also at the same time. It is JSON below a
checksum: written whole or not at all, and known when it is damaged.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib
import warnings

from headroom._sweep.run import Outcome
from headroom._whole_file import failed, write_whole


class Parts:
    """A directory of parts; makes it."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise failed("out", directory, error) from None

    def write(self, digest: str, outcome: Outcome) -> None:
        body = json.dumps(dataclasses.asdict(outcome), allow_nan=False).encode()
        write_whole("out", self._path(digest), _checksum(digest, body) + b"\n" + body + b"\n")

    def read(self, digest: str) -> Outcome | None:
        """None: not there, or damaged, which warns."""
        try:
            content = self._path(digest).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failed("out", self._path(digest), error) from None
        checksum, _, body = content.removesuffix(b"\n").partition(b"\n")
        if checksum != _checksum(digest, body):
            warnings.warn(f"{self._path(digest)} is damaged: its run is done anew", stacklevel=4)
            return None
        return Outcome(**json.loads(body))

    def _path(self, digest: str) -> pathlib.Path:
        return self._directory / f"{digest}.json"


def _checksum(digest: str, body: bytes) -> bytes:
    return hashlib.sha256(digest.encode() + body).hexdigest().encode()
