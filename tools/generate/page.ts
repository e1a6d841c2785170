import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { format, resolveConfig } from 'prettier'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import type { Maker } from './maker.ts'

/** A table of a page: first the row of its head, then its other rows, each a list of cells in Markdown. */
export type Table = readonly (readonly string[])[]

interface Page {
  /** The path below docs/. */
  name: string
  /** The source files of its tables. */
  sources: readonly string[]
  /** The tables, by their names in the text. */
  tables: () => Promise<Record<string, Table>>
}

/**
 * A page of docs/ with text written by hand, in tools/generate/pages, and generated tables. A table replaces the line
 * `<!-- table NAME -->` of the text.
 */
export function pageMaker({ name, sources, tables }: Page): Maker {
  const file = `docs/${name}`
  const text = `tools/generate/pages/${name}`
  return {
    file,
    sources: [text, 'tools/generate/page.ts', '.prettierrc.json', ...sources],
    make: async () => {
      const note = `<!-- Made by npm run generate. Its text is ${text}. -->\n\n`
      const page = fillIn(await readFile(path.join(PROJECT_ROOT, text), 'utf8'), await tables())
      const config = await resolveConfig(path.join(PROJECT_ROOT, file))
      return format(note + page, { ...config, parser: 'markdown' })
    },
  }
}

/** @throws RangeError when the text names an unknown table, or does not name every table */
export function fillIn(text: string, tables: Readonly<Record<string, Table>>): string {
  const left = new Set(Object.keys(tables))
  const filled = text.replaceAll(/^<!-- table (.+) -->$/gm, (_, name: string) => {
    const table = tables[name]
    if (table === undefined) throw new RangeError(`there is no table ${name}`)
    left.delete(name)
    return markdownOf(table)
  })
  if (left.size > 0) throw new RangeError(`the text has no place for ${[...left].join(', ')}`)
  return filled
}

function markdownOf([head = [], ...rows]: Table): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
