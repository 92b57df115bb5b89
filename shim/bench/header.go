package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// header names what every number depends on.
type header struct {
	Machine    string `json:"machine"`
	Cores      int    `json:"cores"`
	Go         string `json:"go"`
	Kubernetes string `json:"kubernetes"`
	Seed       uint64 `json:"seed"`
	When       string `json:"when"`
	Load       string `json:"load"` // of the machine, when it began
}

func newHeader(seed uint64) header {
	h := header{Machine: "unknown processor", Cores: runtime.NumCPU(), Go: runtime.Version(),
		Kubernetes: "unknown", Seed: seed, When: time.Now().UTC().Format(time.RFC3339)}
	if file, err := os.Open("/proc/cpuinfo"); err == nil {
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if name, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(name) == "model name" {
				h.Machine = strings.TrimSpace(value)
				break
			}
		}
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		h.Load, _, _ = strings.Cut(string(load), " ")
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "k8s.io/kubernetes" {
				h.Kubernetes = strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return h
}

func (h header) String() string {
	return fmt.Sprintf("%s, %d cores, %s, Kubernetes %s, seed %d, %s, load %s", h.Machine, h.Cores, h.Go,
		h.Kubernetes, h.Seed, h.When, h.Load)
}
