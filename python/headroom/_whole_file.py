"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import pathlib
import uuid

from headroom._errors import IoError


def failed(field: str, path: str | os.PathLike[str], error: OSError) -> IoError:
    """What the system says of the path that the field names."""
    return IoError(f"{field}: {os.fspath(path)}: {error.strerror}")


def write_whole(field: str, path: str | os.PathLike[str], content: bytes) -> None:
    """All of it or none, whatever happens to this process or the machine; IoError names the field."""
    place = pathlib.Path(path)
    scratch = place.with_name(f"{place.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(scratch, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, place)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise failed(field, path, error) from None
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
