package main

import (
	"errors"
	"regexp"
	"time"
)

// tellBindings makes kube-scheduler log each binding, and nothing else.
const tellBindings = "-vmodule=schedule_one=2"

// boundLine is how it does, with the time in klog's way, which names no year.
var boundLine = regexp.MustCompile(`(?m)^I(\d{4} \d\d:\d\d:\d\d\.\d{6}) .*\] "Successfully bound pod to node"`)

// boundPerSecond is how many pods were bound from begin to the last binding of the log, by second.
func boundPerSecond(log []byte, begin time.Time) (float64, error) {
	pods, last := 0, begin
	for _, found := range boundLine.FindAllSubmatch(log, -1) {
		at, err := time.ParseInLocation("0102 15:04:05.000000", string(found[1]), time.Local)
		if err != nil {
			return 0, err
		}
		if at = at.AddDate(begin.Year(), 0, 0); at.Before(begin) {
			continue // not one that is measured
		}
		pods++
		if at.After(last) {
			last = at
		}
	}
	if pods == 0 {
		return 0, errors.New("the scheduler's log tells of no binding while pods were measured")
	}
	return float64(pods) / last.Sub(begin).Seconds(), nil
}
