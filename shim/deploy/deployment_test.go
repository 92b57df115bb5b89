package deploy

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"headroom.dev/shim/lab"
)

// deployment plays what makes pods of the chart's Deployment, and runs one of them.
type deployment struct {
	reader *reader
	mutex  sync.Mutex
	pod    pod
}

func playDeployment(r *reader) *deployment {
	d := &deployment{reader: r}
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := d.play(ctx); err != nil && ctx.Err() == nil {
				r.Errorf("a pod of the Deployment: %v", err)
				return
			}
			time.Sleep(playEvery)
		}
	}()
	r.Cleanup(func() { cancel(); <-ended })
	return d
}

func (d *deployment) current() pod {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.pod
}

// play replaces the pod where the Deployment is another.
func (d *deployment) play(ctx context.Context) error {
	deployments := d.reader.plane.Client.AppsV1().Deployments(namespace)
	wanted, err := deployments.Get(ctx, release, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && wanted.Status.ObservedGeneration == wanted.Generation {
		return nil
	}
	if err != nil {
		return err
	}
	files, account := d.files(ctx), wanted.Spec.Template.Spec.ServiceAccountName
	before := d.current()
	if err := before.stop(); err != nil {
		return err
	}
	now := pod{lab: d.reader.lab, plane: d.reader.plane}
	if err := now.start(ctx, account, files); err != nil {
		return err
	}
	d.mutex.Lock()
	d.pod = now
	d.mutex.Unlock()
	if err := lab.Eventually(ctx, patience, func() error {
		_, err := d.reader.plane.Client.CoordinationV1().Leases(namespace).Get(ctx, release, metav1.GetOptions{})
		return errors.Join(err, now.headroomd.Ready(ctx), answers(ctx, now.schedulerPort, "/readyz", ""))
	}); err != nil {
		return err
	}
	replicas := *wanted.Spec.Replicas
	wanted.Status.ObservedGeneration = wanted.Generation
	wanted.Status.Replicas, wanted.Status.UpdatedReplicas = replicas, replicas
	wanted.Status.ReadyReplicas, wanted.Status.AvailableReplicas = replicas, replicas
	_, err = deployments.UpdateStatus(ctx, wanted, metav1.UpdateOptions{})
	return err
}

// files of the release's ConfigMaps, as they are now.
func (d *deployment) files(ctx context.Context) map[string]string {
	files := map[string]string{}
	maps, err := d.reader.plane.Client.CoreV1().ConfigMaps(namespace).List(ctx, ofRelease)
	if err != nil {
		d.reader.Errorf("the release's ConfigMaps: %v", err)
	}
	for i := range maps.Items {
		for name, text := range maps.Items[i].Data {
			files[name] = text
		}
	}
	return files
}
