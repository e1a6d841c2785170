import type { DirtySlot } from '../../shared/clickhouse/rollups/dirty-slots.ts'
import { DAY_S, dayOf } from '../../shared/clickhouse/rollups/usage-cover.ts'

/** Places marks as the loader does when there would be too many: of slots, and of days that have ended. */
export function coarseMarks(
  slots: readonly DirtySlot[],
  kind: 'accounts' | 'slots' | 'days',
  now: number,
): DirtySlot[] {
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
