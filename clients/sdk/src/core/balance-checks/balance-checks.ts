import type { Resources } from '../../resources.gen.ts'
import { amountText } from '../amounts.ts'
import { RateLimitedError, RequestTimeoutError, ServerError, UnavailableError } from '../api-errors.ts'
import type { AmountInput } from '../contract-types.ts'
import { decimals } from '../decimals.ts'
import { ConnectionError, NotTallyError, TallyError, TimeoutError } from '../errors.ts'
import { balanceReader } from './balance-reader.ts'
import {
  type Account,
  type BalanceKey,
  type Entry,
  entryOf,
  keptAccounts,
  type Reference,
} from './kept-accounts.ts'
import { addSlice, keptSettlements, leftOf, mergeSlices } from './own-usage.ts'

/** Usage that this process reports. */
export interface AddedUsage extends BalanceKey {
  quantity: AmountInput
}

/** What becomes of the usage of this process. */
export interface UsageWatcher {
  /** Called when the process takes usage on. */
  added(usage: AddedUsage): void
  /** Called when Tally accepted or refused usage. @param oldestUnsentAgeMs that of what is left; 0 when nothing is */
  settled(oldestUnsentAgeMs: number): void
}

/** Whatever reports usage. A UsageReporter does. */
export interface UsageSource {
  watch(watcher: UsageWatcher): void
}

export interface BalanceQuestion extends BalanceKey {
  /** How much must be left; '1' when it is left out. */
  atLeast?: AmountInput | undefined
}

export interface BalanceCheck {
  allowed: boolean
  /** What is left, less the usage of this process that Tally may not have counted; undefined when it is not known. */
  balance: string | undefined
  /** For how many milliseconds the balance may be old, without the two seconds in which Tally counts usage. */
  ageMs: number | undefined
  from: 'tally' | 'cache' | 'failure'
}

export interface BalanceCheckOptions {
  /** How long a balance that is enough is used again, in milliseconds; 2,000 when it is left out. */
  allowForMs?: number | undefined
  /** How long a balance that is not enough is used again, so that a refill is seen soon; 1,000 when it is left out. */
  denyForMs?: number | undefined
  /** How many accounts are kept; 10,000 when it is left out. Those with usage of the last seconds are kept besides. */
  accountsMax?: number | undefined
  /** How long Tally may take; that of the client when it is left out. */
  timeoutMs?: number | undefined
  /**
   * What a check says when Tally does not answer: it throws the error, allows, denies, or uses the last balance, however
   * old, and throws if there is none. A refusal of Tally, such as 404, is thrown in any case.
   */
  onFailure?: 'throw' | 'allow' | 'deny' | 'last' | undefined
  /** A UsageReporter, so that the usage that it takes on counts at once. */
  reporter?: UsageSource | undefined
}

export interface BalanceChecks {
  /**
   * Whether an account has enough left.
   *
   * @throws TallyError as `onFailure` says
   * @throws TypeError when the question is not valid
   */
  check(question: BalanceQuestion): Promise<BalanceCheck>
  /** Makes the next check of an account ask Tally, for example after a webhook about a grant. */
  forget(account: Reference): void
}

/**
 * Checks balances before each request of your users, mostly without asking Tally.
 *
 * **A check reserves nothing.** An allowed request may overdraw the balance by what others use within `allowForMs` and
 * the two seconds in which Tally counts usage. What this process reports through `reporter` counts at once, if checks
 * and reports name accounts and metrics in the same way.
 *
 * @param nowMs the time on a clock that nobody sets
 * @throws TypeError when an option is not valid
 */
