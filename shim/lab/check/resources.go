package check

import (
	"math"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// amounts are sums by resource: cpu in thousandths, all else whole.
type amounts map[v1.ResourceName]int64

func (a amounts) add(b amounts) {
	for name, value := range b {
		a[name] += value
	}
}

// whole rounds a quantity away from zero to its unit.
func whole(name v1.ResourceName, quantity resource.Quantity) int64 {
	if name == v1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

func rounded(list v1.ResourceList) amounts {
	sums := amounts{}
	for name, quantity := range list {
		sums[name] = whole(name, quantity)
	}
	return sums
}

func plus(list, more v1.ResourceList) v1.ResourceList {
	sum := list.DeepCopy()
	if sum == nil {
		sum = v1.ResourceList{}
	}
	for name, quantity := range more {
		total := sum[name]
		total.Add(quantity)
		sum[name] = total
	}
	return sum
}

func larger(a, b v1.ResourceList) v1.ResourceList {
	result := a.DeepCopy()
	if result == nil {
		result = v1.ResourceList{}
	}
	for name, quantity := range b {
		if have, found := result[name]; !found || quantity.Cmp(have) > 0 {
			result[name] = quantity.DeepCopy()
		}
	}
	return result
}

// total of a pod over what each container asks: its containers and sidecars together, or at the most
// that starting up takes, when the init containers run one after the other beside the sidecars that
// were started before. Overhead is not in it.
func total(pod *v1.Pod, of func(*v1.Container) v1.ResourceList) v1.ResourceList {
	sidecars, peak := v1.ResourceList{}, v1.ResourceList{}
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		if always := container.RestartPolicy; always != nil && *always == v1.ContainerRestartPolicyAlways {
			sidecars = plus(sidecars, of(container))
			peak = larger(peak, sidecars)
		} else {
			peak = larger(peak, plus(sidecars, of(container)))
		}
	}
	running := sidecars
	for i := range pod.Spec.Containers {
		running = plus(running, of(&pod.Spec.Containers[i]))
	}
	return larger(running, peak)
}

// podLevel tells whether a pod as a whole may ask for that resource.
func podLevel(name v1.ResourceName) bool {
	return name == v1.ResourceCPU || name == v1.ResourceMemory || strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// requests of a pod.
func requests(pod *v1.Pod) amounts {
	list := total(pod, func(c *v1.Container) v1.ResourceList { return c.Resources.Requests })
	if whole := pod.Spec.Resources; whole != nil {
		for name, quantity := range whole.Requests {
			if podLevel(name) {
				list[name] = quantity
			}
		}
	}
	return rounded(plus(list, pod.Spec.Overhead))
}

// limits of a pod as LimitAware counts them: of each container the larger of limit and request.
func limits(pod *v1.Pod) amounts {
	list := total(pod, func(c *v1.Container) v1.ResourceList { return larger(c.Resources.Limits, c.Resources.Requests) })
	if whole := pod.Spec.Resources; whole != nil {
		for name, quantity := range whole.Requests {
			if _, limited := whole.Limits[name]; podLevel(name) && !limited {
				if have, found := list[name]; !found || quantity.Cmp(have) > 0 {
					list[name] = quantity
				}
			}
		}
		for name, quantity := range whole.Limits {
			if podLevel(name) {
				list[name] = quantity
			}
		}
	}
	return rounded(plus(list, pod.Spec.Overhead))
}

// percentOf without overflow: amount * percent / 100, rounded down.
func percentOf(amount, percent int64) int64 {
	if percent == 0 || amount == 0 {
		return 0
	}
	if amount > math.MaxInt64/percent {
		return math.MaxInt64
	}
	return amount * percent / 100
}
