package client

import (
	"fmt"
	"net/netip"
	"strings"
)

const (
	unixPrefix = "unix://"
	tcpPrefix  = "tcp://"
	tlsPrefix  = "tls://"
	// Of a Unix socket's path: sockaddr_un has 108, one of them the zero at its end.
	pathBytesMax = 107
)

// Address is where a headroomd listens.
type Address struct {
	Network string // "unix" or "tcp"
	Path    string // of the socket, or ADDRESS:PORT
}

// ParseAddress reads "unix:///PATH" or "tcp://ADDRESS:PORT", where the address is a loopback one and not a
// name: headroomd takes TCP without TLS on those only, and the shim speaks no TLS.
func ParseAddress(text string) (Address, error) {
	if path, ok := strings.CutPrefix(text, unixPrefix); ok {
		if !strings.HasPrefix(path, "/") || len(path) > pathBytesMax {
			return Address{}, fmt.Errorf("address %q: the socket's path begins with / and has at most %d bytes",
				text, pathBytesMax)
		}
		return Address{Network: "unix", Path: path}, nil
	}
	path, ok := strings.CutPrefix(text, tcpPrefix)
	if !ok {
		if strings.HasPrefix(text, tlsPrefix) {
			return Address{}, fmt.Errorf("address %q: TLS is not supported here; use unix:///PATH of a headroomd on "+
				"the same machine", text)
		}
		return Address{}, fmt.Errorf("address %q: accepted are unix:///PATH and tcp://ADDRESS:PORT", text)
	}
	endpoint, err := netip.ParseAddrPort(path)
	if err != nil {
		return Address{}, fmt.Errorf("address %q: %q is not ADDRESS:PORT, as in 127.0.0.1:8611 or [::1]:8611",
			text, path)
	}
	if !endpoint.Addr().IsLoopback() {
		return Address{}, fmt.Errorf("address %q: headroomd takes TCP on other than loopback addresses with TLS "+
			"only, which is not supported here", text)
	}
	return Address{Network: "tcp", Path: path}, nil
}

// String is the text that ParseAddress reads.
func (a Address) String() string { return a.Network + "://" + a.Path }
