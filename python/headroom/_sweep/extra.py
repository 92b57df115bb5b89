"""The packages of the extra headroom[sweep], imported when they are first needed."""

from __future__ import annotations

import importlib
from typing import Any


def need(module: str) -> Any:
    """The module; ImportError with what to install where there is none."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        hint = "; or take workers=0, which needs no Ray" if module == "ray" else ""
        raise ImportError(
            f"a sweep needs {module}, which the extra headroom[sweep] installs{hint}", name=module
        ) from error
