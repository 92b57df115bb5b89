package client

import (
	"context"

	"headroom.dev/shim/wire"
)

// exchange is ask, and the reading of its reply.
func exchange[T any](ctx context.Context, c *Client, expected wire.Body, build request,
	read func(from *call) (T, error)) (T, error) {
	answered, err := c.ask(ctx, expected, build)
	if err != nil {
		var none T
		return none, err
	}
	answer, err := read(answered)
	return answer, c.end(answered, err)
}
