package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const docs = "../../docs"

// step of a page: a file to write, or commands to type.
type step struct {
	file, text string
	commands   []string
}

var (
	heading = regexp.MustCompile(`^#+ (.*)`)
	// The first line of a block that is a file names it.
	fileName = regexp.MustCompile(`^# ((?:/etc/headroom/)?[a-z-]+\.yaml)\b`)
	tableRow = regexp.MustCompile("^\\| `([^`]+)` \\|")
)

// sections of a page: the lines under each heading, up to the next one.
func sections(t *testing.T, page string) (titles []string, lines map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, page))
	if err != nil {
		t.Fatal(err)
	}
	lines = map[string][]string{}
	title, fenced := "", false
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if found := heading.FindStringSubmatch(line); found != nil && !fenced {
			title = found[1]
			titles = append(titles, title)
			continue
		}
		lines[title] = append(lines[title], line)
	}
	return titles, lines
}

func section(t *testing.T, page, title string) []string {
	t.Helper()
	_, lines := sections(t, page)
	if len(lines[title]) == 0 {
		t.Fatalf("%s has no section %q", page, title)
	}
	return lines[title]
}

// steps of a section: what its sh blocks tell to type, and its yaml blocks that begin with the name of a file. All
// other blocks are examples.
func steps(t *testing.T, page, title string) []step {
	t.Helper()
	var found []step
	language, fenced := "", false
	var block []string
	for _, line := range section(t, page, title) {
		fence := strings.HasPrefix(line, "```")
		switch {
		case fence && !fenced:
			language, fenced, block = strings.TrimPrefix(line, "```"), true, nil
		case fence:
			fenced = false
			if name := fileName.FindStringSubmatch(block[0]); language == "yaml" && name != nil {
				found = append(found, step{file: name[1], text: strings.Join(block, "\n") + "\n"})
			} else if language == "sh" {
				joined := strings.ReplaceAll(strings.Join(block, "\n"), "\\\n", " ")
				found = append(found, step{commands: strings.Split(joined, "\n")})
			}
		case fenced:
			block = append(block, line)
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s, %q: nothing to do", page, title)
	}
	return found
}

// places are the first column of a section's table.
func places(t *testing.T, page, title string) []string {
	t.Helper()
	var found []string
	for _, line := range section(t, page, title) {
		if row := tableRow.FindStringSubmatch(line); row != nil {
			found = append(found, row[1])
		}
	}
	return found
}
