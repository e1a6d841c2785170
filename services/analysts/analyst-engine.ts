import path from 'node:path'
import type { ClickHouseSettings } from '@clickhouse/client'
import type { ChdbResult } from 'chdb'
import type { Statement } from '../../shared/clickhouse/embedded/chdb-session.ts'
import type { EmbeddedEngine } from '../../shared/clickhouse/embedded/open-engine.ts'
import type { SessionPool } from '../../shared/clickhouse/embedded/session-pool.ts'
import { quoteLiteral } from '../../shared/clickhouse/quote-literal.ts'
import { analystViewNames } from '../../shared/clickhouse/views-contract.ts'
import { type AnalystLimits, limitSettings } from './analyst-limits.ts'
import { type AnalystScope, inScope, NO_ROLE, scopeOfAll } from './analyst-scope.ts'
import { analystSettings, SETTINGS_OF_ANALYSTS } from './analyst-settings.ts'
import { type AnswerFolder, openAnswerFolder, type PassedAnswer } from './answer-folder.ts'
import type { QueryAnswer, QuerySummary, SendAnswer } from './endpoint-user.ts'
import { ClickHouseException, exceptionOfEngine } from './exception.ts'
import { FunctionNames, type FunctionRow, LIST_FUNCTIONS } from './judge/function-names.ts'
import { judgeQuery, type JudgeRules, type QueryRunner } from './judge/judge-query.ts'
import { METADATA_TABLES } from './judge/metadata-tables.ts'
import { judgeTableFilters, TABLE_FILTERS } from './judge/table-filters.ts'
import { SharedTimeZones } from './judge/time-zones.ts'
import { nativeForRevision, nativePartsForRevision } from './native/native-for-revision.ts'
import { requireOutputFormat } from './output-format.ts'
import { isOn, type QueryRequest, textOf } from './query-request.ts'
import { requireAnalystsConfined } from './require-analysts-confined.ts'
import { schemaStatements } from './schema-statements.ts'
import { type TimeBudget, timeBudget } from './time-budget.ts'

export interface AnalystEngineOptions {
  engine: EmbeddedEngine
  /** The services' database; the analysts' database is named after it. */
  database: string
  /** The number of connections for queries. */
  connections: number
  limits: AnalystLimits
  /** Scopes to check at the start, besides that of all companies. Other scopes are checked before their first query. */
  scopes?: readonly AnalystScope[]
}

/** A query that was accepted and has not begun to run. */
export interface BegunQuery {
  /**
   * Sends the answer while the engine writes it. Resolves when the engine is done.
   *
   * @throws ClickHouseException when the query may not run. If it fails while it runs, `sent` is rejected
   */
  answer(send: SendAnswer): Promise<PassedAnswer>
  /**
   * Answers on separate connections, with a short time limit.
   *
   * @returns undefined when the query takes longer than that, or its answer is large
   */
  answerQuickly(): Promise<QueryAnswer | undefined>
}

/** Whose query it is. */
interface Asking {
  name: string
  scope: AnalystScope
}

/** A query that may run. Its text has neither INTO OUTFILE nor FORMAT. */
type RunnableQuery = Statement & { format: string }

/** How a query runs. If a setting is in several of these, the value in the last of them counts. */
interface HowToRun {
  /** These also apply while the query is judged. */
  limits: ClickHouseSettings
  /** Of the request. After them come those of the query's SETTINGS clause. */
  own: ClickHouseSettings
  last: ClickHouseSettings
  /** The format of a query without a FORMAT clause. */
  fallback: string
  endQueries: EndQueries
  asking: Asking
}

/** @returns how many queries were ended */
type EndQueries = (queryId: string) => number

/** Makes the statement whose rows answer a KILL QUERY: one row if there was such a query. */
const killed = (queryId: string, count: number): string =>
  `SELECT 'waiting' AS kill_status, '${queryId}' AS query_id WHERE ${count} > 0`

/** How many first attempts run at the same time. */
export const QUICK_AT_ONCE = 2
/** Seconds for a first attempt: long enough for a short query on a busy machine. */
const QUICK_S = 0.3
/** A small limit, because any number of these answers may be in memory while clients read them. */
const QUICK_BYTES = 256 * 1_024
const QUICK_SETTINGS: ClickHouseSettings = {
  max_result_bytes: String(QUICK_BYTES),
  result_overflow_mode: 'throw',
}
/** Errors that a first attempt may have, and a second attempt with the full limits may not. */
const ENDED_BY_LIMIT: Readonly<Record<number, string>> = {
  159: 'TIMEOUT_EXCEEDED',
  396: 'TOO_MANY_ROWS_OR_BYTES',
}

const exceptionCodeOf = (err: unknown): number =>
  (err instanceof ClickHouseException ? err : exceptionOfEngine(err))?.code ?? 0

