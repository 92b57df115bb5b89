package client

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"
	"golang.org/x/sys/unix"

	"headroom.dev/shim/wire"
)

// BenchmarkFeed feeds 20,000 nodes and 200,000 pods until the server decides on them.
func BenchmarkFeed(b *testing.B) {
	d := startHeadroomd(b)
	nodes, pods := newStore(manyNodes(20_000)...), newStore(manyPods(200_000, 20_000)...)
	b.ReportAllocs()
	for b.Loop() {
		applied := make(chan Stats, 64)
		f := NewFeeder(d.address, FeederOptions{OnApplied: func(stats Stats) { applied <- stats }})
		f.SetStore(Nodes, nodes)
		f.SetStore(Pods, pods)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { f.Run(ctx); close(ended) }()
		if stats := <-applied; !stats.Ready || stats.Nodes != 20_000 || stats.Pods != 200_000 {
			b.Errorf("%+v", stats)
		}
		cancel()
		<-ended
	}
}

// BenchmarkMark is what a changed object costs an informer's goroutine.
func BenchmarkMark(b *testing.B) {
	f := NewFeeder(Address{}, FeederOptions{})
	f.feeding = true
	keys := make([]string, 1<<14)
	for i := range keys {
		keys[i] = fmt.Sprintf("team-a/pod-%d", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		f.Mark(Pods, keys[i%len(keys)])
	}
}

// BenchmarkEvaluate asks a headroomd of 50,000 nodes for a warm decision, in turns with an echo server whose
// frames have the same sizes, so that both see the same machine.
func BenchmarkEvaluate(b *testing.B) {
	for _, topK := range []int{1, 16} {
		b.Run(fmt.Sprintf("top_k=%d", topK), func(b *testing.B) { benchmarkEvaluate(b, topK) })
	}
}

func benchmarkEvaluate(b *testing.B, topK int) {
	const nodes, turn = 50_000, 256
	d := fed(b, newStore(manyNodes(nodes)...), newStore(manyPods(1000, nodes)...))
	c := newClient(b, d.address, Options{})
	ctx := context.Background()
	pod := testPod("p", "1500m", "")
	options := EvaluateOptions{TopK: topK}
	var decision Decision
	evaluate := func() {
		if err := c.Evaluate(ctx, pod, options, &decision); err != nil || len(decision.Candidates) != topK {
			b.Fatalf("%+v, error %v", decision, err)
		}
	}
	evaluate()
	answered, err := c.ask(ctx, wire.BodyEvaluated, func(e *encoder) (wire.Body, flatbuffers.UOffsetT) {
		mark := e.mark()
		e.push(e.podRef(pod))
		return encodeEvaluate(e, e.vector(mark), options)
	})
	if err != nil {
		b.Fatal(err)
	}
	request := len(c.encoder.b.FinishedBytes())
	echo := startEcho(b, request, len(answered.reply))
	for range 2000 {
		evaluate()
		echo.ask(b)
	}
	var own, echoed []time.Duration
	b.ReportAllocs()
	// In blocks: a server that has to wait for the other's turn sleeps.
	for asked := 0; b.Loop(); asked++ {
		begin := time.Now()
		if asked/turn%2 == 0 {
			evaluate()
			own = append(own, time.Since(begin))
		} else {
			echo.ask(b)
			echoed = append(echoed, time.Since(begin))
		}
	}
	report := func(name string, took []time.Duration) {
		if len(took) == 0 {
			return
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, name+"-p50-us")
		b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, name+"-p99-us")
	}
	report("evaluate", own)
	report("echo", echoed)
}

// echo is a server that answers frames of one size with frames of another, in a process of its own (this
// test binary), and polls as headroomd does.
type echo struct {
	socket  *socket
	request []byte
	reply   []byte
}

const echoVariable = "HEADROOM_TEST_ECHO"

func TestMain(m *testing.M) {
	if path := os.Getenv(echoVariable); path != "" {
		serveEcho(path)
		return
	}
	os.Exit(m.Run())
}

func startEcho(b *testing.B, request, reply int) *echo {
	b.Helper()
	path := filepath.Join(b.TempDir(), "echo")
	if len(path) > pathBytesMax {
		directory, err := os.MkdirTemp("", "headroom")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { os.RemoveAll(directory) })
		path = filepath.Join(directory, "e")
	}
	process, err := os.StartProcess("/proc/self/exe", []string{"echo"}, &os.ProcAttr{
		Env: append(os.Environ(), echoVariable+"="+path), Files: []*os.File{nil, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { process.Kill(); process.Wait() })
	e := &echo{request: make([]byte, request), reply: make([]byte, reply)}
	binary.LittleEndian.PutUint32(e.request, uint32(request-prefixBytes))
	binary.LittleEndian.PutUint32(e.request[prefixBytes:], uint32(reply))
	eventually(b, "the echo server listens", func() bool {
		e.socket, err = dial(context.Background(), Address{"unix", path})
		return err == nil
	})
	b.Cleanup(e.socket.close)
	return e
}

// ask is one round trip; the reply is read as Client reads.
func (e *echo) ask(b *testing.B) {
	if _, err := e.socket.writeAll(context.Background(), e.request, time.Now().Add(time.Second)); err != nil {
		b.Fatal(err)
	}
	spinUntil := time.Now().Add(DefaultPoll)
	for got := 0; got < len(e.reply); {
		count, err := e.socket.read(e.reply[got:])
		if err != nil {
			b.Fatal(err)
		}
		if got += count; count == 0 && time.Now().After(spinUntil) {
			e.socket.sleep(unix.POLLIN, time.Second)
		}
	}
}

func serveEcho(path string) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	connection, err := listener.Accept()
	if err != nil {
		os.Exit(1)
	}
	raw, _ := connection.(*net.UnixConn).File()
	s := &socket{fd: int(raw.Fd())}
	unix.SetNonblock(s.fd, true)
	buffer := make([]byte, 1<<20)
	got := 0
	for idle := time.Now(); ; {
		count, err := s.read(buffer[got:])
		if err == errGone || err == io.EOF {
			os.Exit(0)
		}
		if count == 0 {
			if time.Since(idle) > DefaultPoll {
				s.sleep(unix.POLLIN, time.Second)
			}
			continue
		}
		got += count
		if got < prefixBytes || got < prefixBytes+int(binary.LittleEndian.Uint32(buffer)) {
			continue
		}
		reply := binary.LittleEndian.Uint32(buffer[prefixBytes:])
		got = 0
		if _, err := s.writeAll(context.Background(), buffer[:reply], time.Now().Add(time.Second)); err != nil {
			os.Exit(1)
		}
		idle = time.Now()
	}
}
