import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import type { EventLogConfig } from '../../shared/event-log/config.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import type { RedisConfig } from '../../shared/redis/config.ts'
import type { Purges } from '../../shared/redis/purges.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'

/** The engines that hold usage. */
export interface UsageEngines {
  clickhouse: ClickHouse
  log: EventLog
  /** No event accepted before this time can still be stored. */
  listedUpTo: () => Promise<Micros>
}

/** How an installation is set up, as far as this process knows. */
export interface Installation {
  eventLog: Pick<EventLogConfig, 'kafka' | 'partitions'>
  redis: RedisConfig
  /** The folder with the data of embedded engines; undefined when there are none. */
  dataFolder: string | undefined
  /** The URLs of servers, by the name of their setting; undefined where an engine is embedded. */
  urls: Readonly<Record<string, string | undefined>>
  /** The services' database in ClickHouse. */
  database: string
  /** Host and port where analysts sign in, as in a URL; undefined when ClickHouse is a server. */
  analystAddress: () => string | undefined
  /**
   * The addresses that this process listens on, by the name of their setting; undefined when other processes listen.
   */
  hosts: Readonly<Record<string, string>> | undefined
}

/** The embedded ClickHouse, and what belongs to a backup of it. */
export interface EmbeddedEngines {
  /** The URL of the embedded PostgreSQL's superuser; undefined when PostgreSQL is a server. */
  superuserUrl: string | undefined
  /** Names of files in the data folder that are copied if they exist: passwords and keys. */
  files: readonly string[]
}

/** The dependencies of commands. */
export interface CommandDeps {
  pool: Pool
  /**
   * Called only by commands that need these engines. So a key can be revoked while ClickHouse or Kafka is unavailable.
   */
  openUsage: () => Promise<UsageEngines>
  /**
   * Opens only ClickHouse, whereas openUsage opens all engines of usage. The doctor calls it to find out which engine
   * is unavailable.
   *
   * @param queryTimeoutS the longest a statement may take; default: CLICKHOUSE_QUERY_TIMEOUT_S
   */
  openClickHouse: (queryTimeoutS?: number) => Promise<ClickHouse>
  openEventLog: () => Promise<EventLog>
  installation: Installation
  /** Undefined when ClickHouse is a server. */
  embedded: EmbeddedEngines | undefined
  /** Tells the serving processes what to remove from their caches. */
  purges: Pick<Purges, 'purge'>
}

/** Says how a command writes its lines, and when it must stop. */
export interface CommandContext {
  /** Writes a line of the result. */
  print: (line: string) => void
  /** Writes a line about the command's progress. */
  showProgress: (line: string) => void
  log: Logger
  /** Aborted when nobody waits for the result any more, or the process is about to end. */
  signal: AbortSignal
}

/**
 * A maintenance command. It runs in the process that has the engines open. That may be another process than the one
 * that the operator started.
 */
export interface Command {
  name: string
  /** The purpose of the command, in one line. */
  about: string
  /** The valid forms of the call, one per line. */
  usage: readonly string[]
  /** Further lines of its help. */
  notes?: readonly string[]
  /**
   * Whether the words ask for something that needs no engine of Tally. Then it runs in the process that the operator
   * started, with that process's environment.
   */
  runsAlone?: (args: readonly string[]) => boolean
  /** What it does then; see run. */
  runAlone?: (
    args: readonly string[],
    env: Readonly<Record<string, string | undefined>>,
    context: Pick<CommandContext, 'print'>,
  ) => Promise<number>
  /** The words as another process must get them, which has another working directory. */
  wordsToSend?: (
    args: readonly string[],
    env: Readonly<Record<string, string | undefined>>,
  ) => readonly string[]
  /**
   * @param args the words after the command's name
   * @returns the exit code
   * @throws UsageError when the words are not valid
   */
  run(args: readonly string[], deps: CommandDeps, context: CommandContext): Promise<number>
}
