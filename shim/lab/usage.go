package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Clock ticks of /proc are USER_HZ, 100 a second on every architecture that Go runs on.
const tick = time.Second / 100

// Usage is what the process's last life has taken so far.
type Usage struct {
	CPU     time.Duration // user and system
	PeakRSS int64         // bytes
}

// Usage reads /proc (Linux). After the end of the process it is an error: measure before.
func (p *Process) Usage() (Usage, error) {
	cpu, err := cpuOf(p.Pid())
	if err != nil {
		return Usage{}, fmt.Errorf("lab: usage of %s: %w", p.Name, err)
	}
	peak, err := peakOf(p.Pid())
	if err != nil {
		return Usage{}, fmt.Errorf("lab: usage of %s: %w", p.Name, err)
	}
	return Usage{CPU: cpu, PeakRSS: peak}, nil
}

func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses, which may hold blanks; utime and stime are
	// fields 14 and 15.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields)+2)
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

func peakOf(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no VmHWM: it has ended", pid)
}
