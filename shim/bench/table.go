package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// table is what a subcommand measured.
type table struct {
	Name    string     `json:"name"`
	What    string     `json:"what"` // exactly
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		switch value := cell.(type) {
		case float64:
			row[i] = figure(value)
		default:
			row[i] = fmt.Sprint(value)
		}
	}
	t.Rows = append(t.Rows, row)
}

// figure has three digits that count.
func figure(value float64) string {
	switch {
	case value == 0:
		return "0"
	case value >= 100 || value <= -100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10 || value <= -10:
		return fmt.Sprintf("%.1f", value)
	case value >= 1 || value <= -1:
		return fmt.Sprintf("%.2f", value)
	default:
		return fmt.Sprintf("%.3f", value)
	}
}

// target says whether a value is at most what it should be.
func target(value, most float64) string {
	if value <= most {
		return fmt.Sprintf("%s: met", figure(most))
	}
	return fmt.Sprintf("%s: missed, %.1f times", figure(most), value/most)
}

func (t *table) print(to io.Writer) {
	fmt.Fprintf(to, "\n%s: %s\n\n", t.Name, t.What)
	columns := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		fmt.Fprintln(columns, strings.Join(row, "\t"))
	}
	columns.Flush()
}

// markdown is the table as a page has it.
func (t *table) markdown() string {
	var text strings.Builder
	row := func(cells []string) { fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | ")) }
	row(t.Columns)
	row(slices.Repeat([]string{"---"}, len(t.Columns)))
	for _, cells := range t.Rows {
		row(cells)
	}
	return text.String()
}

func printJSON(to io.Writer, h header, tables []*table) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{"header": h, "tables": tables})
}
