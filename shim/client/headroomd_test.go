package client

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// waitMax is how long a test waits for what must come.
const waitMax = 20 * time.Second

// program finds headroomd or headroom: beside $HEADROOMD, or in a build of this tree.
func program(t testing.TB, name string) string {
	t.Helper()
	var places []string
	if path := os.Getenv("HEADROOMD"); path != "" {
		places = append(places, filepath.Join(filepath.Dir(path), name))
	}
	places = append(places, "../../build/release/bin/"+name, "../../build/me/bin/"+name)
	for _, place := range places {
		if _, err := os.Stat(place); err == nil {
			absolute, err := filepath.Abs(place)
			if err != nil {
				t.Fatal(err)
			}
			return absolute
		}
	}
	t.Skipf("no %s: set HEADROOMD to the path of headroomd, or build it (%v)", name, places)
	return ""
}

// daemon is a running headroomd.
type daemon struct {
	t       testing.TB
	path    string
	args    []string
	command *exec.Cmd
	address Address
	output  bytes.Buffer
}

func startHeadroomd(t testing.TB, args ...string) *daemon {
	t.Helper()
	path := program(t, "headroomd")
	// Paths of sockets are short.
	directory, err := os.MkdirTemp("", "headroom")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	socket := filepath.Join(directory, "s")
	d := &daemon{t: t, path: path, address: Address{"unix", socket}}
	d.args = append([]string{"--listen", d.address.String(), "--metrics", "none", "--log-level", "warning"}, args...)
	d.start()
	t.Cleanup(d.kill)
	return d
}

func (d *daemon) start() {
	d.t.Helper()
	d.command = exec.Command(d.path, d.args...)
	d.command.Stdout, d.command.Stderr = &d.output, &d.output
	if err := d.command.Start(); err != nil {
		d.t.Fatal(err)
	}
	eventually(d.t, "headroomd listens", func() bool {
		connection, err := net.Dial(d.address.Network, d.address.Path)
		if err == nil {
			connection.Close()
		}
		return err == nil
	})
}

func (d *daemon) kill() {
	d.command.Process.Kill()
	d.command.Wait()
	if d.t.Failed() && d.output.Len() > 0 {
		d.t.Logf("headroomd: %s", d.output.String())
		d.output.Reset()
	}
}

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitMax); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", waitMax, what)
		}
	}
}

// newClient is one that waits long enough for a loaded machine.
func newClient(t testing.TB, address Address, options Options) *Client {
	if options.Timeout == 0 {
		options.Timeout = waitMax
	}
	c := New(address, options)
	t.Cleanup(func() { c.Close() })
	return c
}

// run runs the feeder until the test ends or stop is called.
func run(t testing.TB, f *Feeder) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.Run(ctx)
	}()
	stop = func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(waitMax):
			t.Error("Run did not return")
		}
	}
	t.Cleanup(stop)
	return stop
}
