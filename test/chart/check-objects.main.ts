import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { dump, load, loadAll } from 'js-yaml'
import { EnvReader } from '../../shared/config/env-reader.ts'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { SERVICE_READERS } from '../../tools/generate/service-readers.ts'

interface Container {
  name: string
  command?: string[]
  args?: string[]
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef: { key: string } } }[]
  ports?: { name: string; containerPort: number }[]
  volumeMounts?: { name: string; mountPath: string }[]
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> }
  securityContext?: object
  livenessProbe?: { httpGet?: { path: string }; tcpSocket?: object }
  readinessProbe?: { httpGet?: { path: string }; tcpSocket?: object }
}

interface PodSpec {
  serviceAccountName?: string
  automountServiceAccountToken?: boolean
  securityContext?: { runAsNonRoot?: boolean; runAsUser?: number; seccompProfile?: { type: string } }
  containers: Container[]
  volumes?: { name: string; emptyDir?: object; secret?: object; configMap?: { name: string } }[]
}

interface KubernetesObject {
  apiVersion: string
  kind: string
  metadata: { name: string; annotations?: Record<string, string> }
  spec?: {
    template?: { metadata: { labels: Record<string, string> }; spec: PodSpec }
    jobTemplate?: { spec: { template: { spec: PodSpec } } }
    selector?: Record<string, string>
    ports?: { targetPort: string }[]
    groups?: unknown[]
  }
}

/** Values for the keys of the Secret. */
const SECRET: Record<string, string> = {
  DATABASE_URL: 'postgres://tally_service:x@db:5432/tally',
  CLICKHOUSE_URL: 'https://tally_service:x@clickhouse:8443',
  DATABASE_OWNER_URL: 'postgres://tally_owner:x@db:5432/tally',
  CLICKHOUSE_OWNER_URL: 'https://tally_owner:x@clickhouse:8443',
  REDIS_URL: 'rediss://:x@redis:6380',
  KAFKA_SASL_USERNAME: 'tally',
  KAFKA_SASL_PASSWORD: 'x',
}
/** Who may have the passwords of owners. */
const OWNERS = ['migrate', 'contract']

const problems: string[] = []
function require(isSo: boolean, problem: string): void {
  if (!isSo) problems.push(problem)
}

/**
 * `node check-objects.main.js RENDERED CORE`: looks at the objects that helm has rendered into a file, and writes those
 * that Kubernetes itself knows into another.
 */
function main(): void {
  const [rendered = '', core = ''] = process.argv.slice(2)
  const objects = (loadAll(readFileSync(rendered, 'utf8')) as (KubernetesObject | null)[]).filter(
    (one) => one !== null,
  )
  writeFileSync(
    core,
    objects
      .filter(({ apiVersion }) => !apiVersion.startsWith('monitoring.'))
      .map((one) => `---\n${dump(one)}`)
      .join(''),
  )
  const folder = mkdtempSync(path.join(tmpdir(), 'chart-'))
  for (const one of objects) checkObject(one, objects, folder)
  rmSync(folder, { recursive: true })
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  process.stdout.write(`${objects.length} objects, ${problems.length} problems\n`)
  process.exitCode = problems.length === 0 ? 0 : 1
}

