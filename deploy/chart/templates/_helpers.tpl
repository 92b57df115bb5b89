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

{{/* "true" where CapacityScheduling is on at one of some extension points, a list behind the root. No
     plugins section stands for all of headroomd's plugins. */}}
{{- define "headroom.capacityScheduling" -}}
{{- $plugins := (first .).Values.policy.plugins -}}
{{- if not $plugins -}}
true
{{- else -}}
{{- range $point := rest . -}}
{{- range (dig $point "enabled" list $plugins) -}}
{{- if eq .name "CapacityScheduling" -}}true{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Where headroomd preempts. */}}
{{- define "headroom.preempts" -}}
{{- include "headroom.capacityScheduling" (list . "multiPoint" "postFilter") -}}
{{- end -}}

{{/* Where it rejects by quotas. */}}
{{- define "headroom.quotas" -}}
{{- include "headroom.capacityScheduling" (list . "multiPoint" "preFilter") -}}
{{- end -}}
