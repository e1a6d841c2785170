import { useUrlQuery } from '../app/url.ts'
import type { Period } from '../format/time.ts'
import { Choice } from './choice.tsx'

const OPTIONS = [
  { value: 'day', label: 'Day' },
  { value: 'month', label: 'Month' },
] as const

/** The period of the address; the day without one. */
export const periodOf = (text: string | undefined): Period => (text === 'month' ? 'month' : 'day')

/** Chooses between days and months, and writes it into the address. */
export function PeriodPicker({ chosen }: { chosen: Period }) {
  const [, change] = useUrlQuery()
  return (
    <Choice
      label="By"
      options={OPTIONS}
      value={chosen}
      onChange={(value) => change({ period: value === 'day' ? undefined : value })}
    />
  )
}
