"""What calls take."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

#: One Kubernetes object as json.loads gives it, or a list of them; a model of Kubernetes' Python
#: client; JSON or YAML text; a path (pathlib.Path), whose file is read.
ObjectsLike: TypeAlias = Any
#: A KubeSchedulerConfiguration: a dict, a list of documents, YAML text, or a path; None is the standard.
ProfileLike: TypeAlias = (
    "Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | bytes | os.PathLike[str] | None"
)
#: numpy, Arrow, a Series, or a sequence of ints.
NumbersLike: TypeAlias = "np.ndarray[Any, Any] | Sequence[int] | Any"
#: Arrow strings, a Series, or a sequence of str.
TextsLike: TypeAlias = "Sequence[str] | Any"
