package integration

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// outcome is what a scenario came to with one of the schedulers.
type outcome struct {
	pods, placed int
	took         time.Duration // until the last pod had its node
	skewed       bool          // it has a skew:
	skew         int           // between the fullest and the emptiest domain
	preferring   int           // pods that prefer something
	met          int           // of these what they prefer is so
	victims      int
	highest      int32 // priority of a victim
	overBudget   int   // victims beyond what their budgets allow
	why          []string
}

func (o *outcome) measureSkew(of *scenario, placed []*v1.Pod) {
	if of.skewBy == "" {
		return
	}
	counts, domain := map[string]int{}, map[string]string{}
	for _, node := range of.nodes {
		domain[node.Name] = node.Labels[of.skewBy]
		counts[domain[node.Name]] += 0
	}
	for _, pod := range placed {
		counts[domain[pod.Spec.NodeName]]++
	}
	sizes := slices.Collect(maps.Values(counts))
	o.skewed, o.skew = true, slices.Max(sizes)-slices.Min(sizes)
}

func (o *outcome) measurePreferences(of *scenario, placed []*v1.Pod, all []v1.Pod) {
	if of.prefers == nil {
		return
	}
	o.preferring = o.pods
	for _, pod := range placed {
		at := placement{pod: pod}
		for _, node := range of.nodes {
			if node.Name == pod.Spec.NodeName {
				at.node = node
			}
		}
		for i := range all {
			if all[i].Spec.NodeName == pod.Spec.NodeName && all[i].Name != pod.Name {
				at.beside = append(at.beside, &all[i])
			}
		}
		if of.prefers(at) {
			o.met++
		}
	}
}

func (o *outcome) measureVictims(victims []v1.Pod, objects []metav1.Object) {
	o.victims = len(victims)
	for i, victim := range victims {
		if priority := *victim.Spec.Priority; i == 0 || priority > o.highest {
			o.highest = priority
		}
	}
	for _, object := range objects {
		budget, ok := object.(*policyv1.PodDisruptionBudget)
		if !ok {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil {
			continue
		}
		within := int(budget.Status.DisruptionsAllowed)
		for _, victim := range victims {
			if selector.Matches(labels.Set(victim.Labels)) {
				within--
			}
		}
		o.overBudget += max(-within, 0)
	}
}

const (
	// Times vary with whatever else the machine does: only what is gross counts.
	slowerTimes = 5
	slowerSlack = 10 * time.Second
)

// worse tells in what this outcome is worse than the other; nil: in nothing.
func (o *outcome) worse(than *outcome) error {
	var found []error
	more := func(what string, have, want int) {
		if have > want {
			found = append(found, fmt.Errorf("%s: %d, not %d", what, have, want))
		}
	}
	more("pods without a node", o.pods-o.placed, than.pods-than.placed)
	if o.placed <= than.placed { // more pods may cost more
		more("skew", o.skew, than.skew)
		more("victims", o.victims, than.victims)
		more("victims beyond their budgets", o.overBudget, than.overBudget)
		if o.victims > 0 {
			more("priority of a victim", int(o.highest), int(than.highest))
		}
	}
	more("preferences that are not met", o.preferring-o.met, than.preferring-than.met)
	more("milliseconds", int(o.took.Milliseconds()), int((than.took*slowerTimes + slowerSlack).Milliseconds()))
	if len(found) > 0 {
		for _, why := range o.why[:min(len(o.why), toldMax)] {
			found = append(found, errors.New(why))
		}
	}
	return errors.Join(found...)
}
