import { ChdbSession, type ChdbSessionOptions } from './chdb-session.ts'

export interface SessionPoolOptions extends ChdbSessionOptions {
  /** How many queries run at once; each takes one thread of Node's pool (UV_THREADPOOL_SIZE) while it runs. */
  connections: number
}

/** Several connections to chDB; each query has one to itself, and waits for one when all are taken. */
export class SessionPool {
  private readonly all: readonly ChdbSession[]
  private readonly free: ChdbSession[]
  private readonly waiting: ((session: ChdbSession) => void)[] = []

  private constructor(sessions: readonly ChdbSession[]) {
    this.all = sessions
    this.free = [...sessions]
  }

  static async open({ connections, ...options }: SessionPoolOptions): Promise<SessionPool> {
    const sessions: ChdbSession[] = []
    while (sessions.length < connections) sessions.push(await ChdbSession.open(options))
    return new SessionPool(sessions)
  }

  async use<T>(work: (session: ChdbSession) => Promise<T>): Promise<T> {
    const session =
      this.free.pop() ?? (await new Promise<ChdbSession>((resolve) => this.waiting.push(resolve)))
    try {
      return await work(session)
    } finally {
      const next = this.waiting.shift()
      if (next === undefined) this.free.push(session)
      else next(session)
    }
  }

  close(): void {
    for (const session of this.all) session.close()
  }
}
