package plugin

import (
	"context"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"
)

func TestNormalizeScoreKeepsTheBestAlone(t *testing.T) {
	for _, c := range []struct{ totals, want []int64 }{
		{nil, nil},
		{[]int64{7}, []int64{100}},
		{[]int64{7, 7}, []int64{100, 100}},
		{[]int64{400, 399, 398}, []int64{100, 50, 0}},
		{[]int64{0, 1_000_000, 999_999}, []int64{0, 100, 99}},
		{[]int64{-5, 5}, []int64{0, 100}},
	} {
		scores := make(fwk.NodeScoreList, len(c.totals))
		for i, total := range c.totals {
			scores[i].Score = total
		}
		if status := (&Headroom{}).NormalizeScore(context.Background(), nil, nil, scores); !status.IsSuccess() {
			t.Fatal(status)
		}
		for i, want := range c.want {
			if scores[i].Score != want {
				t.Errorf("%v: %v, want %v", c.totals, scores, c.want)
				break
			}
		}
	}
}
