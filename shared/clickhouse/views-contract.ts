import { readFileSync } from 'node:fs'
import path from 'node:path'
import { load } from 'js-yaml'
import { PROJECT_ROOT } from '../config/project-root.ts'

/** A column of a view. */
export interface ViewColumn {
  name: string
  /** As ClickHouse writes it. */
  type: string
  meaning: string
  unit: string | undefined
  neverNull: boolean
  /** The version of Tally that has it first. */
  since: string
}

/** A view that analysts may read. */
export interface AnalystView {
  name: string
  meaning: string
  /** The columns that identify a row; some may be NULL. */
  key: readonly string[]
  since: string
  columns: readonly ViewColumn[]
}

/** The analysts' views, as contract/views.yaml promises them. */
export interface ViewsContract {
  /** Comes first in every view, and in every key, where the usage of all companies is. */
  namespaceColumn: ViewColumn
  /** As they are for one company. */
  views: readonly AnalystView[]
}

/**
 * The file of the contract.
 *
 * @internal
 */
export const VIEWS_FILE = 'contract/views.yaml'

/** @see VIEWS_FILE */
interface ColumnEntry {
  name: string
  type: string
  meaning: string
  unit?: string
  never_null: boolean
  since?: string
}

interface ViewsFile {
  all_companies: ColumnEntry
  views: (Omit<AnalystView, 'columns'> & { columns: ColumnEntry[] })[]
}

let parsed: ViewsContract | undefined

/** Reads contract/views.yaml, once. */
export function readViewsContract(): ViewsContract {
  parsed ??= contractOf(load(readFileSync(path.join(PROJECT_ROOT, VIEWS_FILE), 'utf8')) as ViewsFile)
  return parsed
}

/** The names of the views that analysts may read. */
export const analystViewNames = (): string[] => readViewsContract().views.map(({ name }) => name)

function contractOf({ all_companies, views }: ViewsFile): ViewsContract {
  const columnOf = ({ never_null: neverNull, ...entry }: ColumnEntry, since: string): ViewColumn => ({
    unit: undefined,
    since,
    ...entry,
    neverNull,
  })
  return {
    namespaceColumn: columnOf(all_companies, views[0]?.since ?? ''),
    views: views.map(({ columns, ...view }) => ({
      ...view,
      columns: columns.map((column) => columnOf(column, view.since)),
    })),
  }
}
