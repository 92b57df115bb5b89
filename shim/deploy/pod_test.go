package deploy

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"headroom.dev/shim/lab"
)

// socket is where both programs look for it.
const socket = "/run/headroom/headroom.sock"

// pod is what a pod of the chart runs: both programs, with the files of its ConfigMaps and its account's
// token.
type pod struct {
	lab   *lab.Lab
	plane *lab.ControlPlane

	headroomd     *lab.Headroomd
	scheduler     *lab.Process
	schedulerPort string
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: account, user: {token: %q, as: %q}}]
contexts: [{name: lab, context: {cluster: lab, user: account}}]
current-context: lab
`

// start starts both; they end with the lab, or by stop.
func (p *pod) start(ctx context.Context, account string, files map[string]string) error {
	var err error
	if p.headroomd, err = startHeadroomd(ctx, p.lab, files); err != nil {
		return err
	}
	token, err := p.plane.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if p.schedulerPort, err = freePort(); err != nil {
		return err
	}
	directory, err := os.MkdirTemp(p.lab.Directory, "pod-")
	if err != nil {
		return err
	}
	login, config := filepath.Join(directory, "kubeconfig"), filepath.Join(directory, "scheduler.yaml")
	text := strings.Replace(files["scheduler.yaml"], "unix://"+socket, p.headroomd.Address, 1)
	text = strings.Replace(text, "clientConnection:\n", "clientConnection:\n  kubeconfig: "+login+"\n", 1)
	for path, content := range map[string]string{
		login:  fmt.Sprintf(kubeconfig, p.plane.URL, token.Status.Token, ""),
		config: text,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	p.scheduler, err = p.lab.StartProgram(ctx, "scheduler", p.lab.Binaries.Scheduler, []string{"--config=" + config,
		"--bind-address=127.0.0.1", "--secure-port=" + p.schedulerPort, "--authentication-kubeconfig=" + login,
		"--authorization-kubeconfig=" + login, "--v=2"}, nil)
	return err
}

// stop ends both, as a kubelet does.
func (p *pod) stop() error {
	if p.scheduler == nil {
		return nil
	}
	if err := p.scheduler.Stop(); err != nil {
		return err
	}
	return p.headroomd.Stop()
}

// startHeadroomd starts it with the rendered files. Flags of the lab win where a file names places.
func startHeadroomd(ctx context.Context, l *lab.Lab, files map[string]string) (*lab.Headroomd, error) {
	for _, line := range []string{"profile: /etc/headroom/profile.yaml", "unix://" + socket} {
		if !strings.Contains(files["headroomd.yaml"], line) {
			return nil, fmt.Errorf("no %q in\n%s", line, files["headroomd.yaml"])
		}
	}
	// Both programs run as this test's user instead of the Deployment's.
	text := strings.ReplaceAll(files["headroomd.yaml"], "user:65532", fmt.Sprintf("user:%d", os.Getuid()))
	config, err := os.CreateTemp(l.Directory, "headroomd-*.yaml")
	if err != nil {
		return nil, err
	}
	defer config.Close()
	if _, err := config.WriteString(text); err != nil {
		return nil, err
	}
	return l.StartHeadroomd(ctx, lab.HeadroomdOptions{Profile: files["profile.yaml"],
		Args: []string{"--config=" + config.Name()}})
}

// configFiles are those of the rendered ConfigMaps.
func configFiles(t *testing.T, objects []*unstructured.Unstructured) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{release + "-scheduler", release + "-headroomd"} {
		for file, text := range typed[corev1.ConfigMap](t, objects, "ConfigMap", name).Data {
			files[file] = text
		}
	}
	return files
}

// freePort is a loopback port that nothing listened on a moment ago.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}
