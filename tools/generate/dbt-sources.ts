import { readFileSync } from 'node:fs'
import path from 'node:path'
import { dump } from 'js-yaml'
import { exportedColumns } from '../../clients/analysts/export/view-shape.ts'
import {
  type AnalystView,
  readViewsContract,
  type ViewColumn,
  VIEWS_FILE,
} from '../../shared/clickhouse/views-contract.ts'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import type { Maker } from './maker.ts'

const FRESHNESS = 'clickhouse/views/freshness.sql'
const SOURCES = [
  VIEWS_FILE,
  FRESHNESS,
  'shared/clickhouse/views-contract.ts',
  'clients/analysts/export/view-shape.ts',
  'tools/generate/dbt-sources.ts',
]
const HEADING = 'Made by npm run generate of contract/views.yaml and clickhouse/views/freshness.sql.'
const LINE_CHARACTERS = 120

/** The column whose last days are tested, of views that grow with usage. */
const TIMES: Readonly<Record<string, string>> = {
  events: 'accepted_at',
  event_changes: 'changed_at',
  event_revisions: 'accepted_at',
  daily_usage: 'day',
  daily_totals: 'day',
  rated_usage: 'day',
}

const CHANGES = 'event_changes'
/** Exports of several runs have an event each time it changed. */
const ONCE_IN_TALLY = { config: { enabled: "{{ target.type != 'duckdb' }}" } }

/** The analysts' views as sources of the dbt package: what they mean, how fresh they are, and tests of what is promised. */
export const dbtSources: Maker = {
  file: 'clients/dbt/models/sources.yml',
  sources: SOURCES,
  make() {
    const fresh = viewsWithFreshness()
    const source = {
      name: 'tally',
      description: "Tally's views for analysts.",
      schema: "{{ env_var('TALLY_DATABASE', 'tally_company_1') }}",
      // dbt-duckdb fills in the name.
      config: {
        meta: {
          external_location: "read_parquet('{{ env_var('TALLY_EXPORTS', 'exports') }}/{name}/**/*.parquet')",
        },
      },
      tables: readViewsContract().views.map((view) => tableOf(view, fresh.includes(view.name))),
    }
    const text = dump({ version: 2, sources: [source] }, { lineWidth: LINE_CHARACTERS, noRefs: true })
    return Promise.resolve(`# ${HEADING}\n${text}`)
  },
}

/** The names of the views, for models that older versions of Tally have no view for. */
export const dbtViews: Maker = {
  file: 'clients/dbt/macros/views.sql',
  sources: SOURCES,
  make() {
    const names = readViewsContract().views.map(({ name }) => `    '${name}',`)
    const lines = [
      `{# ${HEADING} #}`,
      '{% macro views() %}',
      '  {% do return([',
      ...names,
      '  ]) %}',
      '{% endmacro %}',
    ]
    return Promise.resolve(`${lines.join('\n')}\n`)
  },
}

/** The views that have a row in the view of that name. */
function viewsWithFreshness(): string[] {
  const text = readFileSync(path.join(PROJECT_ROOT, FRESHNESS), 'utf8')
  const [, list] = /arrayJoin\(\[([^\]]+)\]\) AS view/.exec(text) ?? []
  if (list === undefined) throw new Error(`${FRESHNESS} has no list of views`)
  return list.split(', ').map((name) => name.slice(1, -1))
}

function tableOf({ name, meaning, key, columns }: AnalystView, hasFreshness: boolean): object {
  const time = TIMES[name] === undefined ? {} : { time_column: TIMES[name] }
  const neverNull = columns.filter((column) => column.neverNull)
  const exported = exportedColumns(columns)
  const notExported = neverNull.filter((column) => !exported.includes(column)).map((column) => column.name)
  const promised = {
    columns: neverNull.filter((column) => exported.includes(column)).map((column) => column.name),
    ...(notExported.length === 0 ? {} : { not_exported: notExported }),
  }
  return {
    name,
    description: meaning,
    ...(hasFreshness
      ? {
          config: {
            loaded_at_query: `select max(complete_up_to) from {{ source('tally', 'freshness') }} where view = '${name}'`,
            freshness: {
              warn_after: { count: 5, period: 'minute' },
              error_after: { count: 1, period: 'hour' },
            },
          },
        }
      : {}),
    data_tests: [
      { never_null: { arguments: { ...promised, ...time } } },
      { unique_key: { arguments: { columns: key, ...time }, ...(name === CHANGES ? ONCE_IN_TALLY : {}) } },
    ],
    columns: columns.map(columnOf),
  }
}

const columnOf = ({ name, type, meaning, unit }: ViewColumn): object => ({
  name,
  description: unit === undefined ? meaning : `${meaning} Unit: ${unit}.`,
  data_type: type,
})