export function balanceChecks(
  tally: Pick<Resources, 'accounts' | 'metrics'>,
  options: BalanceCheckOptions = {},
  nowMs: () => number = () => performance.now(),
): BalanceChecks {
  const allowForMs = milliseconds('allowForMs', options.allowForMs ?? 2_000)
  const denyForMs = milliseconds('denyForMs', options.denyForMs ?? 1_000)
  const settlements = keptSettlements(nowMs)
  const accounts = keptAccounts(options.accountsMax ?? 10_000, settlements.lacksFrom)
  const ask = sharedRequests({
    read: balanceReader(tally, options.timeoutMs),
    nowMs,
    lacksFrom: settlements.lacksFrom,
    sharedForMs: allowForMs,
  })

  options.reporter?.watch({
    added: (usage) => {
      const { added, known, lacking } = entryOf(accounts.use(usage.account), usage)
      addSlice(added, amountText(usage.quantity, 'quantity'), nowMs())
      const earliest = Math.min(known?.lacksFrom ?? Infinity, ...[...lacking].map(({ from }) => from))
      mergeSlices(added, earliest, settlements.lacksFrom())
    },
    settled: settlements.note,
  })

  const checkOf = ({ known, added }: Entry, atLeast: string, from: BalanceCheck['from']) => {
    if (known === undefined) return undefined
    const balance = leftOf(known.balance, known.lacksFrom, added)
    return {
      allowed: decimals.compare(balance, atLeast) >= 0,
      balance,
      ageMs: Math.round(nowMs() - known.askedAt),
      from,
    }
  }
  const onError = (err: unknown, entry: Entry, atLeast: string): BalanceCheck => {
    const { onFailure = 'throw' } = options
    if (onFailure === 'throw' || !isOutage(err)) throw err
    if (onFailure !== 'last')
      return { allowed: onFailure === 'allow', balance: undefined, ageMs: undefined, from: 'failure' }
    const last = checkOf(entry, atLeast, 'failure')
    if (last === undefined) throw err
    return last
  }

  return {
    async check(question) {
      const atLeast = amountText(question.atLeast ?? '1', 'atLeast')
      const account = accounts.use(question.account)
      const entry = entryOf(account, question)
      const cached = checkOf(entry, atLeast, 'cache')
      if (cached !== undefined && cached.ageMs <= (cached.allowed ? allowForMs : denyForMs)) return cached
      try {
        for (;;) {
          await ask(question, account, entry)
          const answered = checkOf(entry, atLeast, 'tally')
          if (answered !== undefined) return answered // otherwise the account was forgotten meanwhile
        }
      } catch (err) {
        return onError(err, entry, atLeast)
      }
    },
    forget(reference) {
      const account = accounts.find(reference)
      if (account !== undefined) forgetAccount(account)
    },
  }
}

function forgetAccount(account: Account): void {
  account.id = undefined
  for (const entry of account.entries.values()) {
    entry.known = undefined
    entry.asking = undefined
    entry.version++
  }
}

interface SharedRequests {
  read: (key: BalanceKey, account: Account) => Promise<string>
  nowMs: () => number
  lacksFrom: () => number
  sharedForMs: number
}

/** @returns a function that waits for a balance that Tally was asked for at most `sharedForMs` ago */
function sharedRequests({ read, nowMs, lacksFrom, sharedForMs }: SharedRequests) {
  return (question: BalanceKey, account: Account, entry: Entry): Promise<void> => {
    const askedAt = nowMs()
    if (entry.asking !== undefined && askedAt - entry.asking.askedAt <= sharedForMs)
      return entry.asking.answer
    const { version } = entry
    const lack = { from: lacksFrom() }
    entry.lacking.add(lack)
    const answer = read(question, account)
      .then((balance) => {
        const isNewest = entry.known === undefined || entry.known.askedAt < askedAt
        if (entry.version === version && isNewest) entry.known = { balance, askedAt, lacksFrom: lack.from }
      })
      .finally(() => {
        entry.lacking.delete(lack)
        if (entry.asking?.answer === answer) entry.asking = undefined
      })
    entry.asking = { answer, askedAt }
    return answer
  }
}

/** @throws TypeError when it is no time */
function milliseconds(name: string, value: number): number {
  if (Number.isFinite(value) && value >= 0) return value
  throw new TypeError(`${name} must be milliseconds from 0 on, not ${value}`)
}

/** Whether Tally did not answer the question at all. */
const isOutage = (err: unknown): boolean =>
  TallyError.is(err) &&
  [
    ConnectionError,
    TimeoutError,
    NotTallyError,
    RequestTimeoutError,
    RateLimitedError,
    UnavailableError,
    ServerError,
  ].some((Class) => Class.is(err))
