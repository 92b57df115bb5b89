package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"headroom.dev/shim/lab"
)

// newMetricsAPI is as much of an API server as the plugin needs to follow NodeMetrics that never change;
// other custom resources are not installed. Close it.
func newMetricsAPI(metrics []*unstructured.Unstructured) (*httptest.Server, *rest.Config, error) {
	group := lab.NodeMetrics.GroupVersion().String()
	list := map[string]any{"apiVersion": group, "kind": "NodeMetricList",
		"metadata": map[string]any{"resourceVersion": "1"}, "items": metrics}
	listed, err := json.Marshal(list)
	if err != nil {
		return nil, nil, err
	}
	resources, err := json.Marshal(metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"},
		GroupVersion: group,
		APIResources: []metav1.APIResource{{Name: lab.NodeMetrics.Resource, Kind: "NodeMetric", Verbs: []string{"list", "watch"}}},
	})
	if err != nil {
		return nil, nil, err
	}
	send := func(w http.ResponseWriter, body []byte) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // a client that is gone is no concern of ours
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/apis/"+group, func(w http.ResponseWriter, _ *http.Request) { send(w, resources) })
	mux.HandleFunc("/apis/"+group+"/"+lab.NodeMetrics.Resource, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case query.Get("sendInitialEvents") == "true":
			http.Error(w, "list, then watch", http.StatusBadRequest)
		case query.Get("watch") == "true" || query.Get("watch") == "1":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			send(w, listed)
		}
	})
	server := httptest.NewServer(mux)
	return server, &rest.Config{Host: server.URL}, nil
}
