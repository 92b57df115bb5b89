package plugin

import (
	"os"
	"strings"
	"testing"
)

func TestTheVersionIsHeadrooms(t *testing.T) {
	project, err := os.ReadFile("../../CMakeLists.txt")
	if err != nil {
		t.Fatal(err)
	}
	if says := "project(headroom VERSION " + version + " "; !strings.Contains(string(project), says) {
		t.Errorf("CMakeLists.txt does not have %q", says)
	}
}
