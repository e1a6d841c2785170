import type {
  CorrectedUsage,
  TouchedUsage,
  touchedUsageRepository,
} from '../../shared/clickhouse/events/touched-usage.ts'
import { type Micros, unixSeconds } from '../../shared/time/microsecond-clock.ts'

export interface FollowUsageDeps {
  touched: Pick<ReturnType<typeof touchedUsageRepository>, 'listAccepted' | 'listCorrected'>
  /** Every event accepted before this time is stored already; see listedUpToOf. */
  listedUpTo: () => Promise<Micros>
  /** The current time in Unix seconds. An error of some seconds does no harm. */
  nowS: () => number
}

/** The accounts and sources whose usage has changed since the last poll. */
export interface UsagePoll {
  /** Undefined at the first poll, and when there are too many. Then the caller must check all configurations. */
  touched: TouchedUsage[] | undefined
  /** The caller calls this once it has checked all of `touched`. Otherwise the next poll lists them again. */
  acknowledge: () => void
}

/** If one poll finds more changes, all configurations are checked instead. */
const TOUCHED_MAX = 20_000
/**
 * Events that were accepted in the last RECENT_S seconds are listed as soon as they are stored. Older events are listed
 * once the list of events is complete up to their time.
 */
const RECENT_S = 10
/** How long a correction is listed after it was stored. This is longer than the time until readers can see it. */
const CORRECTED_WITHIN_S = 60

/**
 * Follows the stored usage, with two lists. One is the list of events by acceptance, up to the time to which it is
 * complete. It misses no report, even if the report was in the event log for a long time. The other list has the
 * corrections, by the time at which they were stored. Events of restored dead letters are missed, because they appear
 * in a part of the list that was read before.
 *
 * @returns a function that polls; call it again only after the previous poll has ended
 */
export function followUsage({ touched, listedUpTo, nowS }: FollowUsageDeps) {
  /** Every event accepted before this second was acknowledged. */
  let acknowledgedS: number | undefined
  let corrections: ReadonlySet<string> = new Set()
  return async (namespaceIds: readonly string[]): Promise<UsagePoll> => {
    const completeS = unixSeconds(await listedUpTo()) // read first: events that are stored later were accepted later
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
