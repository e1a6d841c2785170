import { ClickHouseException } from '../exception.ts'

/** A node of a query's syntax tree, as EXPLAIN AST shows it. */
export interface SyntaxNode {
  /** For example `Function` or `TableIdentifier`. */
  kind: string
  /** What the node names or holds: a function, a table, or a literal. Empty when there is nothing. */
  detail: string
  children: SyntaxNode[]
}

/** Queries that people write are less deep. There is a limit, because parseSyntaxTree is recursive. */
const DEPTH_MAX = 1_000
const CHILDREN_CHARACTERS_MAX = 30

/**
 * Reads the lines of EXPLAIN AST: one node each, indented by its depth, with the number of its children. Indentation
 * and numbers must agree in every line. A line is refused if any character of it is not understood.
 *
 * @throws ClickHouseException when a line has an unknown form
 */
export function parseSyntaxTree(lines: readonly string[]): SyntaxNode {
  let next = 0
  const read = (depth: number): SyntaxNode => {
    const line = lines[next++] ?? ''
    const [start = '', kind] = /^ *(\w+(?:::\w+)?)(?= |$)/.exec(line) ?? []
    if (kind === undefined || start.length !== depth + kind.length || depth > DEPTH_MAX) throw unreadable()
    const [ending, count] = / \(children (\d+)\)$/.exec(line.slice(-CHILDREN_CHARACTERS_MAX)) ?? ['', '0']
    const detail = detailOf(kind, line.slice(start.length + 1, line.length - ending.length))
    const children = Array.from({ length: Number(count) }, () => read(depth + 1))
    return { kind, detail, children }
  }
  const root = read(0)
  if (next !== lines.length) throw unreadable()
  return root
}

/** Removes the alias. A literal is read to its closing quote, because its text can look like an alias. */
function detailOf(kind: string, text: string): string {
  if (kind === 'Literal' && text.startsWith("'")) {
    const [literal] = /^'(?:[^'\\]|\\.)*'/s.exec(text) ?? []
    if (literal === undefined) throw unreadable()
    return literal
  }
  const alias = ` ${text}`.indexOf(' (alias ')
  return alias < 0 ? text : text.slice(0, Math.max(0, alias - 1))
}

const unreadable = (): ClickHouseException =>
  new ClickHouseException('ACCESS_DENIED', 'this query has a form that Tally does not know.')

/**
 * Checks the name of a column. A subcolumn of JSON may have its type in its name: `a.b.:Int64`.
 *
 * @throws ClickHouseException when it has more than the name of a type there
 */
export function requirePlainPath(name: string): void {
  if (name.includes('.:') && !/^[^:]*(?:\.:`?\w+`?)+$/.test(name))
    throw new ClickHouseException('ACCESS_DENIED', `the subcolumn ${name} is not for analysts.`)
}
