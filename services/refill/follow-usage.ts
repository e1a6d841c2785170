import type {
  CorrectedUsage,
  TouchedUsage,
  touchedUsageRepository,
} from '../../shared/clickhouse/events/touched-usage.ts'
import { type Micros, unixSeconds } from '../../shared/time/microsecond-clock.ts'

export interface FollowUsageDeps {
  touched: Pick<ReturnType<typeof touchedUsageRepository>, 'listAccepted' | 'listCorrected'>
  /** No event accepted before this time can still be stored; see listedUpToOf. */
  listedUpTo: () => Promise<Micros>
  /** Unix seconds; a clock that is some seconds off does no harm. */
  nowS: () => number
}

/** The accounts and sources whose usage has changed since the last poll. */
export interface UsagePoll {
  /** Undefined at the first poll, and when there are too many: then all configurations are to be checked. */
  touched: TouchedUsage[] | undefined
  /** To be called once all in `touched` are checked. Otherwise the next poll lists them again. */
  acknowledge: () => void
}

/** If more changed in one poll, all configurations are checked instead. */
const TOUCHED_MAX = 20_000
/**
 * Events accepted less than this ago are seen as soon as they are stored. Older ones are seen once the list of events
 * is complete up to them.
 */
const RECENT_S = 10
/** How long a correction is listed after it was stored: longer than it takes until it can be seen. */
const CORRECTED_WITHIN_S = 60

/**
 * Follows the usage that is stored, by two lists. The list of events by acceptance, as far as it is complete, misses no
 * report, however long the report was in the event log. Corrections are listed by the time at which they were stored.
 * Dead letters that are brought back are missed: no follower of the list can see them.
 *
 * @returns a function that polls; call it again only after the previous poll has ended
 */
export function followUsage({ touched, listedUpTo, nowS }: FollowUsageDeps) {
  /** Every event accepted before this second was acknowledged. */
  let acknowledgedS: number | undefined
  let corrections: ReadonlySet<string> = new Set()
  return async (namespaceIds: readonly string[]): Promise<UsagePoll> => {
    const completeS = unixSeconds(await listedUpTo()) // read first: events stored later were not accepted before it
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
