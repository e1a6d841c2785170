import type { ClickHouseSettings } from '@clickhouse/client'
import type { ChdbSession } from '../../../shared/clickhouse/embedded/chdb-session.ts'
import { quoteLiteral } from '../../../shared/clickhouse/quote-literal.ts'
import { ClickHouseException, exceptionOfEngine } from '../exception.ts'
import { judgeResolved, SHOWN_WHOLE } from './judge-resolved.ts'
import { judgeTree } from './judge-tree.ts'
import { requireShownColumns } from './metadata-tables.ts'
import { requireSmallColumnPatterns } from './pattern.ts'
import type { CallRules } from './require-harmless-call.ts'
import { parseSyntaxTree } from './syntax-tree.ts'
import { requireHarmlessTokens, type Token } from './tokens.ts'

/** A query that may be run. */
export interface JudgedQuery {
  /** The query as ClickHouse formats it, without its FORMAT clause. This text is run, never the one that was sent. */
  text: string
  /** The format of the FORMAT clause. */
  format: string | undefined
  /** Of the SETTINGS clause, not checked yet. */
  settings: ReadonlyMap<string, string>
  /** The id of the query that this one ends; then `text` is empty. */
  kills?: string
}

export interface JudgeRules extends CallRules {
  /**
   * Takes a statement as ClickHouse formats it. Returns the statement to run instead if it is harmless and need not be
   * judged.
   */
  statements: (text: string) => string | undefined
  /** The settings that a query may have. */
  settings: readonly string[]
  /** The analyst's name. */
  user: string
}

/** A connection, or a wrapper that limits the statements on one. */
export type QueryRunner = Pick<ChdbSession, 'run'>

const QUERY_BYTES_MAX = 256 * 1_024

/** The parameter that carries the query as a value. */
const QUERY_PARAM = 'tally_judged_query'

/**
 * Why the query is a parameter: chDB runs several statements in one text, even after EXPLAIN, but a value is only
 * parsed. A query without braces has no parameters to check, so a long list of its values need not be returned.
 */
const FORMAT_AND_TOKENIZE = `
  SELECT text, arrayMap(t -> (toString(t.3), substring(text, t.1 + 1, t.2 - t.1)), kept)
  FROM (
    SELECT formatQuerySingleLine({${QUERY_PARAM}:String}) AS text, tokenizeQuery(text) AS tokens,
      arrayExists(t -> t.3 = 'OpeningCurlyBrace', tokens) AS has_braces,
      arrayFilter(t -> t.3 != 'Whitespace' AND (has_braces OR t.3 NOT IN ('Comma', 'Number', 'StringLiteral')), tokens)
        AS kept
  )`

const LINES = 'JSONCompactEachRow'

/** The largest answer in a step of the judgment: this process reads it, and must not be busy with it for long. */
const JUDGMENT_BYTES_MAX = 4 * 1_024 * 1_024

/**
 * Decides whether a query of an analyst may run, from ClickHouse's own understanding of it. It takes three steps: the
 * text (one statement, harmless tokens), the syntax tree (closed lists of nodes, functions and tables), and the query
 * as the engine resolves it.
 *
 * @param session is in the analysts' database, with the analysts' role
 * @param limits in force during the judgment, because the engine computes constants and scalar subqueries in it. No
 *   setting may come from the analyst: `limit` would cut off a part of what is judged
 * @throws ClickHouseException saying why it may not run
 */
export async function judgeQuery(
  session: QueryRunner,
  query: string,
  params: Readonly<Record<string, string>>,
  limits: ClickHouseSettings,
  rules: JudgeRules,
): Promise<JudgedQuery> {
  const { select, plan, ...judged } = await judgeWritten(session, query, params, limits, rules)
  const explain = explainerOf(session, params, { ...limits, ...SHOWN_WHOLE })
  if (select !== undefined) judgeResolved(await explain('QUERY TREE passes = 1', select), rules)
  return plan === undefined ? judged : { ...judged, text: await plan() }
}

/** A query that passed the first two steps. */
interface WrittenQuery extends JudgedQuery {
  /** The SELECT that the engine is to resolve. */
  select: string | undefined
  /** Makes the text that takes the place of EXPLAIN. The engine plans the query for it. */
  plan?: () => Promise<string>
}

/**
 * The first two steps of judgeQuery: the query as written, before the engine resolves a name.
 *
 * @internal
 */
