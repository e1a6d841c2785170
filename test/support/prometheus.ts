import { spawn } from 'node:child_process'
import { copyFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { endChild } from './end-child.ts'
import { endWithUs } from './end-with-us.ts'
import { findFreePort } from './free-port.ts'
import { makeTempFolder } from './temp-folder.ts'
import { until } from './until.ts'

/** A Prometheus that scrapes every second. */
export interface RunningPrometheus {
  /** @returns the values of an expression now, by their labels as JSON */
  query(expression: string): Promise<Map<string, number>>
  /** @returns the names of the alerts whose expression is true now, however long it has been */
  activeAlerts(): Promise<string[]>
  stop(): Promise<void>
}

/**
 * @param rules a file of rules
 * @param targets URLs of the admin ports
 */
export async function startPrometheus(rules: string, targets: string[]): Promise<RunningPrometheus> {
  const [folder, port] = [await makeTempFolder('prometheus'), await findFreePort()]
  await copyFile(rules, path.join(folder, 'rules.yaml'))
  const hosts = targets.map((target) => new URL(target).host)
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yaml'],
    scrape_configs: [{ job_name: 'tally', static_configs: [{ targets: hosts }] }],
  }
  await writeFile(path.join(folder, 'prometheus.yml'), JSON.stringify(config))
  const words = [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const child = spawn('prometheus', words, { stdio: ['ignore', 'ignore', 'pipe'] })
  endWithUs(child)
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const ask = async <T>(target: string): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}${target}`)
    const body = (await response.json()) as { status: string; error?: string; data: T }
    if (body.status !== 'success') throw new Error(body.error)
    return body.data
  }
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus did not start: ${said}`)
    return fetch(`http://127.0.0.1:${port}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
  return {
    async query(expression) {
      type Series = { metric: Record<string, string>; value: [number, string] }
      const found = await ask<{ result: Series[] }>(`/api/v1/query?query=${encodeURIComponent(expression)}`)
      return new Map(
        found.result.map(({ metric, value: [, text] }) => [JSON.stringify(metric), Number(text)]),
      )
    },
    async activeAlerts() {
      const { alerts } = await ask<{ alerts: { labels: { alertname: string } }[] }>('/api/v1/alerts')
      return alerts.map(({ labels }) => labels.alertname)
    },
    async stop() {
      await endChild(child, 'SIGTERM')
      await rm(folder, { recursive: true, force: true })
    },
  }
}
