{{/* The name of everything that the release has one of. */}}
{{- define "headroom.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "headroom.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "headroom.labels" -}}
{{ include "headroom.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The image of one program: a list of the root and its entry in images. */}}
{{- define "headroom.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- printf "%s:%s" $image.repository ($image.tag | default $root.Chart.AppVersion) | quote -}}
{{- end -}}

{{/* Of every container. */}}
{{- define "headroom.securityContext" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
{{- end -}}

{{/* "true" where headroomd preempts: multiPoint or postFilter has CapacityScheduling, or there is no
     plugins section, which stands for all of its plugins. */}}
{{- define "headroom.preempts" -}}
{{- $plugins := .Values.policy.plugins -}}
{{- if not $plugins -}}
true
{{- else -}}
{{- range $point := list "multiPoint" "postFilter" -}}
{{- range (dig $point "enabled" list $plugins) -}}
{{- if eq .name "CapacityScheduling" -}}true{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
