import {
  type AnalystView,
  readViewsContract,
  type ViewColumn,
  VIEWS_FILE,
} from '../../shared/clickhouse/views-contract.ts'
import { pageMaker, type Table } from './page.ts'

/** The page of the analysts' views: a table of all views, and one of the columns of each. */
export const viewsPage = pageMaker({
  name: 'reference/views.md',
  sources: [VIEWS_FILE, 'shared/clickhouse/views-contract.ts', 'tools/generate/views-page.ts'],
  tables: () => {
    const { views, namespaceColumn } = readViewsContract()
    return Promise.resolve({
      views: viewsTable(views),
      'all companies': columnsTable([namespaceColumn]),
      ...Object.fromEntries(views.map(({ name, columns }) => [name, columnsTable(columns)])),
    })
  },
})

const viewsTable = (views: readonly AnalystView[]): Table => [
  ['View', 'What it has', 'Key', 'Since'],
  ...views.map(({ name, meaning, key, since }) => [
    `\`${name}\``,
    meaning,
    key.map((column) => `\`${column}\``).join(', '),
    since,
  ]),
]

const columnsTable = (columns: readonly ViewColumn[]): Table => [
  ['Column', 'Type', 'What it is', 'Unit', 'NULL', 'Since'],
  ...columns.map(({ name, type, meaning, unit = '', neverNull, since }) => [
    `\`${name}\``,
    `\`${type}\``,
    meaning,
    unit,
    neverNull ? 'never' : 'possible',
    since,
  ]),
]
