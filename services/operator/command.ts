import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import type { EventLogConfig } from '../../shared/event-log/config.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import type { RedisConfig } from '../../shared/redis/config.ts'
import type { Purges } from '../../shared/redis/purges.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'

/** Where usage is. */
export interface UsageEngines {
  clickhouse: ClickHouse
  log: EventLog
  /** No event accepted before this can still turn up. */
  listedUpTo: () => Promise<Micros>
}

/** How an installation is set up, as far as one process knows. */
export interface Installation {
  eventLog: Pick<EventLogConfig, 'kafka' | 'partitions'>
  redis: RedisConfig
  /** Where embedded engines have their data; undefined when there are none. */
  dataFolder: string | undefined
  /** Of servers, by the setting that holds them; undefined where an engine is embedded. */
  urls: Readonly<Record<string, string | undefined>>
  /** The addresses it listens on, by the setting that holds them; undefined when other processes listen. */
  hosts: Readonly<Record<string, string>> | undefined
}

/** What commands work with. */
export interface CommandDeps {
  pool: Pool
  /** Asked for by commands that need them: a key must be revoked while ClickHouse or Kafka is away, too. */
  openUsage: () => Promise<UsageEngines>
  /**
   * This and the next open one engine each, for who wants to know which is away.
   *
   * @param queryTimeoutS the longest a statement may take; default: CLICKHOUSE_QUERY_TIMEOUT_S
   */
  openClickHouse: (queryTimeoutS?: number) => Promise<ClickHouse>
  openEventLog: () => Promise<EventLog>
  installation: Installation
  /** Tells the processes that serve what to forget. */
  purges: Pick<Purges, 'purge'>
}

/** What a command runs in: where its lines go, and until when it is wanted. */
export interface CommandContext {
  /** Writes a line of the result. */
  print: (line: string) => void
  /** Writes a line about how far the work has come. */
  showProgress: (line: string) => void
  log: Logger
  /** Aborted when nobody waits for the result any more, or the process is to end. */
  signal: AbortSignal
}

/**
 * A maintenance command. It runs where the engines are open, which may be another process than the one it was typed in.
 */
export interface Command {
  name: string
  /** What it does, in one line. */
  about: string
  /** How it is called, one form a line. */
  usage: readonly string[]
  /** What one should know before. */
  notes?: readonly string[]
  /**
   * @param args the words after the command's name
   * @returns the exit code
   * @throws UsageError when the words make no sense
   */
  run(args: readonly string[], deps: CommandDeps, context: CommandContext): Promise<number>
}
