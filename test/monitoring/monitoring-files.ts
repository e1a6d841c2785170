import { readFileSync } from 'node:fs'
import path from 'node:path'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'

/** A dashboard of Grafana, as far as tests read it. */
export interface Dashboard {
  panels: { title: string; description: string; targets: { expr: string }[] }[]
}

/** Labels that Prometheus adds: of buckets, and of what it scrapes. */
const OF_PROMETHEUS = new Set(['le', 'job', 'instance'])

/** The text of a file of the project. */
export const readText = (file: string): string => readFileSync(path.join(PROJECT_ROOT, file), 'utf8')

/** The labels of each metric in docs/metrics.md. */
export function documentedMetrics(): Map<string, string[]> {
  const [, table = ''] = /<!-- metrics -->\n\n([^]*?)\n\n/.exec(readText('docs/metrics.md')) ?? []
  const rows = table.split('\n').slice(2)
  return new Map(
    rows.map((row) => {
      const [, name = '', , labels = ''] = row.split('|').map((cell) => cell.trim())
      return [name.replaceAll('`', ''), labels.match(/\w+/g) ?? []]
    }),
  )
}

/**
 * The metrics that an expression of PromQL selects, with the labels by which it selects or groups them. A metric of a
 * histogram has its name without `_bucket` or `_count`.
 */
export function usedMetrics(expression: string): { metric: string; labels: string[] }[] {
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)]
    .flatMap(([, names = '']) => names.split(/,\s*/))
    .filter((label) => !OF_PROMETHEUS.has(label))
  return [
    ...expression.matchAll(/(tally_\w+?)(?:_bucket|_count)?\b(?!_)(?:\{([^}]*(?:\{[^}]*\}[^}]*)*)\})?/g),
  ].map(([, metric = '', selectors = '']) => ({
    metric,
    labels: [...[...selectors.matchAll(/(\w+)(?:=|!=|=~|!~)"/g)].map(([, label = '']) => label), ...grouped],
  }))
}
