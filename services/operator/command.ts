import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import type { Purges } from '../../shared/redis/purges.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'

/** Where usage is. */
export interface UsageEngines {
  clickhouse: ClickHouse
  log: EventLog
  /** No event accepted before this can still turn up. */
  listedUpTo: () => Promise<Micros>
}

/** What commands work with. */
export interface CommandDeps {
  pool: Pool
  /** Asked for by commands that need them: a key must be revoked while ClickHouse or Kafka is away, too. */
  openUsage: () => Promise<UsageEngines>
  /** Tells the processes that serve what to forget. */
  purges: Pick<Purges, 'purge'>
}

/** Whoever typed a command. */
export interface Caller {
  /** Writes a line of the result. */
  print: (line: string) => void
  /** Writes a line about how far the work has come. */
  tell: (line: string) => void
  /** Aborted when nobody waits for the result any more, or the process is to end. */
  signal: AbortSignal
}

/** A maintenance command. It runs where the engines are open, which may be another process than the one it was typed in. */
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
  run(args: readonly string[], deps: CommandDeps, caller: Caller): Promise<number>
}
