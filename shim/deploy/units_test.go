package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// systemd itself reads the units and the user.
func TestSystemdKnowsTheUnits(t *testing.T) {
	for _, program := range []string{"systemd-analyze", "systemd-sysusers"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("units are not checked: ", err)
		}
	}
	directory := t.TempDir()
	var copies []string
	for _, unit := range []string{"headroomd.service", "headroomd.socket", "kube-scheduler-headroom.service"} {
		text, err := os.ReadFile("../../deploy/" + unit)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, filepath.Join(directory, unit))
		// verify wants programs that are there.
		installed := regexp.MustCompile(`=/usr/bin/\S+`).ReplaceAll(text, []byte("=/bin/true"))
		if err := os.WriteFile(copies[len(copies)-1], installed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verify := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, copies...)...)
	if out, err := verify.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	users, err := filepath.Abs("../../deploy/headroom.sysusers.conf")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(directory, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-sysusers", "--root="+directory, users).CombinedOutput(); err != nil {
		t.Fatalf("systemd-sysusers: %v\n%s", err, out)
	}
	passwd, err := os.ReadFile(filepath.Join(directory, "etc/passwd"))
	if err != nil || !strings.Contains(string(passwd), "headroom:x:") {
		t.Errorf("no user headroom: %v\n%s", err, passwd)
	}
}
