package deploy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"headroom.dev/shim/lab"
)

// account installs the chart's service account with its rights, and nothing else of it, and logs in as it.
func account(t *testing.T, ctx context.Context, plane *lab.ControlPlane) kubernetes.Interface {
	t.Helper()
	objects := render(t)
	for object, resource := range resources(t, plane, objects) {
		group := object.GroupVersionKind().Group
		if group == "rbac.authorization.k8s.io" || object.GetKind() == "ServiceAccount" {
			if _, err := resource.Create(ctx, object, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	request, err := plane.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, release,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(plane.Config)
	config.BearerToken = request.Status.Token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func allowed(t *testing.T, ctx context.Context, client kubernetes.Interface, verb, what string) bool {
	t.Helper()
	attributes := &authorizationv1.ResourceAttributes{Verb: verb, Version: "*"}
	// [NAMESPACE:]RESOURCE[.GROUP][/SUBRESOURCE][=NAME]
	what, attributes.Name, _ = strings.Cut(what, "=")
	what, attributes.Subresource, _ = strings.Cut(what, "/")
	if before, after, found := strings.Cut(what, ":"); found {
		attributes.Namespace, what = before, after
	}
	attributes.Resource, attributes.Group, _ = strings.Cut(what, ".")
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
		&authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}

func startRBAC(t *testing.T) (context.Context, *lab.Lab, *lab.ControlPlane, kubernetes.Interface) {
	t.Helper()
	ctx, l, plane := startPlane(t)
	client := account(t, ctx, plane)
	if allowed(t, ctx, client, "delete", "namespaces") {
		t.Skip("the lab's API server allows everything to everyone: no --authorization-mode=RBAC")
	}
	return ctx, l, plane, client
}

func TestTheAccountMayDoWhatItNeedsAndNoMore(t *testing.T) {
	ctx, _, _, client := startRBAC(t)
	mayDoWhatItNeeds(t, ctx, client)
	if more := excesses(t, ctx, client); len(more) > 0 {
		t.Errorf("may %v", more)
	}
}

// The same without Helm, of the user that a control plane's kube-scheduler is.
func TestTheUserMayDoWhatItNeedsAndNoMore(t *testing.T) {
	ctx, _, plane := startPlane(t)
	text, err := os.ReadFile("../../deploy/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(plane.Config)
	config.Impersonate.UserName = "system:kube-scheduler"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	before := excesses(t, ctx, client)
	for object, resource := range resources(t, plane, objectsOf(t, string(text))) {
		if _, err := resource.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	mayDoWhatItNeeds(t, ctx, client)
	// That user has rights of its own, as to other leases than this one.
	if after := excesses(t, ctx, client); !slices.Equal(before, after) {
		t.Errorf("may %v, and before %v", after, before)
	}
}

func mayDoWhatItNeeds(t *testing.T, ctx context.Context, client kubernetes.Interface) {
	t.Helper()
	for _, needed := range []string{
		"list nodes", "watch nodes", "list pods", "watch pods", "list namespaces",
		"list poddisruptionbudgets.policy", "list priorityclasses.scheduling.k8s.io", "watch priorityclasses.scheduling.k8s.io",
		"list nodemetrics.slo.koordinator.sh", "watch nodemetrics.slo.koordinator.sh",
		"list elasticquotas.scheduling.x-k8s.io", "watch elasticquotas.scheduling.x-k8s.io",
		"list capacityquotas.autoscaling.x-k8s.io", "watch capacityquotas.autoscaling.x-k8s.io",
		"patch default:elasticquotas.scheduling.x-k8s.io/status", "patch capacityquotas.autoscaling.x-k8s.io/status",
		"list persistentvolumeclaims", "update persistentvolumes", "list storageclasses.storage.k8s.io",
		// What pods refer to, each of which may be followed.
		"get namespaces", "watch namespaces", "get services", "list services", "watch services",
		"get replicationcontrollers", "list replicationcontrollers", "watch replicationcontrollers",
		"get replicasets.apps", "list replicasets.apps", "watch replicasets.apps",
		"get statefulsets.apps", "list statefulsets.apps", "watch statefulsets.apps",
		"get persistentvolumes", "list persistentvolumes", "watch persistentvolumes",
		"get persistentvolumeclaims", "watch persistentvolumeclaims",
		"get storageclasses.storage.k8s.io", "watch storageclasses.storage.k8s.io",
		"get csinodes.storage.k8s.io", "list csinodes.storage.k8s.io", "watch csinodes.storage.k8s.io",
		"get csidrivers.storage.k8s.io", "list csidrivers.storage.k8s.io", "watch csidrivers.storage.k8s.io",
		"get csistoragecapacities.storage.k8s.io", "list csistoragecapacities.storage.k8s.io",
		"watch csistoragecapacities.storage.k8s.io",
		"create default:pods/binding", "delete default:pods", "patch default:pods/status",
		"create default:events.events.k8s.io",
		"create kube-system:leases.coordination.k8s.io", "get kube-system:leases.coordination.k8s.io=headroom",
		"update kube-system:leases.coordination.k8s.io=headroom",
		"get kube-system:configmaps=extension-apiserver-authentication",
		"create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io",
	} {
		verb, what, _ := strings.Cut(needed, " ")
		if !allowed(t, ctx, client, verb, what) {
			t.Errorf("may not %s", needed)
		}
	}
}

// excesses are what it may and does not need.
func excesses(t *testing.T, ctx context.Context, client kubernetes.Interface) (found []string) {
	t.Helper()
	for _, excess := range []string{
		"get secrets", "list kube-system:secrets", "create default:pods", "update default:pods", "patch default:pods",
		"create default:pods/exec", "create default:pods/eviction", "update nodes", "delete nodes", "patch nodes/status",
		"list deployments.apps", "create kube-system:deployments.apps", "list kube-system:configmaps",
		"get kube-system:configmaps=other", "update kube-system:leases.coordination.k8s.io=other",
		"delete kube-system:leases.coordination.k8s.io=headroom", "update default:leases.coordination.k8s.io=headroom",
		"update elasticquotas.scheduling.x-k8s.io", "patch default:elasticquotas.scheduling.x-k8s.io",
		"patch capacityquotas.autoscaling.x-k8s.io", "create nodemetrics.slo.koordinator.sh",
		"update capacityquotas.autoscaling.x-k8s.io", "create priorityclasses.scheduling.k8s.io",
		"create clusterrolebindings.rbac.authorization.k8s.io", "impersonate users", "create default:serviceaccounts/token",
		"delete namespaces",
	} {
		verb, what, _ := strings.Cut(excess, " ")
		if allowed(t, ctx, client, verb, what) {
			found = append(found, excess)
		}
	}
	return found
}

// The rendered configuration at work, with the rights of the rendered account alone: the scheduler leads,
// feeds headroomd, binds a pod, answers a scrape, and is refused nothing.
func TestASchedulerWorksWithTheAccountsRights(t *testing.T) {
	ctx, l, plane, _ := startRBAC(t)
	if err := l.Binaries.HasHeadroom(); err != nil {
		t.Skip(err)
	}
	objects := render(t)
	works := pod{lab: l, plane: plane}
	if err := works.start(ctx, release, configFiles(t, objects)); err != nil {
		t.Fatal(err)
	}
	daemon, port := works.headroomd, works.schedulerPort
	defer func() {
		text, err := works.scheduler.Log()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "forbidden") || t.Failed() {
			t.Errorf("the scheduler's log:\n%s", text)
		}
	}()

	if err := plane.CreateNodes(ctx, lab.Node("n1")); err != nil {
		t.Fatal(err)
	}
	if err := plane.CreatePods(ctx, lab.Pod("default", "p1", lab.ScheduledBy("headroom-scheduler"))); err != nil {
		t.Fatal(err)
	}
	// One after the other, each with its own word.
	for what, condition := range map[string]func() error{
		"the pod is bound": func() error {
			pod, err := plane.Client.CoreV1().Pods("default").Get(ctx, "p1", metav1.GetOptions{})
			if err == nil && pod.Spec.NodeName != "n1" {
				err = fmt.Errorf("it is on %q", pod.Spec.NodeName)
			}
			return err
		},
		"headroomd is fed": func() error { return daemon.Ready(ctx) },
		"the lease is held": func() error {
			_, err := plane.Client.CoordinationV1().Leases(namespace).Get(ctx, release, metav1.GetOptions{})
			return err
		},
		"its probes pass":       func() error { return answers(ctx, port, "/livez", "") },
		"it is ready":           func() error { return answers(ctx, port, "/readyz", "") },
		"Prometheus may scrape": func() error { return answers(ctx, port, "/metrics", plane.Config.BearerToken) },
	} {
		if err := lab.Eventually(ctx, patience, condition); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if answers(ctx, port, "/metrics", "") == nil {
		t.Error("anyone may read /metrics")
	}
}

// answers is nil where the scheduler says OK.
func answers(ctx context.Context, port, path, token string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://127.0.0.1:"+port+path, nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	return nil
}
