package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// childCommand is the subcommand that measures one row: a specification on standard input, the result on
// standard output. Each row has a process of its own, so that none inherits another's heap, and so that
// processors can be taken from it and its headroomd.
const childCommand = "row"

// inChild measures the row in a process that has so many processors; 0: all.
func inChild(ctx context.Context, spec rowSpec, processors int) (rowResult, error) {
	var result rowResult
	program, err := os.Executable()
	if err != nil {
		return result, err
	}
	given, err := json.Marshal(spec)
	if err != nil {
		return result, err
	}
	command := exec.CommandContext(ctx, program, childCommand)
	var out bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(given), &out, os.Stderr
	if err := startOn(command, processors); err != nil {
		return result, err
	}
	if err := command.Wait(); err != nil {
		return result, fmt.Errorf("row %+v: %w", spec, err)
	}
	return result, json.Unmarshal(out.Bytes(), &result)
}

// startOn starts a process on the first so many of the processors that this one may use; 0: on all.
func startOn(command *exec.Cmd, processors int) error {
	if processors == 0 {
		return command.Start()
	}
	// A child inherits the processors of the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, some unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	if processors > all.Count() {
		return fmt.Errorf("cores: %d asked for, %d are there", processors, all.Count())
	}
	for cpu := 0; some.Count() < processors; cpu++ {
		if all.IsSet(cpu) {
			some.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &some); err != nil {
		return err
	}
	startErr := command.Start()
	if err := unix.SchedSetaffinity(0, &all); err != nil {
		return err
	}
	return startErr
}

// runChild is the other side.
func runChild(ctx context.Context) error {
	var spec rowSpec
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		return err
	}
	result, err := measure(ctx, spec)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}
