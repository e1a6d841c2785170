import type {
  CorrectedUsage,
  TouchedUsage,
  touchedUsageRepository,
} from '../../shared/clickhouse/events/touched-usage.ts'
import { type Micros, unixSeconds } from '../../shared/time/microsecond-clock.ts'

export interface FollowUsageDeps {
  touched: Pick<ReturnType<typeof touchedUsageRepository>, 'listAccepted' | 'listCorrected'>
  /** No event accepted before this can still be stored; see listedUpToOf. */
  listedUpTo: () => Promise<Micros>
  /** Unix seconds; a clock that is some seconds off does no harm. */
  nowS: () => number
}

/** Whose usage has changed since the last poll. */
export interface UsagePoll {
  /** Undefined when they are so many that all configurations are to be gone through instead, as at the first poll. */
  touched: TouchedUsage[] | undefined
  /** They were looked at: the next poll begins where this one ended. Otherwise it shows them again. */
  acknowledge: () => void
}

/** More in one poll are not worth telling apart. */
const TOUCHED_MAX = 20_000
/** Events accepted this long ago are looked at as they are stored, those before once none of their time is missing. */
const RECENT_S = 10
/** How long a correction is looked for: longer than it may take until what was stored can be seen. */
const CORRECTED_WITHIN_S = 60

/**
 * Follows the usage that is stored: by the list of events by acceptance, as far as it is complete, which misses no
 * report however long it lay in the event log; and by the corrections, which are noted when they are stored. What is
 * missed is what no follower of the list can see: dead letters that are brought back.
 *
 * @returns one poll; polls come one after the other
 */
export function followUsage({ touched, listedUpTo, nowS }: FollowUsageDeps) {
  /** Every event accepted before this second was acknowledged. */
  let acknowledgedS: number | undefined
  let corrections: ReadonlySet<string> = new Set()
  return async (namespaceIds: readonly string[]): Promise<UsagePoll> => {
    const completeS = unixSeconds(await listedUpTo()) // before anything is read: what is stored later lies behind it
    const recentFrom = Math.max(0, Math.floor(nowS()) - RECENT_S)
    const corrected = await touched.listCorrected(CORRECTED_WITHIN_S, TOUCHED_MAX)
    const from = acknowledgedS ?? completeS
    const accepted =
      namespaceIds.length === 0
        ? []
        : await touched.listAccepted(namespaceIds, {
            from,
            to: completeS,
            recentFrom: Math.max(from, recentFrom),
            limit: TOUCHED_MAX,
          })
    const unseen = corrected.filter((entry) => !corrections.has(nameOf(entry)))
    const isAll =
      acknowledgedS === undefined || [corrected, accepted].some(({ length }) => length >= TOUCHED_MAX)
    return {
      touched: isAll ? undefined : [...accepted, ...unseen],
      acknowledge() {
        acknowledgedS = Math.max(completeS, acknowledgedS ?? 0)
        corrections = new Set(corrected.map(nameOf))
      },
    }
  }
}

const nameOf = ({ storedAt, namespaceId, accountId, source }: CorrectedUsage): string =>
  `${storedAt} ${namespaceId} ${accountId} ${source}`
