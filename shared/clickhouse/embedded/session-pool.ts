import { DomainError } from '../../errors/domain-error.ts'
import { ChdbSession, type ChdbSessionOptions } from './chdb-session.ts'

export interface SessionPoolOptions extends ChdbSessionOptions {
  /**
   * The number of queries that run at once; each takes one thread of Node's pool (UV_THREADPOOL_SIZE) while it runs.
   */
  connections: number
}

/** The longest wait for a connection: as long as a request may take. */
const WAIT_MS = 30_000
const WAITING_MAX = 10_000

/**
 * Several connections to chDB. Each query has one to itself; when all are taken, it waits for one for a limited time.
 */
export class SessionPool {
  private readonly all: readonly ChdbSession[]
  private readonly free: ChdbSession[]
  private readonly waiting = new Set<(session: ChdbSession) => void>()

  private constructor(sessions: readonly ChdbSession[]) {
    this.all = sessions
    this.free = [...sessions]
  }

  static async open({ connections, ...options }: SessionPoolOptions): Promise<SessionPool> {
    const sessions: ChdbSession[] = []
    while (sessions.length < connections) sessions.push(await ChdbSession.open(options))
    return new SessionPool(sessions)
  }

  /** @throws DomainError overloaded when no connection is free in time */
  async use<T>(work: (session: ChdbSession) => Promise<T>): Promise<T> {
    const session = this.free.pop() ?? (await this.wait())
    try {
      return await work(session)
    } finally {
      const [next] = this.waiting // a Set keeps the order of arrival
      if (next === undefined) this.free.push(session)
      else next(session)
    }
  }

  private wait(): Promise<ChdbSession> {
    return new Promise((resolve, reject) => {
      if (this.waiting.size >= WAITING_MAX) {
        reject(busy())
        return
      }
      const take = (session: ChdbSession) => {
        clearTimeout(timer)
        this.waiting.delete(take)
        resolve(session)
      }
      const timer = setTimeout(() => {
        this.waiting.delete(take)
        reject(busy())
      }, WAIT_MS)
      this.waiting.add(take)
    })
  }

  close(): void {
    for (const session of this.all) session.close()
  }
}

const busy = (): DomainError => new DomainError('overloaded', 'ClickHouse is busy, try again')