export async function judgeWritten(
  session: QueryRunner,
  query: string,
  params: Readonly<Record<string, string>>,
  limits: ClickHouseSettings,
  rules: JudgeRules,
): Promise<WrittenQuery> {
  if (Buffer.byteLength(query) > QUERY_BYTES_MAX)
    throw new ClickHouseException('QUERY_IS_TOO_LARGE', `the query is larger than ${QUERY_BYTES_MAX} bytes.`)
  const { formatted, tokens: allTokens } = await formatAndTokenize(session, query, limits)
  const { text, ...clauses } = splitClauses(formatted)
  const statement = rules.statements(text)
  if (statement !== undefined) return { text: statement, ...clauses, select: undefined }
  const kills = KILL.exec(text)?.[1]
  if (kills !== undefined) return { text: '', ...clauses, kills, select: undefined }
  const { before, select: written, after } = splitWrapped(text)
  if (!/^(?:SELECT|WITH|\()/.test(written))
    throw new ClickHouseException('ACCESS_DENIED', WRITES.test(written) ? WHERE_TO_BUILD : WHAT_MAY_RUN)
  const select = withOwnNames(written, rules)
  // A brace in the SETTINGS clause holds no parameter.
  const hasMap = [...clauses.settings.values()].some((value) => value.startsWith('{'))
  const tokens = hasMap ? (await formatAndTokenize(session, text, limits)).tokens : allTokens
  requireHarmlessTokens(tokens, params, rules.zones)
  requireSmallColumnPatterns(select)
  const explain = explainerOf(session, params, limits)
  const tree = parseSyntaxTree(await explain('AST', select))
  requireShownColumns(tree, tokens)
  judgeTree(tree, rules)
  const judged = { text: `${before}${select}${after}`, ...clauses, select }
  if (!before.startsWith('EXPLAIN')) return judged
  // With several threads, the number of steps would depend on how much there is.
  const explainAlone = explainerOf(session, params, { ...limits, max_threads: 1 })
  const plan = async () => planWithoutSizes(await explainAlone(before.slice('EXPLAIN '.length), select))
  return { ...judged, plan }
}

/** Statements of dbt and other tools that make tables. */
const WRITES = /^(?:ALTER|CREATE|DELETE|DROP|EXCHANGE|INSERT|OPTIMIZE|RENAME|TRUNCATE)\b/
const WHERE_TO_BUILD =
  'analysts can only read; make tables in a workspace (of a ClickHouse server), or in DuckDB from exports: docs/guides/analysts.md#dbt'
const WHAT_MAY_RUN =
  'analysts may run one SELECT over their views, EXPLAIN it, SHOW and DESCRIBE what they see, and KILL QUERY WHERE query_id; nothing else.'

/**
 * Lines of a plan, and ends of lines, that tell something about the tables, which have the usage of all companies: how
 * much is in them, or the keys at which the engine splits what it reads.
 */
const SIZES = /^[^A-Za-z]*(?:(?:(?:Filtered )?Parts|Granules|Ranges|Rows|Marks)\b|Description: filter values)/
const STREAMS = /(?: × \d+)?(?: \d+ → \d+)?$/

/**
 * Makes a statement that returns the lines of a plan. Why not a SELECT from an EXPLAIN: the engine refuses that to a
 * role without further rights.
 */
function planWithoutSizes(lines: readonly string[]): string {
  const shown = lines.filter((line) => !SIZES.test(line)).map((line) => line.replace(STREAMS, ''))
  return `SELECT arrayJoin(CAST([${shown.map(quoteLiteral).join(', ')}] AS Array(String))) AS explain`
}

const KILL = /^KILL QUERY WHERE query_id = '([\w.:-]{1,128})' A?SYNC$/

/**
 * EXPLAIN of a plan, with options that are switched on or off, or DESCRIBE of what a SELECT returns. Options that
 * repeat the columns of each step are left out (header, json, graph): they made gigabytes of a query of 100 joins,
 * which the engine's limits of memory and time did not end.
 */
const EXPLAINED =
  /^(EXPLAIN (?:(?:SYNTAX|PIPELINE) )?(?:(?:(?:actions|description|indexes|projections|sorting) = [01](?:, | ))*))(.*)$/s
const DESCRIBED = /^(DESCRIBE TABLE \()(.*)(\))$/s

/**
 * Takes the SELECT out of an EXPLAIN or a DESCRIBE. The statement that runs is made from the SELECT as it was judged.
 */
function splitWrapped(text: string): { before: string; select: string; after: string } {
  const [, before = '', select = text, after = ''] = EXPLAINED.exec(text) ?? DESCRIBED.exec(text) ?? []
  return { before, select, after }
}

/**
 * Finds the table of all settings of the engine, and calls that return the user. It also finds text and quoted names,
 * so that nothing in them is replaced.
 */
const REPLACED =
  /(['`])(?:\\[^]|(?!\1)[^\\])*\1|\bsystem\.settings\b(?!\.)|\b(?:currentUser|current_user|session_user|user)\(\)/gi
/** No tool names them more often; each replacement makes the text longer. */
const REPLACED_MAX = 20

/**
 * Replaces the table of settings by those that a query may have, because clients send the settings that they find
 * there. Also replaces each call that returns the user by the analyst's name, because the engine has one user for all
 * analysts. The column keeps its name. Without brackets, these words may be names of columns, so they stay as they are.
 */
function withOwnNames(select: string, { settings, user }: Pick<JudgeRules, 'settings' | 'user'>): string {
  const own = settings.map((name) => `'${name}'`).join(', ')
  const shown = `(SELECT * REPLACE (toUInt8(0) AS readonly) FROM system.settings WHERE name IN (${own}))`
  let replaced = 0
  return select.replace(REPLACED, (found, quote?: string) => {
    const isCall = found.endsWith('()')
    if (quote !== undefined || (!isCall && found !== 'system.settings')) return found
    if (++replaced > REPLACED_MAX) throw tooMuchToJudge()
    return isCall ? `('${user}' AS \`${found}\`)` : shown
  })
}

function explainerOf(
  session: QueryRunner,
  params: Readonly<Record<string, string>>,
  limits: ClickHouseSettings,
): (what: string, text: string) => Promise<string[]> {
  const settings = { ...limits, max_result_bytes: String(JUDGMENT_BYTES_MAX) }
  return async (what, text) => {
    const result = await session
      .run({ text: `EXPLAIN ${what} ${text}`, settings, params, format: LINES })
      .catch((err: unknown) => {
        throw exceptionOfEngine(err)?.code === TOO_MANY_ROWS_OR_BYTES ? tooMuchToJudge() : err
      })
    return result
      .text()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as [string])[0])
  }
}

const TOO_MANY_ROWS_OR_BYTES = 396

const tooMuchToJudge = (): ClickHouseException =>
  new ClickHouseException(
    'TOO_BIG_AST',
    'the query, or a constant that it computes, is too large to be checked.',
  )

async function formatAndTokenize(
  session: QueryRunner,
  query: string,
  settings: ClickHouseSettings,
): Promise<{ formatted: string; tokens: Token[] }> {
  try {
    const result = await session.run({
      text: FORMAT_AND_TOKENIZE,
      settings,
      params: { [QUERY_PARAM]: escapeParam(query) },
      format: LINES,
    })
    const [formatted, tokens] = JSON.parse(result.text()) as [string, Token[]]
    return { formatted, tokens }
  } catch (err) {
    throw aboutTheQuery(err)
  }
}

/** An engine's error about the query, without the parts about the statement around it. */
function aboutTheQuery(err: unknown): unknown {
  const exception = exceptionOfEngine(err)
  if (exception === undefined) return err
  const message = (exception.message.split(': In scope SELECT formatQuerySingleLine(')[0] ?? '').replace(
    /[. ]{1,5}$/,
    '',
  )
  return new ClickHouseException([exception.code, exception.type], `${message}.`)
}

/** A parameter's value is read like a field of tab-separated text. */
const escapeParam = (text: string): string =>
  text
    .replaceAll('\\', '\\\\')
    .replaceAll('\t', '\\t')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\0', '\\0')

const QUOTED = String.raw`'(?:[^'\\]|\\.)*'`
const MAP = String.raw`\{(?:${QUOTED} ?: ?${QUOTED}(?:, ?)?)*\}`
const VALUE = String.raw`(?:${QUOTED}|-?\d+(?:\.\d+)?|true|false|${MAP})`
const SETTING = `(\\w+) = (${VALUE})`
const SETTINGS = new RegExp(`^${SETTING}(?:, ${SETTING})*$`, 's')
const EACH_SETTING = new RegExp(SETTING, 'gs')
const CLAUSE = ' SETTINGS '
const FORMAT_CHARACTERS_MAX = 100

/**
 * Removes the clauses FORMAT and SETTINGS from the end of a statement. A SETTINGS clause may be before FORMAT or after
 * it. If these words were something else, this would do no harm: only the rest is run, after it was judged.
 */
function splitClauses(formatted: string): JudgedQuery {
  const settings = new Map<string, string>()
  const output = splitSettings(formatted)
  const [ending, format] = / FORMAT (\w+)$/.exec(output.text.slice(-FORMAT_CHARACTERS_MAX)) ?? ['']
  const own = splitSettings(output.text.slice(0, output.text.length - ending.length))
  for (const [, name = '', value = ''] of `${own.clause}, ${output.clause}`.matchAll(EACH_SETTING))
    settings.set(name, unquote(value))
  return { text: own.text, format, settings }
}

/** Why it tries only the last SETTINGS: in a text with many of them, trying each would take long. */
function splitSettings(text: string): { text: string; clause: string } {
  const at = text.lastIndexOf(CLAUSE)
  const clause = at < 0 ? '' : text.slice(at + CLAUSE.length)
  return SETTINGS.test(clause) ? { text: text.slice(0, at), clause } : { text, clause: '' }
}

const unquote = (value: string): string =>
  value.startsWith("'") ? value.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : value
