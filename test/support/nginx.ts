import { spawn, spawnSync } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { endChild } from './end-child.ts'
import { endWithUs } from './end-with-us.ts'
import { findFreePort } from './free-port.ts'
import { makeTempFolder } from './temp-folder.ts'
import { until } from './until.ts'

/** An nginx in front of gateways and APIs, with the settings of deploy/nginx. */
export interface Nginx {
  url: string
  /** What it said of errors. */
  output(): string
  stop(): Promise<void>
}

/** Whether there is an nginx on the PATH. */
export const hasNginx = (): boolean => spawnSync('nginx', ['-v']).status === 0

/** The settings of deploy/nginx, word by word but for the addresses. */
async function settingsOf(
  gateways: readonly string[],
  apis: readonly string[],
  port: number,
): Promise<string> {
  const files = await Promise.all(
    ['upstreams.conf', 'tally.conf'].map((name) =>
      readFile(path.join(PROJECT_ROOT, 'deploy/nginx', name), 'utf8'),
    ),
  )
  const serversAt = (urls: readonly string[]) =>
    urls.map((url) => `server ${new URL(url).host} fail_timeout=1s;`).join('\n')
  const addresses = [
    ['server 127.0.0.1:8081 fail_timeout=1s;', serversAt(gateways)],
    ['server 127.0.0.1:8080 fail_timeout=1s;', serversAt(apis)],
    ['listen 8000;', `listen 127.0.0.1:${port};`],
  ] as const
  const settings = files.join('')
  for (const [written] of addresses)
    if (settings.split(written).length !== 2) throw new Error(`deploy/nginx has not once ${written}`)
  return addresses.reduce((text, [written, used]) => text.replace(written, used), settings)
}

/** What the settings of every nginx have around the example, in a folder of its own. */
const around = (folder: string, servers: string): string => `
daemon off;
master_process off;
pid ${folder}/pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
${servers}}
`

/**
 * @param gateway the URL of the gateway, or of each
 * @param api the URL of the API, or of each
 */
export async function startNginx(
  gateway: string | readonly string[],
  api: string | readonly string[],
): Promise<Nginx> {
  const [folder, port] = [await makeTempFolder('nginx'), await findFreePort()]
  const file = path.join(folder, 'nginx.conf')
  await writeFile(file, around(folder, await settingsOf([gateway].flat(), [api].flat(), port)))
  const child = spawn('nginx', ['-c', file, '-p', folder, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  endWithUs(child)
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const url = `http://127.0.0.1:${port}`
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`nginx did not start: ${said}`)
    return fetch(url).then(
      () => true,
      () => false,
    )
  })
  return {
    url,
    output: () => said,
    async stop() {
      await endChild(child, 'SIGTERM')
      await rm(folder, { recursive: true, force: true })
    },
  }
}
