package lab

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
)

const (
	lowestPort = 10_000
	// Where Linux starts to give ports to outgoing connections, unless it says otherwise.
	usualEphemeralPort = 32_768
	portTries          = 1_000
)

// freePort is a loopback port that nothing listens on. It lies below those that the kernel gives to
// outgoing connections, so that it is still free when a server that was killed comes back.
func freePort() (int, error) {
	end := usualEphemeralPort
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		var low int
		if _, err := fmt.Sscan(string(text), &low); err == nil && low > lowestPort {
			end = low
		}
	}
	for range portTries {
		port := lowestPort + rand.IntN(end-lowestPort)
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		return port, listener.Close()
	}
	return 0, errors.New("lab: no free loopback port")
}

// freePorts are n different ones.
func freePorts(n int) ([]int, error) {
	taken := map[int]bool{}
	var ports []int
	for len(ports) < n {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		if !taken[port] {
			taken[port] = true
			ports = append(ports, port)
		}
	}
	return ports, nil
}
