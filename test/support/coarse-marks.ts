import { markLate } from '../../services/loader/mark-late.ts'
import { usageEventRepository } from '../../shared/clickhouse/events/usage-events.ts'
import { type DirtySlot, dirtySlotRepository } from '../../shared/clickhouse/rollups/dirty-slots.ts'
import { dayOf } from '../../shared/clickhouse/rollups/usage-cover.ts'
import { DAY_S } from '../../shared/domain/time-range.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../shared/usage-lines/log-line.ts'
import { subjectOf } from '../../shared/usage-lines/log-line-subjects.ts'
import type { RollupStage } from './rollup-stage.ts'

type Kind = 'accounts' | 'slots' | 'days'

/**
 * Stores late events as the loader does, with marks of a kind.
 *
 * @param now the time by which a day has ended
 */
export function storeLateCoarsely(
  { writing, epochs }: Pick<RollupStage, 'writing' | 'epochs'>,
  kind: Kind,
  now: number,
): (events: readonly UsageEvent[]) => Promise<unknown> {
  const dirty = dirtySlotRepository(writing)
  const coarse = (slots: readonly DirtySlot[]) => coarseMarks(slots, kind, now)
  const store = markLate(
    {
      epochs,
      dirty: {
        placePending: (slots, insertId, at) => dirty.placePending(coarse(slots), insertId, at),
        turnReady: (slots, insertId, at) => dirty.turnReady(coarse(slots), insertId, at),
        placeReady: (slots, insertId, at) => dirty.placeReady(coarse(slots), insertId, at),
      },
      reached: () => undefined,
      insertLines: usageEventRepository(writing).insertLines,
    },
    15,
  )
  return (events) => store(Buffer.from(events.map(usageEventToLine).join('\n')), events.map(subjectOf))
}

/** Places marks as the loader does when there would be too many: of slots, and of days that have ended. */
export function coarseMarks(slots: readonly DirtySlot[], kind: Kind, now: number): DirtySlot[] {
  if (kind === 'accounts') return [...slots]
  const made = new Map<string, DirtySlot>()
  for (const slot of slots) {
    const mark = { ...slot, ...coarser(slot, kind, now), accountId: '' }
    made.set(`${mark.namespaceId} ${mark.slot} ${mark.kind}`, mark)
  }
  return [...made.values()]
}

function coarser(slot: DirtySlot, to: 'slots' | 'days', now: number): Pick<DirtySlot, 'slot' | 'kind'> {
  if (slot.kind === 'slot' && to === 'days' && dayOf(slot.slot) + DAY_S <= now)
    return { slot: dayOf(slot.slot), kind: 'day' }
  return slot
}
