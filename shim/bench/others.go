package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// busy is the time that the machine's processors have spent on anything, and all their time so far. A
// row tells by it what others did meanwhile, because that is what its times depend on most.
func busy() (spent, all time.Duration, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	// cpu user nice system idle iowait irq softirq steal; guests are in user and nice.
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	const tick = 10 * time.Millisecond
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/stat: %w", err)
		}
		all += time.Duration(ticks) * tick
		if i != 3 && i != 4 {
			spent += time.Duration(ticks) * tick
		}
	}
	return spent, all, nil
}
