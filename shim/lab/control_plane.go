package lab

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Only for this control plane, which listens on loopback and lives as long as a test.
const testToken = "headroom-lab"

const etcdQuotaBytes = 8 << 30

// ControlPlane is etcd and kube-apiserver.
type ControlPlane struct {
	Etcd      *Process
	APIServer *Process

	URL        string
	Kubeconfig string // a file, for processes
	Config     *rest.Config
	Client     kubernetes.Interface // protobuf, no rate limit
	Dynamic    dynamic.Interface    // for custom resources, no rate limit

	lab *Lab
}

// StartControlPlane starts both and installs the CRDs of NodeMetric, ElasticQuota and CapacityQuota.
func (l *Lab) StartControlPlane(ctx context.Context) (*ControlPlane, error) {
	plane, err := l.StartBareControlPlane(ctx)
	if err != nil {
		return nil, err
	}
	return plane, plane.InstallCRDs(ctx)
}

// StartBareControlPlane is one without CRDs.
func (l *Lab) StartBareControlPlane(ctx context.Context) (*ControlPlane, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	directory, _, err := l.directory("controlplane")
	if err != nil {
		return nil, err
	}
	plane := &ControlPlane{lab: l, URL: fmt.Sprintf("https://127.0.0.1:%d", ports[2]),
		Kubeconfig: filepath.Join(directory, "kubeconfig")}
	if err := plane.clients(); err != nil {
		return nil, err
	}
	if err := plane.files(directory); err != nil {
		return nil, err
	}
	if plane.Etcd, err = l.startEtcd(ctx, directory, ports[0], ports[1]); err != nil {
		return nil, err
	}
	plane.APIServer, err = l.startAPIServer(ctx, plane, directory, ports[0], ports[2])
	return plane, err
}

func (c *ControlPlane) clients() error {
	c.Config = &rest.Config{Host: c.URL, BearerToken: testToken, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}} // a certificate that the server makes for itself
	custom := rest.CopyConfig(c.Config)
	c.Config.ContentType = "application/vnd.kubernetes.protobuf"
	c.Config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	c.Client = client
	c.Dynamic, err = dynamic.NewForConfig(custom)
	return err
}

const kubeconfigFormat = `apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: lab, user: {token: %q}}]
contexts: [{name: lab, context: {cluster: lab, user: lab}}]
current-context: lab
`

func (c *ControlPlane) files(directory string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"sa.key":     pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}),
		"tokens.csv": []byte(testToken + ",lab,lab,system:masters\n"),
		"kubeconfig": fmt.Appendf(nil, kubeconfigFormat, c.URL, testToken),
	} {
		if err := os.WriteFile(filepath.Join(directory, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) startEtcd(ctx context.Context, directory string, port, peerPort int) (*Process, error) {
	url, peer := fmt.Sprintf("http://127.0.0.1:%d", port), fmt.Sprintf("http://127.0.0.1:%d", peerPort)
	process := newProcess(directory, "etcd", l.Binaries.ControlPlane, []string{"etcd",
		"--data-dir=" + filepath.Join(l.Data, "etcd"+strconv.Itoa(port)),
		"--listen-client-urls=" + url, "--advertise-client-urls=" + url,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		"--unsafe-no-fsync", "--quota-backend-bytes=" + strconv.Itoa(etcdQuotaBytes), "--log-level=warn",
	}, func(ctx context.Context) error { return answersOK(ctx, http.DefaultClient, url+"/health", "") })
	l.own(process)
	return process, process.Start(ctx)
}

func (l *Lab) startAPIServer(ctx context.Context, plane *ControlPlane, directory string, etcdPort, port int) (*Process, error) {
	in := func(name string) string { return filepath.Join(directory, name) }
	process := newProcess(directory, "apiserver", l.Binaries.ControlPlane, []string{"apiserver",
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", etcdPort),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
		"--cert-dir=" + in("apiserver-certificates"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + in("sa.key"), "--service-account-signing-key-file=" + in("sa.key"),
		"--token-auth-file=" + in("tokens.csv"), "--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24",
		// No controller makes service accounts, and none would take away the taint of a new node or the
		// finalizer of a volume.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection",
		"--endpoint-reconciler-type=none", "--enable-priority-and-fairness=false",
		"--max-requests-inflight=0", "--max-mutating-requests-inflight=0", "--profiling=false",
		"--event-ttl=5m", "--delete-collection-workers=8",
	}, plane.ready)
	l.own(process)
	return process, process.Start(ctx)
}

// ready: it serves, and its own start-up work is done.
func (c *ControlPlane) ready(ctx context.Context) error {
	client, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return err
	}
	if err := answersOK(ctx, client, c.URL+"/readyz", testToken); err != nil {
		return err
	}
	_, err = c.Client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	return err
}
