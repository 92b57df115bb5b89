package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"headroom.dev/shim/client"
)

// used is what the amounts are in a ResourceList of a custom resource.
func used(amounts []client.QuotaAmount) map[string]any {
	list := make(map[string]any, len(amounts))
	for _, amount := range amounts {
		list[amount.Resource] = quantity(amount.Resource, amount.Used)
	}
	return list
}

// quantity is the text of an amount in the resource's unit: thousandths of cpu, else whole.
func quantity(name string, amount int64) string {
	switch {
	case name == string(v1.ResourceCPU):
		return resource.NewMilliQuantity(amount, resource.DecimalSI).String()
	case name == string(v1.ResourceMemory), name == string(v1.ResourceEphemeralStorage),
		strings.HasPrefix(name, v1.ResourceHugePagesPrefix):
		return resource.NewQuantity(amount, resource.BinarySI).String()
	default:
		return resource.NewQuantity(amount, resource.DecimalSI).String()
	}
}

// sameAmounts tells whether two lists name the same resources and amounts, however written.
func sameAmounts(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for name, written := range a {
		other, named := b[name]
		if !named {
			return false
		}
		x, err := resource.ParseQuantity(fmt.Sprint(written))
		if err != nil {
			return false
		}
		y, err := resource.ParseQuantity(fmt.Sprint(other))
		if err != nil || x.Cmp(y) != 0 {
			return false
		}
	}
	return true
}

// minAboveMax names the resources of which an ElasticQuota guarantees more than it allows; "": none.
func minAboveMax(quota *unstructured.Unstructured) string {
	least, _, _ := unstructured.NestedMap(quota.Object, "spec", "min")
	most, _, _ := unstructured.NestedMap(quota.Object, "spec", "max")
	var found []string
	for _, name := range slices.Sorted(maps.Keys(least)) {
		bound, named := most[name]
		if !named {
			continue
		}
		x, err := resource.ParseQuantity(fmt.Sprint(least[name]))
		if err != nil {
			continue
		}
		y, err := resource.ParseQuantity(fmt.Sprint(bound))
		if err == nil && x.Cmp(y) > 0 {
			found = append(found, fmt.Sprintf("%s: min %s is above max %s", name, &x, &y))
		}
	}
	return strings.Join(found, "; ")
}