const DEFAULT_FORMAT = 'TabSeparated'

/** The folder of answers that are being sent. It is next to the engine's own folders. */
const ANSWERS = 'answers'

/** The size of a statement that carries a query and its parameters as values. */
const STATEMENT_BYTES_MAX = 8 * 1_024 * 1_024

/**
 * Connections that all analysts share. Each statement has only the role of its analyst. These connections do not wait
 * for those of the services, and share no settings with them.
 */
export class AnalystEngine {
  private readonly sessions: SessionPool
  /** Connections for first attempts. */
  private readonly quick: SessionPool
  /** One connection, on which one kill runs at a time. Otherwise their parameters would be mixed up. */
  private readonly killer: SessionPool
  private readonly answers: AnswerFolder
  private readonly limits: AnalystLimits
  private readonly zones = new SharedTimeZones()
  /** The engine's functions. They are the same in every scope. */
  private readonly functions: FunctionNames
  private readonly database: string
  /** By the database of their scope. */
  private readonly rules = new Map<string, Promise<ScopeRules>>()

  private constructor(
    { sessions, quick, killer }: Record<'sessions' | 'quick' | 'killer', SessionPool>,
    answers: AnswerFolder,
    functions: FunctionNames,
    { limits, database }: Pick<AnalystEngineOptions, 'limits' | 'database'>,
  ) {
    this.answers = answers
    this.functions = functions
    this.sessions = sessions
    this.quick = quick
    this.killer = killer
    this.limits = limits
    this.database = database
  }

  /** @throws Error when the engine does not confine analysts to their views */
  static async open({
    engine,
    database,
    connections,
    limits,
    scopes = [],
  }: AnalystEngineOptions): Promise<AnalystEngine> {
    const prelude = NO_ROLE
    const setup = `${prelude}; SET readonly = 2, max_query_size = ${STATEMENT_BYTES_MAX}`
    const open = (number: number) => engine.openSessions({ connections: number, prelude, setup })
    const [sessions, quick, killer] = [await open(connections), await open(QUICK_AT_ONCE), await open(1)]
    const answers = await openAnswerFolder(path.resolve(engine.folder, ANSWERS))
    const functions = await killer.use((connection) =>
      readFunctions(inScope(scopeOfAll(database), connection)),
    )
    const opened = new AnalystEngine({ sessions, quick, killer }, answers, functions, { limits, database })
    try {
      for (const scope of [scopeOfAll(database), ...scopes]) await opened.rulesOf(scope)
    } catch (err) {
      opened.close()
      throw err
    }
    return opened
  }

  /**
   * Accepts a query. The engine computes constants both when the query is judged and when it is answered, so both steps
   * share the time of one query.
   *
   * @param comment names the query for kill
   * @param endQueries ends the queries of the same analyst with a given id
   * @throws ClickHouseException when its settings or its format are not allowed
   */
  begin(request: QueryRequest, comment: string, endQueries: EndQueries, asking: Asking): BegunQuery {
    const own = analystSettings(request.settings, this.limits, this.zones.of(asking.scope.database))
    const fallback = requireOutputFormat(request.format ?? DEFAULT_FORMAT)
    const limits = { ...limitSettings(this.limits), log_comment: comment }
    const budget = timeBudget(own.max_execution_time ?? this.limits.timeoutS)
    const judge = (session: QueryRunner, last: ClickHouseSettings = {}) =>
      this.judge(session, request, { limits, own, last, fallback, endQueries, asking })
    return {
      answer: (send) =>
        this.sessions.use(async (connection) => {
          const session = within(budget, inScope(asking.scope, connection))
          return this.runIntoFile(session, await judge(session), { request, comment, send })
        }),
      answerQuickly: () =>
        this.quick.use(async (connection) => {
          const session = within(timeBudget(QUICK_S), inScope(asking.scope, connection))
          try {
            const answer = await runInMemory(session, await judge(session, QUICK_SETTINGS), request)
            return answer.bytes.length > QUICK_BYTES ? undefined : answer // the engine limits values, not text
          } catch (err) {
            if (exceptionCodeOf(err) in ENDED_BY_LIMIT) return undefined
            throw err
          }
        }),
    }
  }

  private async judge(
    session: QueryRunner,
    request: QueryRequest,
    { limits, own, last, fallback, endQueries, asking }: HowToRun,
  ): Promise<RunnableQuery> {
    const { params } = request
    const rules = { ...(await this.rulesOf(asking.scope)), user: asking.name }
    const judged = await judgeQuery(session, textOf(request), params, limits, rules)
    const format = judged.format === undefined ? fallback : requireOutputFormat(judged.format)
    const ofClause = analystSettings(judged.settings, this.limits, rules.zones)
    const filters = judged.settings.get(TABLE_FILTERS) ?? request.settings.get(TABLE_FILTERS)
    const filtered = filters === undefined ? {} : await judgeTableFilters(session, filters, limits, rules)
    const settings = { ...limits, ...own, ...ofClause, ...filtered, ...last }
    const text = judged.kills === undefined ? judged.text : killed(judged.kills, endQueries(judged.kills))
    return { text, settings, params, format }
  }

