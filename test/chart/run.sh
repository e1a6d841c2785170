#!/usr/bin/env bash
# Renders deploy/helm/tally with three files of values, and looks at the objects. Then it breaks them one by one, and each
# fault must be found. It needs Go and Python, and builds Helm once, in some minutes. No Kubernetes runs: admission,
# rollouts and what the Prometheus Operator does with its objects are not looked at.
set -euo pipefail
cd "$(dirname "$0")/../.."

HELM=3.22.0
KUBERNETES=1.37.0
CHART=deploy/helm/tally
# The cache has what does not depend on Tally.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tally-chart
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$*" >&2
  exit 1
}

mkdir -p "$cache"
if [ ! -e "$cache/helm-$HELM" ]; then
  GOBIN=$cache/go go install "helm.sh/helm/v3/cmd/helm@v$HELM"
  mv "$cache/go/helm" "$cache/helm-$HELM"
fi
validator=$cache/kubernetes-validate-$KUBERNETES/bin/kubernetes-validate
if [ ! -e "$validator" ]; then
  python3 -m venv "$cache/kubernetes-validate-$KUBERNETES"
  "$cache/kubernetes-validate-$KUBERNETES/bin/pip" install --quiet "kubernetes-validate==$KUBERNETES"
fi
# A line for each symbolic link is no news.
helm() { "$cache/helm-$HELM" "$@" 2> >(grep -v 'found symbolic link' >&2); }
render() { helm template tally "$CHART" --kube-version "$KUBERNETES" "$@"; }
validate() { "$validator" --strict --quiet --kubernetes-version "$KUBERNETES" "$1"; }
check() { node --enable-source-maps dist/test/chart/check-objects.main.js "$1" "$work/core.yaml"; }

for values in test/chart/values/*.yaml; do
  name=$(basename "$values" .yaml)
  helm lint --strict --quiet --kube-version "$KUBERNETES" "$CHART" --values "$values"
  render --values "$values" > "$work/$name.yaml"
  check "$work/$name.yaml"
  validate "$work/core.yaml"
done

# nginx takes its settings as another user, who may write one folder only. Names of Services are those of this machine.
if command -v nginx > /dev/null; then
  mkdir --mode=777 "$work/tmp"
  chmod o+x "$work"
  node -e 'for (const one of require("js-yaml").loadAll(fs.readFileSync(process.argv[1], "utf8")))
    if (one?.kind === "ConfigMap") for (const [name, text] of Object.entries(one.data))
      fs.writeFileSync(`${process.argv[2]}/${name}`, text)' "$work/everything.yaml" "$work"
  sed -i "s#/tmp/#$work/tmp/#; s#/etc/nginx/tally#$work#; s#tally-\(gateway\|api\):#127.0.0.1:#" "$work/nginx.conf"
  setpriv --reuid=10101 --regid=10101 --clear-groups nginx -t -q -e stderr -c "$work/nginx.conf"
fi

# A package has the files behind the links.
helm package "$CHART" --destination "$work" > /dev/null
"$cache/helm-$HELM" template tally "$work"/tally-*.tgz --kube-version "$KUBERNETES" \
  --values test/chart/values/everything.yaml | sed 's#^\(\# Source: \).*#\1#' > "$work/packed.yaml"
sed 's#^\(\# Source: \).*#\1#' "$work/everything.yaml" | cmp - "$work/packed.yaml" || fail 'a package renders something else'

# What a person may get wrong, and helm refuses: a message, and the values.
refused() {
  render "${@:2}" > /dev/null 2> "$work/said" && fail "rendered with ${*:2}"
  grep -q "$1" "$work/said" || fail "${*:2}: $(cat "$work/said")"
}
refused 'settings: CONSOEL is not read' --set settings.CONSOEL=off
refused 'settings of loader: CONSOLE is not read' --set loader.settings.CONSOLE=off
refused 'DATABASE_URL is not set here' --set settings.DATABASE_URL=postgres://a:b@c/d
refused 'memory must be in Mi or Gi' --set api.resources.limits.memory=512M
refused 'each of loaders has a name' --set loaders[0].replicas=2

# What a template may get wrong: a message of the check, and an edit of the objects.
broken() {
  sed "$2" "$work/everything.yaml" > "$work/broken.yaml"
  cmp -s "$work/everything.yaml" "$work/broken.yaml" && fail "$2 changes nothing"
  check "$work/broken.yaml" > "$work/said" 2>&1 && fail "not found: $2"
  grep -q "$1" "$work/said" || fail "$2: $(cat "$work/said")"
}
broken 'ADMIN_HOTS is no setting of npm run rollup' 's/name: ADMIN_HOST/name: ADMIN_HOTS/'
broken 'SHUTDOWN_DELAY_MS must be a whole number' 's/value: "12000"/value: "12 s"/'
broken 'RATE_LIMIT_EVENTS_PER_S must be' 's/value: "2000000"/value: "2e+06"/'
broken 'KAFKA_CA_FILE cannot be read' 's#/etc/tally/kafka/#/etc/tally/kafak/#'
broken 'DATABASE_URL is missing' 's/key: DATABASE_URL/key: DATABASE_ULR/'
broken 'tally-api: has passwords of owners' 's/key: CLICKHOUSE_URL/key: CLICKHOUSE_OWNER_URL/'
broken 'security context of the pod' 's/runAsNonRoot: true/runAsNonRoot: false/'
broken 'security context of the container' 's/readOnlyRootFilesystem: true/readOnlyRootFilesystem: false/'
broken 'has a token' 's/automountServiceAccountToken: false/automountServiceAccountToken: true/'
broken 'tally-refill: requests' 's/"cpu":"100m",//'
broken 'tally-loader: limits' 's/"limits":{/"limits":{"cpu":"1",/'
broken 'tally-loader: heap' 's/max-old-space-size=768/max-old-space-size=1024/'
broken 'cannot be written' 's#mountPath: /tmp#mountPath: /temp#'
broken 'liveness' 's#path: /livez#path: /readyz#'
broken 'tally-nginx: readiness' 's/readinessProbe:/startupProbe:/'
broken 'tally-gateway: ports' 's/containerPort: 9465/containerPort: 9464/'
broken 'port http is missing' 's/name: http, containerPort/name: web, containerPort/'
broken 'selects the pods of 0' 's/^    app.kubernetes.io\/component: api/    app.kubernetes.io\/component: apis/'
broken 'its service account comes later' 's/helm.sh\/hook-weight.*//; s/serviceAccountName: tally-migrate/serviceAccountName: tally/'
broken 'ConfigMap is missing' 's/configMap: { name: tally-nginx/configMap: { name: tally-ngnix/'
broken 'is not rules.yaml' 's/> 0.01/> 0.02/'
# A field that Kubernetes does not know, and one that is missing.
for edit in 's/minReadySeconds/minReadySecond/' 's/^  selector:/  selectors:/'; do
  check "$work/everything.yaml" > /dev/null
  sed -i "$edit" "$work/core.yaml"
  validate "$work/core.yaml" > /dev/null 2>&1 && fail "not found: $edit"
done
echo 'the chart is as it should be'
