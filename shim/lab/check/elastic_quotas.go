package check

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// ElasticQuota of a namespace.
type ElasticQuota struct {
	Namespace, Name string
	Min, Max        v1.ResourceList // a resource missing in max is unlimited, in min 0
}

// elasticQuotas: used <= max of each, and together no more than the sum of min for resources that some
// min names. The first quota of a namespace by name counts.
func (c *checker) elasticQuotas() {
	quotas := map[string]ElasticQuota{}
	for _, quota := range c.ElasticQuotas {
		if first, found := quotas[quota.Namespace]; !found || quota.Name < first.Name {
			quotas[quota.Namespace] = quota
		}
	}
	used, placed := map[string]amounts{}, amounts{}
	for _, pods := range c.onNode {
		for _, pod := range pods {
			if _, found := quotas[pod.Namespace]; !found {
				continue
			}
			if used[pod.Namespace] == nil {
				used[pod.Namespace] = amounts{}
			}
			used[pod.Namespace].add(requests(pod))
			if !c.foreign(pod) {
				placed.add(requests(pod))
			}
		}
	}
	allUsed, allMin := amounts{}, amounts{}
	for _, namespace := range slices.Sorted(maps.Keys(quotas)) {
		quota := quotas[namespace]
		for name, quantity := range quota.Max {
			if most := whole(name, quantity); used[namespace][name] > most {
				c.report("quota max", "quota "+namespace+"/"+quota.Name, "%s: used %d of %d", name, used[namespace][name], most)
			}
		}
		allUsed.add(used[namespace])
		allMin.add(rounded(quota.Min))
	}
	for _, name := range slices.Sorted(maps.Keys(allMin)) {
		if placed[name] > 0 && allUsed[name] > allMin[name] {
			c.report("quota min", "all quotas", "%s: together they use %d, their min are %d", name, allUsed[name], allMin[name])
		}
	}
}