  private async runIntoFile(
    session: QueryRunner,
    { format, ...statement }: RunnableQuery,
    { request, comment, send }: { request: QueryRequest; comment: string; send: SendAnswer },
  ): Promise<PassedAnswer> {
    const startedAt = performance.now()
    let result: ChdbResult | undefined
    const summary = () =>
      result === undefined
        ? { ...NOTHING_YET, elapsed: (performance.now() - startedAt) / 1_000 }
        : summaryOf(result)
    return this.answers.pass({
      async write(file) {
        const text = `${statement.text} INTO OUTFILE ${quoteLiteral(file)} APPEND FORMAT ${format}`
        result = await session.run({ ...statement, text })
      },
      end: () => this.kill(comment),
      isWhole: isOn(request.settings.get('wait_end_of_query')),
      send: (bytes) =>
        send({
          bytes: format === 'Native' ? nativePartsForRevision(bytes, request.protocolRevision) : bytes,
          format,
          summary,
        }),
    })
  }

  /**
   * Returns the rules of a scope. Before the first query of a scope, it checks that the engine confines the scope's
   * role. Not every scope exists at the start: a company may get its first analyst at any time.
   */
  private rulesOf(scope: AnalystScope): Promise<ScopeRules> {
    const known = this.rules.get(scope.database)
    if (known !== undefined) return known
    const made = this.killer.use(async (connection) => {
      const session = inScope(scope, connection)
      const rules = scopeRules(scope, this.functions, this.zones)
      await requireAnalystsConfined(session, this.database, scope, limitSettings(this.limits), rules)
      return rules
    })
    this.rules.set(scope.database, made)
    made.catch(() => this.rules.delete(scope.database)) // the next query tries again
    return made
  }

  /** Ends the queries whose comment begins with `comment`. chDB's interface cannot end a query, but a statement can. */
  async kill(comment: string): Promise<void> {
    const text = `KILL QUERY WHERE startsWith(Settings['log_comment'], {comment:String}) ASYNC`
    await this.killer.use((session) => session.run({ text, settings: {}, params: { comment } }))
  }

  close(): void {
    this.killer.close()
    this.quick.close()
    this.sessions.close()
  }
}

async function runInMemory(
  session: QueryRunner,
  statement: RunnableQuery,
  { protocolRevision }: QueryRequest,
): Promise<QueryAnswer & { bytes: Uint8Array }> {
  const { format } = statement
  const result = await session.run(statement)
  const bytes = result.bytes()
  return {
    bytes: format === 'Native' ? nativeForRevision(bytes, protocolRevision) : bytes,
    format,
    summary: () => summaryOf(result),
  }
}

const NOTHING_YET = { resultRows: 0, resultBytes: 0, writtenRows: 0 }

const summaryOf = ({ rowsRead, bytesRead, elapsed }: ChdbResult): QuerySummary => ({
  resultRows: rowsRead,
  resultBytes: bytesRead,
  writtenRows: 0,
  elapsed,
})

/** Wraps a connection, so that its statements share the time of a budget. */
const within = (budget: TimeBudget, session: QueryRunner): QueryRunner => ({
  run: (statement) =>
    budget.spend((leftS) =>
      session.run({
        ...statement,
        settings: {
          ...statement.settings,
          max_execution_time: Math.min(leftS, statement.settings.max_execution_time ?? leftS),
        },
      }),
    ),
})

/** The rules for all analysts of a scope. */
type ScopeRules = Omit<JudgeRules, 'user'>

async function readFunctions(session: QueryRunner): Promise<FunctionNames> {
  const result = await session.run({ text: LIST_FUNCTIONS, settings: {}, format: 'JSONEachRow' })
  const rows = result.text().trim().split('\n')
  return new FunctionNames(rows.map((row) => JSON.parse(row) as FunctionRow))
}

function scopeRules(
  { database }: AnalystScope,
  functions: FunctionNames,
  zones: SharedTimeZones,
): ScopeRules {
  return {
    functions,
    zones: zones.of(database),
    tables: new Set([
      ...analystViewNames().flatMap((view) => [view, `${database}.${view}`]),
      ...METADATA_TABLES,
    ]),
    statements: schemaStatements(database),
    settings: SETTINGS_OF_ANALYSTS,
  }
}
