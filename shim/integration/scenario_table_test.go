package integration

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"

	"headroom.dev/shim/lab"
)

// scenarioTable is what all scenarios came to, as a table of a page.
type scenarioTable struct{ rows []scenarioRow }

type scenarioRow struct {
	name            string
	stock, headroom outcome
	expected        bool // what stands for stock's outcome is what the quota asks for
}

const (
	// pageVariable names the page, seen from the repository, into which the table is written, between these lines.
	pageVariable = "HEADROOM_PARITY_PAGE"
	tableBegins  = "<!-- The table: written by TestNoScenarioIsWorse -->\n"
	tableEnds    = "<!-- The table ends -->\n"
)

func (t *scenarioTable) String() string {
	var text strings.Builder
	fmt.Fprintln(&text, "| scenario | pods | placed | seconds | skew | preferences met | victims (highest priority) | beyond budgets |")
	fmt.Fprintln(&text, "| --- | --- | --- | --- | --- | --- | --- | --- |")
	for i := range t.rows {
		fmt.Fprintln(&text, t.rows[i].String())
	}
	return text.String()
}

func (r *scenarioRow) String() string {
	both := func(shown bool, of func(*outcome) string) string {
		switch {
		case !shown:
			return ""
		case r.expected:
			return "(" + of(&r.stock) + ") " + of(&r.headroom)
		default:
			return of(&r.stock) + " / " + of(&r.headroom)
		}
	}
	victims := r.stock.victims+r.headroom.victims > 0
	cells := []string{r.name, fmt.Sprint(r.headroom.pods),
		both(true, func(o *outcome) string { return fmt.Sprint(o.placed) }),
		both(true, func(o *outcome) string { return fmt.Sprintf("%.1f", o.took.Seconds()) }),
		both(r.stock.skewed || r.headroom.skewed, func(o *outcome) string { return fmt.Sprint(o.skew) }),
		both(r.headroom.preferring > 0, func(o *outcome) string { return fmt.Sprint(o.met) }),
		both(victims, func(o *outcome) string {
			if o.victims == 0 {
				return "0"
			}
			return fmt.Sprintf("%d (%d)", o.victims, o.highest)
		}),
		both(victims, func(o *outcome) string { return fmt.Sprint(o.overBudget) }),
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// intoPage writes the table, and when, of what and on what it was measured, where pageVariable says so.
func (t *scenarioTable) intoPage() error {
	page := os.Getenv(pageVariable)
	if page == "" {
		return nil
	}
	measured := fmt.Sprintf("\n%s, commit %s, %s:\n\n%v\n", time.Now().UTC().Format(time.DateOnly), lab.Commit(), machine(), t)
	return lab.IntoPage(page, tableBegins, tableEnds, measured)
}

var modelName = regexp.MustCompile(`(?m)^model name\s*: (.*)$`)

func machine() string {
	processors := fmt.Sprintf("%d processors", runtime.NumCPU())
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := modelName.FindSubmatch(text); found != nil {
			return processors + " (" + string(found[1]) + ")"
		}
	}
	return processors
}
