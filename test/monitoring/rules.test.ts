import { copyFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { load } from 'js-yaml'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { listOperations, readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { requirePrograms, runIn } from '../support/programs.ts'
import { makeTempFolder } from '../support/temp-folder.ts'
import { type Dashboard, documentedMetrics, readText, usedMetrics } from './monitoring-files.ts'

interface Rule {
  alert: string
  expr: string
  labels: Record<string, string>
  annotations: Record<string, string>
}

const RULES = 'deploy/monitoring/rules.yaml'
const UNIT_TESTS = 'test/monitoring/rules.test.yaml'
/** Alerts whose description is that of another one. */
const SHARED: Record<string, string> = { TallyUsageWaitsLong: 'TallyUsageWaits' }

describe('the alerts', () => {
  const { groups } = load(readText(RULES)) as { groups: { rules: Rule[] }[] }
  const rules = groups.flatMap((group) => group.rules)
  const runbooks = readText('docs/runbooks.md')

  it('fire and are silent as their tests say, in promtool', async function () {
    requirePrograms(this, 'REQUIRE_PROMETHEUS', [['promtool', '--version']])
    const folder = await makeTempFolder('rules')
    for (const file of [RULES, UNIT_TESTS])
      await copyFile(path.join(PROJECT_ROOT, file), path.join(folder, path.basename(file)))
    expect(await runIn(folder, 'promtool', ['check', 'rules', 'rules.yaml'])).to.include('SUCCESS')
    expect(await runIn(folder, 'promtool', ['test', 'rules', 'rules.test.yaml'])).to.include('SUCCESS')
  })

  it('have a test that fires them, and one in which they are silent', () => {
    const { tests } = load(readText(UNIT_TESTS)) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[]
    }
    const cases = tests.flatMap((test) => test.alert_rule_test)
    const names = (fires: boolean) =>
      new Set(
        cases.filter(({ exp_alerts }) => (exp_alerts !== undefined) === fires).map((one) => one.alertname),
      )
    const alerts = rules.map(({ alert }) => alert)
    // What waits for a connection all the time, and what waits now and then, are in one test.
    expect([...names(true)]).to.have.members(alerts)
    expect([...names(false), 'TallyPostgresWaiting']).to.have.members(alerts)
  })

  it('are tested with routes that openapi.yaml has, and that of OpenMeter', () => {
    const routes = listOperations(readOpenApiDocument()).map(
      ({ method, path: route }) => `${method.toUpperCase()} ${route}`,
    )
    const tested = [...readText(UNIT_TESTS).matchAll(/route="([^"]+)"/g)].map(([, route = '']) => route)
    expect([...routes, 'POST /openmeter/api/v1/events']).to.include.members(tested)
  })

  it('have a runbook, which says what to look at, what to do, and when it is over', () => {
    const sections = new Map(
      runbooks.split(/^## /m).map((section) => [section.slice(0, section.indexOf('\n')), section]),
    )
    for (const { alert, labels, annotations } of rules) {
      const heading = SHARED[alert] ?? alert
      const section = sections.get(heading) ?? ''
      expect(annotations['runbook'], alert).to.equal(`docs/runbooks.md#${heading.toLowerCase()}`)
      expect(annotations['summary'], alert).to.match(/\.$/)
      expect(labels['severity'], alert).to.match(/^(page|ticket)$/)
      for (const part of ['Customers notice:', 'Look:', 'Do:', 'Over when'])
        expect(section, alert).to.include(`**${part}**`)
    }
    const known = new Set([...rules.map(({ alert }) => alert), ...Object.values(SHARED)])
    expect([...sections.keys()].filter((heading) => heading.startsWith('Tally') && !known.has(heading))).to.be
      .empty
  })

  it('name only commands, settings and panels that exist', () => {
    const commands = readText('docs/reference/commands.md')
    const settings = readText('docs/reference/settings.md')
    const { panels } = JSON.parse(readText('deploy/monitoring/tally.json')) as Dashboard
    for (const [, command = ''] of runbooks.matchAll(/npm run (?:--silent )?([\w-]+)/g))
      expect(commands).to.match(new RegExp(`npm run ${command}(?![\\w-])`))
    for (const [, setting = ''] of runbooks.matchAll(/`([A-Z]+_[A-Z_]+)(?:=[^`]*)?`/g))
      expect(settings, setting).to.include(`\`${setting}\``)
    const titles = new Set(panels.map(({ title }) => title))
    const named = [...runbooks.matchAll(/panels? ((?:_[^_]+_(?:, | and )?)+)/g)].flatMap(([, text = '']) =>
      [...text.matchAll(/_([^_]+)_/g)].map(([, title = '']) => title.replaceAll('\n', ' ')),
    )
    expect(named.length).to.be.above(5)
    for (const title of named) expect(titles).to.include(title)
  })

  it('and the dashboard use only metrics and labels that docs/metrics.md has', () => {
    const metrics = documentedMetrics()
    const { panels } = JSON.parse(readText('deploy/monitoring/tally.json')) as Dashboard
    const expressions = [
      ...rules.map(({ alert, expr }) => [alert, expr] as const),
      ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
    ]
    for (const [name, expression] of expressions)
      for (const { metric, labels } of usedMetrics(expression)) {
        const row = metrics.get(metric)
        expect(row, `${metric} in ${name}`).not.to.equal(undefined)
        for (const label of labels) expect(row, `${metric} in ${name}`).to.include(label)
      }
  })
})
