package dev.headroom.cloudsim;

/** A call that Headroom refused: its status and the engine's own text. Nothing has changed. */
public final class HeadroomException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** headroom_status, without HEADROOM_OK. */
    public enum Status {
        INVALID, NOT_FOUND, CONFLICT, LIMIT_EXCEEDED, UNSUPPORTED, IO, NO_MEMORY, INTERNAL;

        static Status of(final int code) {
            return code >= 1 && code <= values().length ? values()[code - 1] : INTERNAL;
        }
    }

    private final Status status;

    HeadroomException(final int code, final String text) {
        super(Status.of(code) + ": " + text);
        status = Status.of(code);
    }

    public Status status() {
        return status;
    }
}
