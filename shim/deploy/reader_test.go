package deploy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/client"
	"headroom.dev/shim/lab"
)

// reader follows the pages step by step, as root on a machine of a control plane would: in a directory that has
// deploy/ and the built programs of the repository, with a node that takes pods.
type reader struct {
	*testing.T
	ctx       context.Context
	lab       *lab.Lab
	plane     *lab.ControlPlane
	directory string
	// What the page says to put in where places are others; nil: nothing.
	substitute *strings.Replacer
	// Commands that nothing here can run, by their first word.
	played map[string]func(arguments []string) error
	pods   int
}

// newReader skips where a program is missing.
func newReader(t *testing.T) *reader {
	t.Helper()
	ctx, l, plane := startPlane(t)
	if err := l.Binaries.HasHeadroom(); err != nil {
		t.Skip(err)
	}
	bin := filepath.Dir(l.Binaries.ControlPlane)
	for _, program := range []string{filepath.Join(bin, "helm"), filepath.Join(bin, "kubectl"), "bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("the pages' commands need it: ", err)
		}
	}
	r := &reader{T: t, ctx: ctx, lab: l, plane: plane, directory: filepath.Join(l.Directory, "repository"),
		substitute: strings.NewReplacer()}
	r.link("../../deploy", "deploy")
	r.link(l.Binaries.Headroomd, "build/release/bin/headroomd")
	r.link(l.Binaries.Scheduler, "build/go/bin/kube-scheduler-headroom")
	r.ok(plane.CreateNodes(ctx, lab.Node("n1")))
	r.endPods()
	return r
}

func (r *reader) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *reader) link(target, name string) {
	r.Helper()
	target, err := filepath.Abs(target)
	r.ok(err)
	name = filepath.Join(r.directory, name)
	r.ok(os.MkdirAll(filepath.Dir(name), 0o700))
	r.ok(os.Symlink(target, name))
}

// endPods plays the kubelet for pods that are to end.
func (r *reader) endPods() {
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pods, now := r.plane.Client.CoreV1().Pods(corev1.NamespaceDefault), int64(0)
		for ctx.Err() == nil {
			// Whatever fails is tried again, and what never succeeds keeps kubectl delete waiting.
			list, err := pods.List(ctx, metav1.ListOptions{})
			for i := range list.Items {
				if err == nil && list.Items[i].DeletionTimestamp != nil {
					_ = pods.Delete(ctx, list.Items[i].Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
				}
			}
			time.Sleep(playEvery)
		}
	}()
	r.Cleanup(func() { cancel(); <-ended })
}

// playEvery is how often is looked for what is to be played.
const playEvery = 100 * time.Millisecond

// follow does what a section of a page says.
func (r *reader) follow(page, title string) {
	r.Helper()
	for _, step := range steps(r.T, page, title) {
		if step.file != "" {
			r.write(step.file, step.text)
		}
		for _, command := range step.commands {
			r.run(page, command)
		}
	}
}

// write puts a text of a page where the page says.
func (r *reader) write(name, text string) {
	r.Helper()
	path := r.substitute.Replace(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.directory, path)
	}
	r.ok(os.WriteFile(path, []byte(r.substitute.Replace(text)), 0o644))
}

func (r *reader) run(page, command string) {
	r.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	words := strings.Fields(command)
	if len(words) == 0 {
		return
	}
	if play := r.played[words[0]]; play != nil {
		if err := play(words[1:]); err != nil {
			r.Fatalf("%s: %s: %v", page, command, err)
		}
		return
	}
	shell := exec.CommandContext(ctx, "bash", "-c", r.substitute.Replace(command))
	shell.Dir = r.directory
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(r.lab.Binaries.ControlPlane)+":"+os.Getenv("PATH"),
		"HOME="+r.directory, "KUBECONFIG="+r.plane.Kubeconfig)
	out, err := shell.CombinedOutput()
	if err != nil {
		r.Fatalf("%s: %s: %v\n%s", page, command, err, out)
	}
	r.Logf("%s: %s: %.1f s\n%s", page, command, time.Since(begin).Seconds(), out)
}

// scheduled: headroomd decides by a profile with LimitAware of this weight, and a new pod gets a node, after
// headroomd was asked for one.
func (r *reader) scheduled(socket, metrics string, weight int64) {
	r.Helper()
	r.ok(lab.Eventually(r.ctx, patience, func() error { return r.decidesBy(socket, weight) }))
	before := r.decisions(metrics)
	r.pods++
	name := fmt.Sprintf("pod-%d", r.pods)
	r.ok(r.plane.CreatePods(r.ctx, lab.Pod("default", name, lab.ScheduledBy("headroom-scheduler"))))
	_, err := r.plane.AwaitBound(r.ctx, patience, "default", name)
	r.ok(err)
	if after := r.decisions(metrics); after <= before {
		r.Errorf("%s is bound, and headroomd decided on nothing", name)
	}
}

// decidesBy asks headroomd itself; with a new profile it does after its next resync.
func (r *reader) decidesBy(socket string, weight int64) error {
	address, err := client.ParseAddress("unix://" + socket)
	if err != nil {
		return err
	}
	asks := client.New(address, client.Options{Name: "pages", Timeout: patience})
	defer asks.Close()
	if _, err := asks.Stats(r.ctx, client.StatsOptions{}); err != nil {
		return err
	}
	plugins := asks.Greeting().Profiles[0].Plugins
	for _, plugin := range plugins {
		if plugin.Name == "LimitAware" && plugin.Weight == weight {
			return nil
		}
	}
	return fmt.Errorf("headroomd's profile has no LimitAware of weight %d: %v", weight, plugins)
}

// decisions of headroomd since its start.
func (r *reader) decisions(metrics string) float64 {
	r.Helper()
	request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, metrics+"/metrics", nil)
	r.ok(err)
	response, err := http.DefaultClient.Do(request)
	r.ok(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	r.ok(err)
	sum := 0.0
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "headroomd_decisions_total{") {
			var value float64
			_, err := fmt.Sscan(line[strings.LastIndex(line, " ")+1:], &value)
			r.ok(err)
			sum += value
		}
	}
	return sum
}
