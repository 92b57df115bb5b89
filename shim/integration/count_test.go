package integration

import (
	"fmt"
	"strconv"
	"strings"

	"headroom.dev/shim/lab"
)

// boundCount: exactly so many pods of the namespace have a node, and the others were told why not.
func (c *cluster) boundCount(want int) error {
	return c.countBound([]string{c.ns}, want)
}

// countBound: exactly so many pods of the namespaces have a node, and every other was told why not.
func (c *cluster) countBound(namespaces []string, want int) error {
	bound, untold, err := c.tally(namespaces)
	if err != nil {
		return err
	}
	if bound != want || untold > 0 {
		return fmt.Errorf("%d pods are bound, not %d; %d were not tried", bound, want, untold)
	}
	return nil
}

// metricAbove: the series of a /metrics text is above that value.
func metricAbove(text, series string, value float64) bool {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, series+" "); found {
			have, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return err == nil && have > value
		}
	}
	return false
}

// tally counts the pods of the namespaces that have a node, and those of the others that were not tried.
func (c *cluster) tally(namespaces []string) (bound, untold int, err error) {
	for _, namespace := range namespaces {
		pods, err := plane.Pods(c.ctx, namespace)
		if err != nil {
			return 0, 0, err
		}
		for i := range pods {
			if pods[i].Spec.NodeName != "" {
				bound++
			} else if lab.Message(&pods[i]) == "not tried" {
				untold++
			}
		}
	}
	return bound, untold, nil
}
