package client

import (
	"fmt"
	"strconv"
	"time"
)

// customFields reads the JSON of a custom resource. The first field of a wrong type is kept as the error,
// with the path to it; what follows reads as absent. Absent and null are alike.
type customFields struct{ err error }

func (c *customFields) wrong(path string, value any, expected string) {
	if c.err == nil {
		c.err = fmt.Errorf("%s: %v is not %s", path, value, expected)
	}
}

// object is nil where absent.
func (c *customFields) object(path string, value any) map[string]any {
	if value == nil {
		return nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		c.wrong(path, value, "an object")
	}
	return object
}

func (c *customFields) list(path string, value any) []any {
	if value == nil {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		c.wrong(path, value, "a list")
	}
	return list
}

func (c *customFields) text(path string, value any) string {
	if value == nil {
		return ""
	}
	text, ok := value.(string)
	if !ok {
		c.wrong(path, value, "a string")
	}
	return text
}

func (c *customFields) integer(path string, value any) int64 {
	switch number := value.(type) {
	case nil:
		return 0
	case int64:
		return number
	case float64:
		if whole := int64(number); float64(whole) == number {
			return whole
		}
	}
	c.wrong(path, value, "an integer")
	return 0
}

// quantity is the text of a quantity, which JSON may have as a number, too.
func (c *customFields) quantity(path string, value any) string {
	switch quantity := value.(type) {
	case nil:
		return "0"
	case string:
		return quantity
	case int64:
		return strconv.FormatInt(quantity, 10)
	case float64:
		return strconv.FormatFloat(quantity, 'f', -1, 64)
	}
	c.wrong(path, value, "a quantity")
	return "0"
}

// timestamp is in microseconds since the Unix epoch; 0: none.
func (c *customFields) timestamp(path string, value any) int64 {
	text := c.text(path, value)
	if text == "" {
		return 0
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		c.wrong(path, value, "a time like 2026-01-01T00:00:00Z")
		return 0
	}
	if parsed.IsZero() {
		return 0
	}
	return parsed.UnixMicro()
}

// duration is in microseconds.
func (c *customFields) duration(path string, value any) int64 {
	text := c.text(path, value)
	if text == "" {
		return 0
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		c.wrong(path, value, "a duration like 5m0s")
		return 0
	}
	return parsed.Microseconds()
}
