package lab

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	labelRegion = v1.LabelTopologyRegion
	labelZone   = v1.LabelTopologyZone
	region      = "region-1"
)

// NodeOption changes a node before it is created.
type NodeOption func(*v1.Node)

// Node is a ready node of 8 cpu, 32Gi and 110 pods, unless an option says otherwise, with the labels
// that a cloud gives it. There is no kubelet behind it.
func Node(name string, options ...NodeOption) *v1.Node {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			v1.LabelHostname: name, labelRegion: region, labelZone: "zone-1",
			v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64",
		}},
		Status: v1.NodeStatus{
			Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"),
				v1.ResourceMemory: resource.MustParse("32Gi"), v1.ResourcePods: resource.MustParse("110")},
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "Lab"}},
		},
	}
	for _, option := range options {
		option(node)
	}
	node.Status.Capacity = node.Status.Allocatable.DeepCopy()
	return node
}

// Allocatable of a node: "cpu", "8".
func Allocatable(name, quantity string) NodeOption {
	return func(n *v1.Node) { n.Status.Allocatable[v1.ResourceName(name)] = resource.MustParse(quantity) }
}

// Zone of a node.
func Zone(zone string) NodeOption { return NodeLabel(labelZone, zone) }

// NodeLabel adds a label.
func NodeLabel(key, value string) NodeOption { return func(n *v1.Node) { n.Labels[key] = value } }

// NodeAnnotation adds an annotation.
func NodeAnnotation(key, value string) NodeOption {
	return func(n *v1.Node) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, value) }
}

// Taint adds a taint.
func Taint(key, value string, effect v1.TaintEffect) NodeOption {
	return func(n *v1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Value: value, Effect: effect})
	}
}

// HasImage: a node has pulled it.
func HasImage(image string, bytes int64) NodeOption {
	return func(n *v1.Node) {
		n.Status.Images = append(n.Status.Images, v1.ContainerImage{Names: []string{image}, SizeBytes: bytes})
	}
}

// Cordoned: nothing new may be placed there.
func Cordoned() NodeOption { return func(n *v1.Node) { n.Spec.Unschedulable = true } }

// CreateNodes in parallel.
func (c *ControlPlane) CreateNodes(ctx context.Context, nodes ...*v1.Node) error {
	return parallel(ctx, len(nodes), func(i int) error {
		_, err := c.Client.CoreV1().Nodes().Create(ctx, nodes[i], metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("lab: node %s: %w", nodes[i].Name, err)
		}
		return nil
	})
}

// UniformNodes are n nodes, name-0000 and so on, in turn in the zones.
func UniformNodes(name string, n int, zones []string, options ...NodeOption) []*v1.Node {
	nodes := make([]*v1.Node, n)
	for i := range nodes {
		own := options
		if len(zones) > 0 {
			own = append([]NodeOption{Zone(zones[i%len(zones)])}, options...)
		}
		nodes[i] = Node(fmt.Sprintf("%s-%04d", name, i), own...)
	}
	return nodes
}