function checkObject(one: KubernetesObject, objects: readonly KubernetesObject[], folder: string): void {
  const where = `${one.kind} ${one.metadata.name}`
  if (one.kind === 'Service') checkService(one, objects, where)
  if (one.kind === 'PrometheusRule') {
    const rules = load(readFileSync(path.join(PROJECT_ROOT, 'deploy/monitoring/rules.yaml'), 'utf8')) as {
      groups: unknown[]
    }
    require(isDeepStrictEqual(one.spec?.groups, rules.groups), `${where}: is not rules.yaml`)
  }
  const pod = one.spec?.template?.spec ?? one.spec?.jobTemplate?.spec.template.spec
  if (pod === undefined) return
  checkPod(pod, objects, where)
  const isHook = (object?: KubernetesObject) => object?.metadata.annotations?.['helm.sh/hook'] !== undefined
  const account = objects.find(
    ({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === pod.serviceAccountName,
  )
  require(account !== undefined, `${where}: its service account is missing`)
  require(!isHook(one) || isHook(account), `${where}: its service account comes later`)
  for (const container of pod.containers) {
    checkContainer(container, where)
    if (one.kind === 'Deployment') checkProbes(container, where)
    if (one.kind === 'Deployment' && container.name in SERVICE_READERS) checkPorts(container, where)
    if (container.name !== 'nginx') checkSettings(container, pod, where, folder)
  }
}

function checkService({ spec }: KubernetesObject, objects: readonly KubernetesObject[], where: string): void {
  const pods = objects.flatMap((one) => (one.kind === 'Deployment' ? [one.spec?.template] : []))
  const selected = pods.filter((pod) =>
    Object.entries(spec?.selector ?? {}).every(([label, value]) => pod?.metadata.labels[label] === value),
  )
  require(selected.length === 1, `${where}: selects the pods of ${selected.length} Deployments`)
  const open = selected[0]?.spec.containers.flatMap(({ ports = [] }) => ports.map(({ name }) => name)) ?? []
  for (const { targetPort } of spec?.ports ?? [])
    require(open.includes(targetPort), `${where}: port ${targetPort} is missing`)
}

function checkPod(pod: PodSpec, objects: readonly KubernetesObject[], where: string): void {
  const { runAsNonRoot, runAsUser = 0, seccompProfile } = pod.securityContext ?? {}
  require(runAsNonRoot === true &&
    runAsUser > 0 &&
    seccompProfile?.type === 'RuntimeDefault', `${where}: security context of the pod`)
  require(pod.automountServiceAccountToken === false, `${where}: has a token`)
  for (const { configMap } of pod.volumes ?? [])
    require(configMap === undefined ||
      objects.some(
        ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMap.name,
      ), `${where}: ConfigMap is missing`)
}

function checkContainer(container: Container, where: string): void {
  const { resources: { requests = {}, limits = {} } = {}, args = [], command = [], env = [] } = container
  require(isDeepStrictEqual(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  }), `${where}: security context of the container`)
  require(isDeepStrictEqual(Object.keys(requests).sort(), ['cpu', 'memory']), `${where}: requests`)
  require(isDeepStrictEqual(Object.keys(limits), ['memory']), `${where}: limits`)
  require(container.volumeMounts?.some(({ mountPath }) => mountPath === '/tmp') ===
    true, `${where}: /tmp cannot be written`)
  const ownerKeys = env.filter(({ valueFrom }) => valueFrom?.secretKeyRef.key.includes('OWNER'))
  require(ownerKeys.length === 0 || OWNERS.includes(container.name), `${where}: has passwords of owners`)
  const [, heap] = /--max-old-space-size=(\d+)/.exec([...command, ...args].join(' ')) ?? []
  const [, size, unit] = /^(\d+)(Mi|Gi)$/.exec(limits['memory'] ?? '') ?? []
  const mb = Number(size) * (unit === 'Gi' ? 1_024 : 1)
  require(container.name === 'nginx' ||
    Number(heap) === Math.floor(0.75 * mb), `${where}: heap ${heap ?? ''}`)
}

function checkProbes({ name, livenessProbe, readinessProbe }: Container, where: string): void {
  const asks = (probe: Container['livenessProbe'], target: string) =>
    name === 'nginx' ? probe?.tcpSocket !== undefined : probe?.httpGet?.path === target
  require(asks(livenessProbe, '/livez'), `${where}: liveness`)
  require(asks(readinessProbe, '/readyz'), `${where}: readiness`)
}

/** The services listen on their default ports. */
function checkPorts({ name, ports = [] }: Container, where: string): void {
  const config = SERVICE_READERS[name]?.(new EnvReader({}))
  const open = Object.fromEntries(ports.map((port) => [port.name, port.containerPort]))
  const expected = { admin: config?.admin.port, ...(config?.port === undefined ? {} : { http: config.port }) }
  require(isDeepStrictEqual(open, expected), `${where}: ports`)
}

/** Runs the program with the variables of its container and no others. Files of Secrets are in the folder. */
function checkSettings(container: Container, pod: PodSpec, where: string, folder: string): void {
  const { command = [], args = [], env = [], volumeMounts = [] } = container
  const words = [...command, ...args].join(' ').split(' ')
  const entry = words.findIndex((word) => word.startsWith('dist/'))
  const main = words[entry] ?? ''
  const mounts = volumeMounts.filter(({ name }) =>
    pod.volumes?.some((volume) => volume.name === name && volume.secret !== undefined),
  )
  for (const { mountPath } of mounts) {
    mkdirSync(path.join(folder, mountPath), { recursive: true })
    cpSync(path.join(PROJECT_ROOT, 'package.json'), path.join(folder, mountPath, 'ca.crt'))
  }
  const valueOf = ({ value = '', valueFrom }: (typeof env)[number]) => {
    if (valueFrom !== undefined) return SECRET[valueFrom.secretKeyRef.key]
    return mounts.some(({ mountPath }) => value.startsWith(`${mountPath}/`))
      ? path.join(folder, value)
      : value
  }
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    [
      main,
      ...(main.includes('/operator/') ? [words[entry + 1] ?? ''] : []),
      '--check-config',
      ...env.map(({ name }) => name),
    ],
    {
      cwd: PROJECT_ROOT,
      env: Object.fromEntries(env.map((one) => [one.name, valueOf(one)])),
      encoding: 'utf8',
    },
  )
  require(status === 0 && stdout.endsWith('are valid\n'), `${where}: ${stderr}${stdout}`)
}

main()
