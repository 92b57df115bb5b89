package integration

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"headroom.dev/shim/lab"
)

// stockLog is what stock kube-scheduler says it did: its log, at a verbosity that tells every plugin's
// score of every node, and when it has preempted. One goroutine reads it.
type stockLog struct {
	*cluster
	file   *os.File
	reader *bufio.Reader
	begun  string // of a line that is still being written
}

// tellingArgs have stock kube-scheduler say it: scores are told at verbosity 10, which other files would use
// for much else.
var tellingArgs = []string{"--v=2", "--vmodule=schedule_one=10"}

// What it says of a pod.
const (
	saysScore     = "Plugin scored node for pod"
	saysTotal     = "Calculated node's final score for pod"
	saysBound     = "Successfully bound pod to node"
	saysRejected  = "Unable to schedule pod; no fit; waiting"
	saysTarget    = "the target node for the preemption is determined"
	saysPreempted = "Async Preemption finished completely"
)

// logInterval is how long a line is waited for before it is looked for again.
const logInterval = 500 * time.Microsecond

// startStockLog starts stock kube-scheduler and reads on from there.
func (c *cluster) startStockLog(config lab.SchedulerConfig) *stockLog {
	c.Helper()
	c.startStock(config, tellingArgs...)
	file, err := os.Open(c.scheduler.LogPath)
	c.ok(err)
	c.Cleanup(func() { file.Close() })
	return &stockLog{cluster: c, file: file, reader: bufio.NewReaderSize(file, 1<<20)}
}

// saying is a line of the log.
type saying struct {
	message string
	values  map[string]string
}

// next waits for the next line; meanwhile is called as often as there was none.
func (l *stockLog) next(meanwhile func()) saying {
	l.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		part, err := l.reader.ReadString('\n')
		l.begun += part
		if errors.Is(err, io.EOF) {
			meanwhile()
			time.Sleep(logInterval)
			continue
		}
		l.ok(err)
		line := l.begun
		l.begun = ""
		if said, ok := readSaying(line); ok {
			return said
		}
	}
	l.Fatalf("kube-scheduler has said nothing for %v", patience)
	return saying{}
}

// readSaying reads klog's text: I0102 15:04:05.000000 123 file.go:45] "message" key="value" key=1
func readSaying(line string) (saying, bool) {
	_, rest, found := strings.Cut(line, "] ")
	if !found {
		return saying{}, false
	}
	message, rest, ok := quoted(rest)
	said := saying{message, map[string]string{}}
	for ok && strings.HasPrefix(rest, " ") {
		var key, value string
		key, rest, ok = strings.Cut(rest[1:], "=")
		if !ok {
			break
		}
		if strings.HasPrefix(rest, `"`) {
			value, rest, ok = quoted(rest)
		} else {
			end := strings.IndexAny(rest, " \n")
			if end < 0 {
				break
			}
			value, rest = rest[:end], rest[end:]
		}
		said.values[key] = value
	}
	return said, ok
}

func quoted(text string) (value, rest string, ok bool) {
	prefix, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", text, false
	}
	value, err = strconv.Unquote(prefix)
	return value, text[len(prefix):], err == nil
}
