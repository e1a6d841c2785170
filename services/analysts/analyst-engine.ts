import type { ClickHouseSettings } from '@clickhouse/client'
import { ANALYTICS_VIEWS, analyticsDatabase } from '../../shared/clickhouse/analytics-database.ts'
import type { EmbeddedEngine } from '../../shared/clickhouse/clickhouse.ts'
import { type ChdbSession, quoteIdentifier } from '../../shared/clickhouse/embedded/chdb-session.ts'
import { ANALYST_ROLE } from '../../shared/clickhouse/embedded/engine-config.ts'
import { SessionPool } from '../../shared/clickhouse/embedded/session-pool.ts'
import { type AnalystLimits, limitSettings } from './analyst-limits.ts'
import { analystSettings } from './analyst-settings.ts'
import type { QueryAnswer } from './endpoint-user.ts'
import { ClickHouseException, exceptionOfEngine } from './exception.ts'
import { FunctionNames, type FunctionRow, LIST_FUNCTIONS } from './judge/function-names.ts'
import { judgeQuery, type JudgeRules, type QueryRunner } from './judge/judge-query.ts'
import { TimeZones } from './judge/time-zones.ts'
import { nativeForRevision } from './native/native-for-revision.ts'
import { requireOutputFormat } from './output-format.ts'
import { type QueryRequest, textOf } from './query-request.ts'
import { requireAnalystsConfined } from './require-analysts-confined.ts'
import { schemaStatements } from './schema-statements.ts'
import { type TimeBudget, timeBudget } from './time-budget.ts'

export interface AnalystEngineOptions {
  engine: EmbeddedEngine
  /** Of the services; the analysts' is named after it. */
  database: string
  /** Queries at once. */
  connections: number
  limits: AnalystLimits
}

/** A query that was taken up; nothing of it has run. */
export interface BegunQuery {
  /** @throws ClickHouseException when it may not run, or another error of the engine */
  answer(): Promise<QueryAnswer>
  /**
   * The same on connections of their own, given up soon.
   *
   * @returns undefined when it takes longer, or more than a short query does
   */
  answerQuickly(): Promise<QueryAnswer | undefined>
}

/** First attempts at once. */
export const QUICK_AT_ONCE = 2
/** Seconds that a first attempt may take: long enough for a short query on a busy machine. */
const QUICK_S = 0.3
/** Small, because such answers do not wait for one another to be read. */
const QUICK_SETTINGS: ClickHouseSettings = {
  max_result_bytes: String(256 * 1_024),
  result_overflow_mode: 'throw',
}
/** Codes of errors by which a first attempt says nothing of what the query has time for. */
const ENDED_BY_LIMIT: Readonly<Record<number, string>> = {
  159: 'TIMEOUT_EXCEEDED',
  396: 'TOO_MANY_ROWS_OR_BYTES',
}

const exceptionCodeOf = (err: unknown): number =>
  (err instanceof ClickHouseException ? err : exceptionOfEngine(err))?.code ?? 0

const DEFAULT_FORMAT = 'TabSeparated'

/** Of a statement that carries a query and its parameters as values. */
const STATEMENT_BYTES_MAX = 8 * 1_024 * 1_024

/**
 * Connections of the analysts' own, which hold their role alone: they neither wait for the services nor share a
 * setting.
 */
export class AnalystEngine {
  private readonly sessions: SessionPool
  /** Of the first attempts of queries. */
  private readonly quick: SessionPool
  /** One connection, which several kills take in turn: their parameters would be mixed up on it. */
  private readonly killer: SessionPool
  private readonly limits: AnalystLimits
  private readonly rules: JudgeRules

  private constructor(
    { sessions, quick, killer }: Record<'sessions' | 'quick' | 'killer', SessionPool>,
    limits: AnalystLimits,
    rules: JudgeRules,
  ) {
    this.sessions = sessions
    this.quick = quick
    this.killer = killer
    this.limits = limits
    this.rules = rules
  }

