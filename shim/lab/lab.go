// Package lab starts and stops a real control plane for tests and benchmarks: etcd, kube-apiserver, a
// kube-scheduler (stock, or the one with Headroom in it) and headroomd, each a child process in a
// temporary directory on loopback ports that were free.
//
//	l := lab.ForTest(t)                    // skips where the programs are not built; ends all with the test
//	plane := must(l.StartControlPlane(ctx))
//	daemon := must(l.StartHeadroomd(ctx, lab.HeadroomdOptions{Profile: ...}))
//	scheduler := must(l.StartScheduler(ctx, plane, lab.SchedulerOptions{Config: ...}))
//
// Nothing outlives the process that started it, also where that is killed (Linux: the parent-death
// signal). All errors of a process that does not become ready end with the tail of its log.
//
// Thread safety: all of it, unless a type says otherwise.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// memoryDirectory is where etcd keeps its data where it exists: no disk is waited for.
const memoryDirectory = "/dev/shm"

// Lab is a directory and the processes that run in it.
type Lab struct {
	Binaries Binaries
	// Directory holds configurations, certificates, sockets and logs. Its path is short, so that a
	// socket's path fits.
	Directory string
	Data      string // a directory for etcd's data

	keep bool

	mutex     sync.Mutex
	processes []*Process // in the order of their start
	serial    int
}

// New makes an empty lab. Whoever made it must Close it. The error is ErrMissing where a program is
// not built.
func New() (*Lab, error) {
	binaries, err := FindBinaries()
	if err != nil {
		return nil, err
	}
	directory, err := os.MkdirTemp("", "headroom-lab-")
	if err != nil {
		return nil, err
	}
	parent := directory
	if stat, err := os.Stat(memoryDirectory); err == nil && stat.IsDir() {
		parent = memoryDirectory
	}
	data, err := os.MkdirTemp(parent, "headroom-lab-")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(directory))
	}
	return &Lab{Binaries: binaries, Directory: directory, Data: data,
		keep: os.Getenv(keepVariable) != ""}, nil
}

// keepVariable, where set, leaves configurations and logs behind for a look.
const keepVariable = "HEADROOM_LAB_KEEP"

// ForTest is New for one test: skips it where a program is not built, closes the lab at its end, and
// where the test failed shows the tail of every log.
func ForTest(t testing.TB) *Lab {
	t.Helper()
	l, err := New()
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(l.Logs())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// StartProgram starts any other program, in a directory of its own, and waits until ready is nil; a ready of nil: not
// at all.
func (l *Lab) StartProgram(ctx context.Context, name, path string, args []string, ready func(context.Context) error) (*Process, error) {
	directory, unique, err := l.directory(name)
	if err != nil {
		return nil, err
	}
	process := newProcess(directory, unique, path, args, ready)
	l.own(process)
	return process, process.Start(ctx)
}

// Close ends all processes, the last started first, and removes what they wrote.
func (l *Lab) Close() error {
	l.mutex.Lock()
	processes := l.processes
	l.processes = nil
	l.mutex.Unlock()
	for i := len(processes) - 1; i >= 0; i-- {
		processes[i].Kill()
	}
	if l.keep {
		fmt.Fprintln(os.Stderr, "lab: kept", l.Directory)
		return os.RemoveAll(l.Data)
	}
	return errors.Join(os.RemoveAll(l.Data), os.RemoveAll(l.Directory))
}

// Logs is the tail of every process's log.
func (l *Lab) Logs() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var text string
	for _, p := range l.processes {
		text += p.LogTail()
	}
	return text
}

// Process that was started under that name, or nil.
func (l *Lab) Process(name string) *Process {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, p := range l.processes {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func (l *Lab) own(p *Process) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.processes = append(l.processes, p)
}

// forget ends a process and takes it off the list, with its logs.
func (l *Lab) forget(p *Process) {
	p.Kill()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i, other := range l.processes {
		if other == p {
			l.processes = append(l.processes[:i], l.processes[i+1:]...)
			return
		}
	}
}

// directory makes one of its own: NAME-NUMBER.
func (l *Lab) directory(name string) (path, unique string, err error) {
	l.mutex.Lock()
	l.serial++
	unique = fmt.Sprintf("%s-%d", name, l.serial)
	l.mutex.Unlock()
	path = filepath.Join(l.Directory, unique)
	return path, unique, os.Mkdir(path, 0o700)
}
