{{/* The name of everything that the release has one of in its namespace. */}}
{{- define "headroom.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The name of rights that have no namespace, or stand in another: no two releases of a cluster share it, as no other
     name has a colon. */}}
{{- define "headroom.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "headroom.name" .) -}}
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
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The image of one program: a list of the root and its entry in images. */}}
{{- define "headroom.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest | quote -}}
{{- else -}}
{{- printf "%s:%s" $image.repository ($image.tag | default $root.Chart.AppVersion) | quote -}}
{{- end -}}
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

{{/* The plugins of kube-scheduler's profile: Headroom, then yours. */}}
{{- define "headroom.schedulerPlugins" -}}
{{- $plugins := deepCopy .Values.scheduler.plugins -}}
{{/* Above 100 times the sum of the other weights: headroomd's ranking decides, and the other plugins' preferences among
     nodes that it ranks the same. Named once more at postFilter, it comes before kube-scheduler's own. Where headroomd
     preempts, it chooses victims by quotas. */}}
{{- $others := include "headroom.preempts" . | empty | ternary list (list (dict "name" "DefaultPreemption")) -}}
{{- $headroom := dict
      "multiPoint" (dict "enabled" (list (dict "name" "Headroom" "weight" 10000)) "disabled" $others)
      "postFilter" (dict "enabled" (list (dict "name" "Headroom"))) -}}
{{- range $point, $first := $headroom -}}
{{- $set := dict -}}
{{- range $which := list "enabled" "disabled" -}}
{{- with concat (dig $which list $first) (dig $point $which list $plugins) -}}
{{- $_ := set $set $which . -}}
{{- end -}}
{{- end -}}
{{- $_ := set $plugins $point $set -}}
{{- end -}}
{{- toYaml $plugins -}}
{{- end -}}