  /** @throws Error when the engine does not confine analysts as it must */
  static async open({ engine, database, connections, limits }: AnalystEngineOptions): Promise<AnalystEngine> {
    const own = analyticsDatabase(database)
    // Each time: should the engine ever replace a broken connection, the new one would hold every right again.
    const prelude = `USE ${quoteIdentifier(own)}; SET ROLE ${ANALYST_ROLE}`
    const setup = `${prelude}; SET readonly = 2, max_query_size = ${STATEMENT_BYTES_MAX}`
    const sessions = await SessionPool.open({ ...engine, connections, prelude, setup })
    const quick = await SessionPool.open({ ...engine, connections: QUICK_AT_ONCE, prelude, setup })
    const killer = await SessionPool.open({ ...engine, connections: 1, prelude, setup })
    const rules = await killer.use((session) => rulesOf(session, own))
    const opened = new AnalystEngine({ sessions, quick, killer }, limits, rules)
    try {
      await killer.use((session) => requireAnalystsConfined(session, database, limitSettings(limits), rules))
    } catch (err) {
      opened.close()
      throw err
    }
    return opened
  }

  /**
   * Takes up a query. The engine computes constants while it is judged and again for the answer, so all that is done
   * for it has the time of one query.
   *
   * @param comment names it for kill
   * @throws ClickHouseException when its settings or its format may not be asked for
   */
  begin(request: QueryRequest, comment: string): BegunQuery {
    const own = analystSettings(request.settings, this.limits, this.rules.zones)
    const fallback = requireOutputFormat(request.format ?? DEFAULT_FORMAT)
    const limits = { ...limitSettings(this.limits), log_comment: comment }
    const budget = timeBudget(own.max_execution_time ?? this.limits.timeoutS)
    const answer = (session: QueryRunner, settings: ClickHouseSettings) =>
      this.judgeAndRun(within(budget, session), request, { limits, settings, fallback })
    return {
      answer: () => this.sessions.use((session) => answer(session, { ...limits, ...own })),
      answerQuickly: () =>
        this.quick.use(async (session) => {
          const quickly = within(timeBudget(QUICK_S), session)
          try {
            return await answer(quickly, { ...limits, ...own, ...QUICK_SETTINGS })
          } catch (err) {
            if (exceptionCodeOf(err) in ENDED_BY_LIMIT) return undefined
            throw err
          }
        }),
    }
  }

  private async judgeAndRun(
    session: QueryRunner,
    request: QueryRequest,
    how: { limits: ClickHouseSettings; settings: ClickHouseSettings; fallback: string },
  ): Promise<QueryAnswer> {
    const { params } = request
    const judged = await judgeQuery(session, textOf(request), params, how.limits, this.rules)
    const format = judged.format === undefined ? how.fallback : requireOutputFormat(judged.format)
    const result = await session.run({ text: judged.text, settings: how.settings, params, format })
    const bytes = result.bytes()
    const { rowsRead: resultRows, bytesRead: resultBytes, elapsed } = result
    return {
      bytes: format === 'Native' ? nativeForRevision(bytes, request.protocolRevision) : bytes,
      format,
      summary: { resultRows, resultBytes, writtenRows: 0, elapsed },
    }
  }

  /** Ends the queries whose comment begins so: chDB has no way to end one, but the engine in it does. */
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

/** A connection whose statements have the time of a budget together. */
const within = (budget: TimeBudget, session: QueryRunner): QueryRunner => ({
  run: (statement) =>
    budget.spend((leftS) =>
      session.run({ ...statement, settings: { ...statement.settings, max_execution_time: leftS } }),
    ),
})

async function rulesOf(session: ChdbSession, database: string): Promise<JudgeRules> {
  const result = await session.run({ text: LIST_FUNCTIONS, settings: {}, format: 'JSONEachRow' })
  const rows = result.text().trim().split('\n')
  return {
    functions: new FunctionNames(rows.map((row) => JSON.parse(row) as FunctionRow)),
    zones: new TimeZones(),
    tables: new Set(ANALYTICS_VIEWS.flatMap((view) => [view, `${database}.${view}`])),
    statements: schemaStatements(database),
  }
}
