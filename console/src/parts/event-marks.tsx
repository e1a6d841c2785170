import type { Schema } from '../api/contract.ts'
import { Chip } from './page.tsx'

/** Whether an event was corrected, or does not count. */
export function EventMarks({ event }: { event: Schema<'UsageEvent'> }) {
  if (event.voided_at !== undefined) return <Chip tone="bad">voided</Chip>
  if (event.corrected_at !== undefined) return <Chip tone="warn">corrected</Chip>
  return null
}
