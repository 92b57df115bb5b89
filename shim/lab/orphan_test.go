package lab

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

const orphanVariable = "HEADROOM_LAB_TEST_PARENT"

// A child dies with a parent that was killed and could clean up nothing.
func TestChildrenEndWithTheirParent(t *testing.T) {
	if os.Getenv(orphanVariable) != "" {
		process := newProcess(t.TempDir(), "sleep", "/bin/sleep", []string{"600"}, nil)
		ok(t, process.Start(t.Context()))
		fmt.Println(process.Pid())
		time.Sleep(time.Minute)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a parent-death signal")
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestChildrenEndWithTheirParent$")
	parent.Env = append(os.Environ(), orphanVariable+"=1")
	out := must[interface{ Read([]byte) (int, error) }](t)(parent.StdoutPipe())
	ok(t, parent.Start())
	var child int
	lines := bufio.NewScanner(out)
	for child == 0 && lines.Scan() {
		_, _ = fmt.Sscan(lines.Text(), &child)
	}
	if child == 0 {
		t.Fatal("the parent told no child")
	}
	ok(t, parent.Process.Kill())
	_ = parent.Wait()
	ok(t, Eventually(t.Context(), 5*time.Second, func() error {
		// A zombie, whose new parent does not wait for it, has ended too.
		if _, err := peakOf(child); err != nil {
			return nil
		}
		return fmt.Errorf("child %d lives", child)
	}))
}
