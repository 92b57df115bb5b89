"""The exceptions, one for each code of the engine's errors."""


class Error(Exception):
    """What the engine refuses. The text names the field and the value; nothing was half applied."""

    #: "Invalid", "NotFound", "Conflict", "LimitExceeded", "Unsupported", "Io" or "Internal"
    code = ""


class InvalidError(Error, ValueError):
    """A value that cannot be used."""

    code = "Invalid"


class NotFoundError(Error, LookupError):
    """A node, pod or resource that is not known."""

    code = "NotFound"


class ConflictError(Error, ValueError):
    """The call contradicts the current facts."""

    code = "Conflict"


class LimitExceededError(Error, ValueError):
    """Over a named limit."""

    code = "LimitExceeded"


class UnsupportedError(Error, ValueError):
    """Something that Headroom does not do; the text says what it accepts."""

    code = "Unsupported"


class IoError(Error, OSError):
    """The operating system refused; the text holds its words."""

    code = "Io"


class InternalError(Error, RuntimeError):
    """A fault of the engine's own, as ``validate()`` finds it; the text says where."""

    code = "Internal"


BY_CODE = {
    kind.code: kind
    for kind in (
        InvalidError,
        NotFoundError,
        ConflictError,
        LimitExceededError,
        UnsupportedError,
        IoError,
        InternalError,
    )
}
