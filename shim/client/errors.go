package client

import (
	"context"
	"errors"
	"fmt"

	"headroom.dev/shim/wire"
)

// ErrUnavailable is what errors.Is finds where there was no connection, it was lost, or no answer came in
// time. The error that wraps it says why.
var ErrUnavailable = errors.New("headroomd is unavailable")

// errGone: the server closed the connection.
var errGone = errors.New("the connection was closed")

// ServerError is what the server answered: an Error frame, or a refused reservation.
type ServerError struct {
	Code    wire.ErrorCode
	Message string
}

func (e *ServerError) Error() string {
	return fmt.Sprintf("headroomd refused: %s: %s", e.Code, e.Message)
}

// unavailable wraps a cause; one that is a caller's own cancellation is no fault of the server.
func unavailable(address Address, cause error) error {
	if errors.Is(cause, ErrUnavailable) || errors.Is(cause, context.Canceled) {
		return cause
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, address, cause)
}
