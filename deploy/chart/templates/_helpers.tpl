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

{{/* kube-scheduler's profiles: the names, with the plugins of the policy that decides for each. Those that have none of
     their own say whose it is, where there are several. */}}
{{- define "headroom.schedulers" -}}
{{- $schedulers := list -}}
{{- $shared := first .Values.schedulerNames -}}
{{- range .Values.schedulerNames -}}
{{- $other := and (gt (len $.Values.policies) 0) (ne . $shared) -}}
{{- $schedulers = append $schedulers (dict "schedulerName" . "plugins" $.Values.policy.plugins "profile" ($other | ternary $shared "")) -}}
{{- end -}}
{{- $names := .Values.schedulerNames -}}
{{- range .Values.policies -}}
{{- if has .schedulerName $names -}}
{{- fail (printf "policies: schedulerName %s has a policy already: names are unique among schedulerNames and policies" .schedulerName) -}}
{{- end -}}
{{- $names = append $names .schedulerName -}}
{{- $schedulers = append $schedulers (dict "schedulerName" .schedulerName "plugins" .plugins) -}}
{{- end -}}
{{- toJson $schedulers -}}
{{- end -}}

{{/* "true" where headroomd rejects by quotas and preempts, by a policy of these plugins: where CapacityScheduling is on
     at postFilter, there or from multiPoint, as kube-scheduler reads the two. None stand for all of headroomd's
     plugins. */}}
{{- define "headroom.capacityScheduling" -}}
{{- $on := not . -}}
{{- $plugins := default dict . -}}
{{- range dig "multiPoint" "enabled" list $plugins -}}
{{- if eq .name "CapacityScheduling" -}}{{- $on = true -}}{{- end -}}
{{- end -}}
{{- range dig "postFilter" "disabled" list $plugins -}}
{{- if has .name (list "*" "CapacityScheduling") -}}{{- $on = false -}}{{- end -}}
{{- end -}}
{{- range dig "postFilter" "enabled" list $plugins -}}
{{- if eq .name "CapacityScheduling" -}}{{- $on = true -}}{{- end -}}
{{- end -}}
{{- $on | ternary "true" "" -}}
{{- end -}}

{{/* Names of kube-scheduler's plugins for which Headroom's of the same name stand: not where plugin.deferred is off, and
     not those that scheduler.plugins names at some extension point, or has taken off with all others. */}}
{{- define "headroom.deferred" -}}
{{- $named := dict -}}
{{- range $point, $set := .Values.scheduler.plugins -}}
{{- range concat (dig "enabled" list $set) (dig "disabled" list $set) -}}
{{- $_ := set $named (trimPrefix "Headroom" .name) true -}}
{{- if and (eq $point "multiPoint") (eq .name "*") -}}
{{- range list "PodTopologySpread" "InterPodAffinity" -}}
{{- $_ := set $named . true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $deferred := list -}}
{{- if .Values.plugin.deferred -}}
{{- range list "PodTopologySpread" "InterPodAffinity" -}}
{{- if not (hasKey $named .) -}}
{{- $deferred = append $deferred . -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $deferred -}}
{{- end -}}

{{/* The plugins of a profile of kube-scheduler: Headroom, then yours. A list of the root and the plugins of its policy. */}}
{{- define "headroom.schedulerPlugins" -}}
{{- $root := first . -}}
{{- $plugins := deepCopy $root.Values.scheduler.plugins -}}
{{/* Above 100 times the sum of the other weights: headroomd's ranking decides, and the other plugins' preferences among
     nodes that it ranks the same. Named once more at postFilter, it comes before kube-scheduler's own. Where headroomd
     preempts, it chooses victims by quotas. Plugins that stand for others have their weight, and come behind Headroom,
     whose PreFilter they ask. */}}
{{- $enabled := list (dict "name" "Headroom" "weight" 10000) -}}
{{- $disabled := list -}}
{{- if include "headroom.capacityScheduling" (last .) -}}
{{- $disabled = append $disabled (dict "name" "DefaultPreemption") -}}
{{- end -}}
{{- range include "headroom.deferred" $root | fromJsonArray -}}
{{- $enabled = append $enabled (dict "name" (printf "Headroom%s" .) "weight" 2) -}}
{{- $disabled = append $disabled (dict "name" .) -}}
{{- end -}}
{{- $headroom := dict
      "multiPoint" (dict "enabled" $enabled "disabled" $disabled)
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

{{/* scheduler.pluginConfig: arguments of a plugin for which another stands are that one's. */}}
{{- define "headroom.pluginConfig" -}}
{{- $deferred := include "headroom.deferred" . | fromJsonArray -}}
{{- $configs := list -}}
{{- range .Values.scheduler.pluginConfig -}}
{{- $configs = append $configs (has .name $deferred | ternary (dict "name" (printf "Headroom%s" .name) "args" .args) .) -}}
{{- end -}}
{{- with $configs -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}
