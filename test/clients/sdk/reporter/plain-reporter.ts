import type {
  Blocked,
  Failing,
  LookUpOutcome,
  Outcome,
} from '../../../../clients/sdk/src/reporter/core/outcome.ts'
import type { CoreOptions } from '../../../../clients/sdk/src/reporter/core/reporter-core.ts'

/** An event of the plain reporter. Its place says in which of the lists it is. */
interface Row {
  n: number
  bytes: number
  addedAt: number
  needs: readonly string[]
  giveUpAt: number | null
  place: 'queue' | 'again' | 'held' | 'waiting' | 'sent'
  /** Its rank within the queue. */
  rank: number
  /** Its batch, while it is sent or is to be sent again. */
  batch: number
  until: number
  known: string[]
}

export type SetAside = [n: number, reason: string]

/**
 * What `ReporterCore` does, written down plainly: a list of all events, which each question reads from the start. It is
 * slow, and has no counters or bounds that could be out of date.
 */
export function plainReporter(options: CoreOptions) {
  const rows: Row[] = []
  const known: string[] = []
  const names: string[] = []
  const again: { batch: number; attempt: number }[] = []
  const sent = new Map<number, { attempt: number; failuresSeen: number }>()
  const asked = new Map<string, number>()
  let [ranks, batches, failuresSeen, failures, retryAt, dueBefore] = [0, 0, 0, 0, 0, -Infinity]
  /** The earliest time to give up that was noted since such events were last looked for. */
  let noted = Infinity
  let isGateOpen = options.gate === undefined
  let state: 'ok' | 'failing' | 'blocked' = 'ok'

  const inPlace = (place: Row['place']) => rows.filter((row) => row.place === place)
  const inBatch = (batch: number) => rows.filter((row) => row.batch === batch).sort((a, b) => a.rank - b.rank)
  const queue = () => inPlace('queue').sort((a, b) => a.rank - b.rank)
  const bytesOf = (some: readonly Row[]) => some.reduce((sum, { bytes }) => sum + bytes, 0)
  const missingName = (row: Row) => row.needs.find((name) => !row.known.includes(name))
  const waitingFor = (name: string) =>
    inPlace('waiting')
      .filter((row) => missingName(row) === name)
      .sort((a, b) => a.rank - b.rank)

  function place(row: Row): void {
    for (const name of row.needs) {
      if (row.known.includes(name)) continue
      if (!known.includes(name)) break
      row.known.push(name)
    }
    const missing = missingName(row)
    row.place = missing === undefined ? 'queue' : 'waiting'
    row.rank = ranks++
    row.batch = -1
    if (missing !== undefined && !names.includes(missing)) names.push(missing)
  }

  function drop(gone: readonly Row[]): number[] {
    for (const row of gone) rows.splice(rows.indexOf(row), 1)
    return gone.map(({ n }) => n)
  }

  function makeBatch(some: readonly Row[], attempt: number): void {
    if (some.length === 0) return
    const batch = batches++
    for (const row of some) Object.assign(row, { place: 'again', batch, rank: ranks++ })
    note(some)
    again.push({ batch, attempt })
  }

  const note = (some: readonly Row[]) => {
    for (const { giveUpAt } of some) noted = Math.min(noted, giveUpAt ?? Infinity)
  }

  const succeed = () => {
    state = 'ok'
    failures = 0
  }

  function fail(outcome: Failing | Blocked, seen: number, now: number, random: number): void {
    const wait = outcome.kind === 'failing' ? Math.min(outcome.retryAfterMs, 600_000) : 0
    if (seen !== failuresSeen) {
      if (state !== 'ok') retryAt = Math.max(retryAt, now + wait)
      return
    }
    failuresSeen++
    state = outcome.kind
    if (outcome.kind === 'blocked') retryAt = now + 30_000
    else {
      let full = 200
      for (let n = 0; n < failures && full < 30_000; n++) full *= 2
      full = Math.min(full, 30_000)
      failures++
      retryAt = now + Math.max(Math.floor(full / 2 + (random * full) / 2), wait)
    }
  }

  const underWay = () => sent.size + asked.size
  const mayTry = (now: number) =>
    state === 'ok' ? underWay() < options.inFlight : underWay() === 0 && now >= retryAt

  function dueAt(): number {
    const all = queue()
    const [first] = all
    if (first === undefined) return Infinity
    if (all.length >= options.batchEvents || bytesOf(all) >= options.batchBytes) return -Infinity
    return first.addedAt <= dueBefore ? -Infinity : first.addedAt + options.lingerMs
  }

  function nameToAsk(): string | undefined {
    if (!isGateOpen) return [options.gate].find((gate) => gate !== undefined && !asked.has(gate))
    return names.find((name) => waitingFor(name).length > 0 && !asked.has(name))
  }

  const setAside = (some: readonly Row[], reasonOf: (row: Row) => string): SetAside[] => {
    const result = some.map((row): SetAside => [row.n, reasonOf(row)])
    drop(some)
    return result
  }

  function refuse(batch: Row[], { text, faults }: Outcome & { kind: 'refused' }, now: number): SetAside[] {
    const faultOf = (row: Row) => faults.findLast(({ index }) => batch[index] === row)
    const faulty = batch.filter((row) => faultOf(row) !== undefined)
    if (faulty.length === 0 && batch.length === 1) return setAside(batch, () => text)
    if (faulty.length === 0) {
      const middle = Math.floor(batch.length / 2)
      makeBatch(batch.slice(0, middle), 0)
      makeBatch(batch.slice(middle), 0)
      return []
    }
    const lead = (row: Row) => faultOf(row)?.aheadMs ?? 0
    const held = faulty.filter((row) => lead(row) > 0 && lead(row) <= 86_400_000)
    for (const row of held)
      Object.assign(row, { place: 'held', batch: -1, until: now + lead(row), rank: ranks++ })
    note(held)
    makeBatch(
      batch.filter((row) => faultOf(row) === undefined),
      0,
    )
    return setAside(
      faulty.filter((row) => !held.includes(row)),
      (row) => faultOf(row)?.reason ?? '',
    )
  }

  return {
    add(n: number, bytes: number, needs: readonly string[], giveUpAt: number | null, now: number): boolean {
      if (rows.length + 1 > options.queueEvents || bytesOf(rows) + bytes > options.queueBytes) return false
      const row: Row = {
        n,
        bytes,
        addedAt: now,
        needs,
        giveUpAt,
        place: 'queue',
        rank: 0,
        batch: -1,
        until: 0,
        known: [],
      }
      rows.push(row)
      note([row])
      place(row)
      return true
    },
    flush(now: number): void {
      dueBefore = now
    },
    nextLookUp(now: number): string | null {
      const name = mayTry(now) ? nameToAsk() : undefined
      if (name !== undefined) asked.set(name, failuresSeen)
      return name ?? null
    },
    lookedUp(name: string, outcome: LookUpOutcome, now: number, random: number): SetAside[] {
      const seen = asked.get(name) ?? failuresSeen
      asked.delete(name)
      const isGate = name === options.gate
      if (outcome.kind === 'failing' || outcome.kind === 'blocked') fail(outcome, seen, now, random)
      else if (isGate && outcome.kind === 'missing')
        fail({ kind: 'blocked', text: outcome.text }, seen, now, random)
      else {
        succeed()
        if (isGate) isGateOpen = true
        else {
          const waiters = waitingFor(name)
          names.splice(names.indexOf(name), names.includes(name) ? 1 : 0)
          if (outcome.kind === 'missing') return setAside(waiters, () => outcome.text)
          known.push(name)
          for (const row of waiters) place(row)
        }
      }
      return []
    },
    nextBatch(now: number): { batch: number; events: number[]; attempt: number } | null {
      for (const row of inPlace('held').sort((a, b) => a.rank - b.rank)) if (row.until <= now) place(row)
      if (!isGateOpen || !mayTry(now)) return null
      let next = again.shift()
      if (next === undefined && now >= dueAt()) {
        const taken: Row[] = []
        for (const row of queue()) {
          const isFull =
            taken.length >= options.batchEvents || bytesOf(taken) + row.bytes > options.batchBytes
          if (taken.length > 0 && isFull) break
          taken.push(row)
        }
        const before = noted
        makeBatch(taken, 0)
        noted = before
        next = again.pop()
      }
      if (next === undefined) return null
      const events = inBatch(next.batch)
      for (const row of events) row.place = 'sent'
      sent.set(next.batch, { attempt: next.attempt, failuresSeen })
      return { batch: next.batch, events: events.map(({ n }) => n), attempt: next.attempt }
    },
    answered(
      batch: number,
      outcome: Outcome,
      now: number,
      random: number,
    ): { accepted: number[]; setAside: SetAside[] } {
      const { attempt, failuresSeen: seen } = sent.get(batch) ?? { attempt: 0, failuresSeen }
      sent.delete(batch)
      const events = inBatch(batch)
      if (outcome.kind === 'failing' || outcome.kind === 'blocked') {
        fail(outcome, seen, now, random)
        makeBatch(events, attempt + 1)
        return { accepted: [], setAside: [] }
      }
      succeed()
      if (outcome.kind === 'refused') return { accepted: [], setAside: refuse(events, outcome, now) }
      return { accepted: drop(events), setAside: [] }
    },
    expire(now: number): number[] {
      if (now < noted) return []
      noted = Infinity
      const isOver = (row: Row) => row.place !== 'sent' && row.giveUpAt !== null && row.giveUpAt <= now
      const gone = drop(rows.filter(isOver))
      for (const one of [...again]) if (inBatch(one.batch).length === 0) again.splice(again.indexOf(one), 1)
      for (const name of [...names]) if (waitingFor(name).length === 0) names.splice(names.indexOf(name), 1)
      note(rows.filter(({ place: at }) => at !== 'sent'))
      return gone.sort((a, b) => a - b)
    },
    nextWakeAt(now: number): number | null {
      const work =
        nameToAsk() !== undefined
          ? -Infinity
          : !isGateOpen
            ? Infinity
            : again.length > 0
              ? -Infinity
              : dueAt()
      const tryAt =
        state === 'ok'
          ? underWay() < options.inFlight
            ? work
            : Infinity
          : underWay() > 0
            ? Infinity
            : Math.max(work, retryAt)
      const at = Math.min(noted, ...inPlace('held').map(({ until }) => until), tryAt)
      return at === Infinity ? null : Math.max(at, now)
    },
    facts: () => ({ state, events: rows.length, bytes: bytesOf(rows), held: inPlace('held').length }),
    /** The batches and look-ups that are under way. */
    underWay: () => ({ batches: [...sent.keys()], names: [...asked.keys()] }),
    sizeOf: (batch: number) => inBatch(batch).length,
  }
}

export type PlainReporter = ReturnType<typeof plainReporter>
