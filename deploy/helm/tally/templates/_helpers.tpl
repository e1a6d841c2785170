{{- /* The name of everything: that of the release, which contains `tally`. The alerts for jobs rely on that. */}}
{{- define "tally.name" -}}
{{- if contains "tally" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-tally" (.Release.Name | trunc 34 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- /* Labels by which pods are selected: root, name (gateway, loader-a, …). */}}
{{- define "tally.selector" -}}
app.kubernetes.io/name: tally
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "tally.labels" -}}
{{ include "tally.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- /* Settings that come from the Secret, by their names. */}}
{{- define "tally.secretKeys" -}}
[CLICKHOUSE_URL, DATABASE_OWNER_URL, DATABASE_URL, KAFKA_SASL_PASSWORD, KAFKA_SASL_USERNAME, REDIS_URL]
{{- end }}

{{- /* Refuses settings that nobody reads, and those that are given elsewhere: root, place, settings, known. */}}
{{- define "tally.requireKnown" -}}
{{- $place := .place }}{{ $known := .known }}
{{- $elsewhere := concat (include "tally.secretKeys" . | fromYamlArray) (list "PORT" "ADMIN_PORT" "DATA_DIR") }}
{{- range $name, $value := .settings }}
{{- if has $name $elsewhere }}{{ fail (printf "%s: %s is not set here (values.yaml)" $place $name) }}{{ end }}
{{- if not (has $name $known) }}{{ fail (printf "%s: %s is not read (docs/reference/settings.md)" $place $name) }}{{ end }}
{{- end }}
{{- end }}

{{- /* A value as Tally reads it: YAML takes on for true, and large numbers for fractions. */}}
{{- define "tally.text" -}}
{{- if kindIs "bool" . }}{{ ternary "on" "off" . }}
{{- else if kindIs "float64" . }}{{ int64 . }}
{{- else }}{{ . }}{{ end }}
{{- end }}

{{- /* The environment of a process, of the settings that it reads: root, kind (a key of settings.json), own settings. */}}
{{- define "tally.env" -}}
{{- $root := .root }}{{ $kind := .kind }}
{{- $known := get ($root.Files.Get "files/settings.json" | fromJson) $kind }}
{{- $chosen := dict "HOST" "0.0.0.0" "ADMIN_HOST" "0.0.0.0" "SHUTDOWN_DELAY_MS" 8000 }}
{{- range $name, $value := mergeOverwrite $chosen (deepCopy $root.Values.settings) (deepCopy .own) }}
{{- if has $name $known }}
- name: {{ $name }}
  value: {{ include "tally.text" $value | quote }}
{{- end }}
{{- end }}
{{- range $name := include "tally.secretKeys" . | fromYamlArray }}
{{- if has $name $known }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $root.Values.secrets.existingSecret }}
      key: {{ if and (eq $kind "migrate") (eq $name "CLICKHOUSE_URL") }}CLICKHOUSE_OWNER_URL{{ else }}{{ $name }}{{ end }}
      {{- if regexMatch "^(REDIS|KAFKA)_" $name }}
      optional: true
      {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tally.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- /* Three quarters of a container's memory, in MB. */}}
{{- define "tally.heapMb" -}}
{{- $memory := .limits.memory }}
{{- if not (regexMatch "^[0-9]+(Mi|Gi)$" $memory) }}{{ fail (printf "memory must be in Mi or Gi: %s" $memory) }}{{ end }}
{{- $size := regexFind "^[0-9]+" $memory | int }}
{{- div (mul 3 $size (hasSuffix "Gi" $memory | ternary 1024 1)) 4 }}
{{- end }}

{{- /* What every pod has: root, user, affinity, tolerations, serviceAccount. */}}
{{- define "tally.pod" -}}
serviceAccountName: {{ .serviceAccount }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  fsGroup: {{ .user }}
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "tally.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- /* Where a process of Tally may write, and certificates. */}}
{{- define "tally.mounts" -}}
volumeMounts:
  - { name: tmp, mountPath: /tmp }
  {{- range $name, $secret := .Values.secrets.certificates }}
  - { name: {{ $name }}-certificates, mountPath: /etc/tally/{{ $name }}, readOnly: true }
  {{- end }}
{{- end }}
{{- define "tally.volumes" -}}
volumes:
  - { name: tmp, emptyDir: {} }
  {{- range $name, $secret := .Values.secrets.certificates }}
  - { name: {{ $name }}-certificates, secret: { secretName: {{ $secret }} } }
  {{- end }}
{{- end }}

{{- /* A pod that runs a program to its end: root, name, serviceAccount, kind, args or shell, resources. */}}
{{- define "tally.jobPod" -}}
restartPolicy: Never
{{ include "tally.pod" (dict "root" .root "user" 10001 "serviceAccount" .serviceAccount) }}
containers:
  - name: {{ .name }}
    {{- include "tally.image" .root | nindent 4 }}
    {{- $heap := printf "--max-old-space-size=%s" (include "tally.heapMb" .resources) }}
    {{- with .shell }}
    command: [sh, -c, {{ printf "exec node --enable-source-maps %s %s" $heap . | quote }}]
    {{- end }}
    {{- with .args }}
    args: {{ concat (list $heap) . | toJson }}
    {{- end }}
    env:
      {{- include "tally.env" (dict "root" .root "kind" .kind "own" dict) | nindent 6 }}
    resources: {{ toJson .resources }}
    {{- include "tally.containerSecurity" . | nindent 4 }}
    {{- include "tally.mounts" .root | nindent 4 }}
{{ include "tally.volumes" .root }}
{{- end }}
