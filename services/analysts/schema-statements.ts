import { analystViewNames } from '../../shared/clickhouse/views-contract.ts'

const NAME = '(?:\\w+|`[^`\\\\]+`)'
const TEXT = String.raw`'(?:[^'\\]|\\.)*'`
const LIKE = `(?: (?:NOT )?I?LIKE ${TEXT})?(?: LIMIT \\d+)?`

/**
 * Statements about the schema, as ClickHouse formats them, that run as they are: the engine shows the analysts' role
 * only their database. A closed list of whole statements, so that nothing can follow, such as INTO OUTFILE.
 */
const SHOWN = new RegExp(
  `^(?:${[
    `SHOW DATABASES${LIKE}`,
    `SHOW (?:FULL )?TABLES(?: FROM (${NAME}))?${LIKE}`,
    `SHOW (?:EXTENDED )?(?:(?:FULL )?COLUMNS|INDEXES) FROM ${NAME}(?: FROM (${NAME}))?${LIKE}`,
    `SHOW FUNCTIONS${LIKE}`,
    `EXISTS DATABASE ${NAME}`,
    `EXISTS (?:TABLE|VIEW) (?:${NAME}\\.)?${NAME}`,
    `DESCRIBE TABLE (?:${NAME}\\.)?${NAME}`,
  ].join('|')})$`,
  's',
)

const CREATE = new RegExp(`^SHOW CREATE (?:TABLE|VIEW) (?:(${NAME})\\.)?(${NAME})$`)
const USE = new RegExp(`^USE (${NAME})$`)

/** Answers USE: it returns no rows. */
const NOTHING = 'SELECT 1 WHERE 0'

/** Queries of clients that get another answer than the engine's. */
const ANSWERED_OTHERWISE: ReadonlyMap<string, string> = new Map([
  // The first query of ClickHouse's Go client, and so of Grafana. The engine's answer would have the machine's name.
  [
    'SELECT displayName(), version(), revision(), timezone()',
    "SELECT 'Tally' AS `displayName()`, version(), revision(), timezone()",
  ],
])

/**
 * Recognizes the statements by which clients ask about the schema.
 *
 * @returns a function that takes a statement as ClickHouse formats it, and returns the statement to run instead, or
 *   undefined when it is none of these
 */
export function schemaStatements(database: string): (text: string) => string | undefined {
  return (text) => {
    const [shown, ...databases] = SHOWN.exec(text) ?? []
    if (shown !== undefined && databases.every((name) => isShown(unquoted(name), database))) return text
    const [, createdIn, created] = CREATE.exec(text) ?? []
    if (created !== undefined && isOwn(unquoted(createdIn), database))
      return showCreate(database, unquoted(created))
    const [, used] = USE.exec(text) ?? []
    if (used !== undefined && isOwn(unquoted(used), database)) return NOTHING
    return ANSWERED_OTHERWISE.get(text)
  }
}

/** Why `default`: drivers name this database by default. */
const isOwn = (name: string | undefined, database: string): boolean =>
  name === undefined || name === 'default' || name === database

/**
 * Whether a statement may name this database. Of these databases, the engine shows only what the analysts' role may
 * see. Of any other, it would show whether it exists.
 */
const isShown = (name: string | undefined, database: string): boolean =>
  isOwn(name, database) || /^(?:system|information_schema)$/i.test(name ?? '')

const unquoted = <T extends string | undefined>(name: T): T => name?.replaceAll('`', '') as T

/**
 * Answers SHOW CREATE with a view's columns, types and comments. Why not the engine's own answer: it shows the view's
 * SELECT, which may change.
 */
function showCreate(database: string, table: string): string | undefined {
  if (!analystViewNames().includes(table)) return undefined
  return `SELECT concat('CREATE VIEW ${database}.${table}\\n(\\n', arrayStringConcat(groupArray(
      concat('    \`', name, '\` ', type, if(comment = '', '', concat(' COMMENT ''', replaceAll(comment, '''', ''''''), '''')))), ',\\n'), '\\n)') AS statement
    FROM (SELECT name, type, comment FROM system.columns
      WHERE database = '${database}' AND table = '${table}' ORDER BY position)`
}
