package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// IntoPage writes the text between these two lines of a page, whose path is seen from the repository.
func IntoPage(page, begins, ends, text string) error {
	page = filepath.Join(repositoryRoot(), page)
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, hasBegin := strings.Cut(string(old), begins)
	_, after, hasEnd := strings.Cut(rest, ends)
	if !hasBegin || !hasEnd {
		return fmt.Errorf("%s has no lines %q and %q", page, begins, ends)
	}
	return os.WriteFile(page, []byte(before+begins+text+ends+after), 0o644)
}

// Commit of the repository, for a page; "unknown" outside of one.
func Commit() string {
	text, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}
