package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// ReadyPatience is how long a process has to become ready. It takes 3 s on an idle machine.
	ReadyPatience = 90 * time.Second
	// StopPatience is how long a process has to end after SIGTERM.
	StopPatience = 20 * time.Second

	readyInterval = 20 * time.Millisecond
	// LogTailBytes of a log are shown when something fails.
	LogTailBytes = 6 << 10
)

// Process is one child: its command line stays the same when it is started again.
type Process struct {
	Name    string // unique in its lab
	LogPath string // stdout and stderr of all its lives

	path  string
	args  []string
	ready func(context.Context) error // nil: it is ready at once
	// Added to this program's own.
	environment []string

	mutex  sync.Mutex
	state  *child // the last that was started
	starts int
}

// child is one life of a process.
type child struct {
	command *exec.Cmd
	ended   chan struct{} // closed when it was waited for; then err is set
	err     error
}

func newProcess(directory, name, path string, args []string, ready func(context.Context) error) *Process {
	return &Process{Name: name, LogPath: filepath.Join(directory, name+".log"), path: path, args: args, ready: ready}
}

// starter runs on a thread that lives as long as the program: the parent-death signal is sent when the
// thread ends that started the child, and Go ends threads.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for task := range work {
			task()
		}
	}()
	return work
})

// Start starts it and waits until it is ready. An error ends it and shows its log.
func (p *Process) Start(ctx context.Context) error {
	if err := p.launch(); err != nil {
		return fmt.Errorf("lab: %s: %w", p.Name, err)
	}
	if err := p.AwaitReady(ctx); err != nil {
		p.Kill()
		return err
	}
	return nil
}

func (p *Process) launch() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.state != nil && !p.state.over() {
		return errors.New("it runs already")
	}
	log, err := os.OpenFile(p.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.starts++
	fmt.Fprintf(log, "--- start %d: %s %q\n", p.starts, p.path, p.args)
	command := exec.Command(p.path, p.args...)
	command.Stdout, command.Stderr = log, log
	command.Dir = filepath.Dir(p.LogPath)
	command.Env = append(os.Environ(), p.environment...)
	command.SysProcAttr = endWithParent()
	started := make(chan error)
	starter() <- func() { started <- command.Start() }
	if err := <-started; err != nil {
		return err
	}
	now := &child{command: command, ended: make(chan struct{})}
	go func() {
		now.err = command.Wait()
		close(now.ended)
	}()
	p.state = now
	return nil
}

func (c *child) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

func (p *Process) current() *child {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.state
}

// AwaitReady waits until it answers that it is ready: up to ReadyPatience, or ctx's deadline.
func (p *Process) AwaitReady(ctx context.Context) error {
	if p.ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ReadyPatience)
	defer cancel()
	now := p.current()
	if now == nil {
		return fmt.Errorf("lab: %s was never started", p.Name)
	}
	for {
		last := p.ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-now.ended:
			return fmt.Errorf("lab: %s ended before it was ready: %v\n%s", p.Name, now.err, p.LogTail())
		case <-ctx.Done():
			return fmt.Errorf("lab: %s is not ready in time: %w\n%s", p.Name, last, p.LogTail())
		case <-time.After(readyInterval):
		}
	}
}

// Running is true from its start until it ended.
func (p *Process) Running() bool {
	now := p.current()
	return now != nil && !now.over()
}

// Pid of the last that was started; 0: none.
func (p *Process) Pid() int {
	if now := p.current(); now != nil {
		return now.command.Process.Pid
	}
	return 0
}

// Kill ends it with SIGKILL and waits for that. One that is not running stays so.
func (p *Process) Kill() {
	if now := p.current(); now != nil {
		// The only error is that it has ended.
		_ = now.command.Process.Kill()
		<-now.ended
	}
}

// Stop asks it to end with SIGTERM. It is an error when it had to be killed.
func (p *Process) Stop() error {
	now := p.current()
	if now == nil || now.over() {
		return nil
	}
	if err := now.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-now.ended:
		return nil
	case <-time.After(StopPatience):
		p.Kill()
		return fmt.Errorf("lab: %s did not end in %v after SIGTERM\n%s", p.Name, StopPatience, p.LogTail())
	}
}

// ExitCode of its last life; -1: it runs, or a signal ended it.
func (p *Process) ExitCode() int {
	now := p.current()
	if now == nil || !now.over() {
		return -1
	}
	return now.command.ProcessState.ExitCode()
}

// Restart kills it where it runs, starts it again and waits until it is ready.
func (p *Process) Restart(ctx context.Context) error {
	p.Kill()
	return p.Start(ctx)
}

// LogTail is the end of its log with its name above.
func (p *Process) LogTail() string {
	text, err := tail(p.LogPath)
	if err != nil {
		text = err.Error()
	}
	return fmt.Sprintf("=== log of %s (pid %d)\n%s\n", p.Name, p.Pid(), text)
}

func tail(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return "", err
	}
	from := max(0, stat.Size()-LogTailBytes)
	text, err := io.ReadAll(io.NewSectionReader(file, from, stat.Size()-from))
	if from > 0 {
		if _, after, found := bytes.Cut(text, []byte("\n")); found {
			text = append([]byte("...\n"), after...)
		}
	}
	return string(bytes.TrimSpace(text)), err
}

// Log is all that it has written.
func (p *Process) Log() (string, error) {
	text, err := os.ReadFile(p.LogPath)
	return string(text), err
}
