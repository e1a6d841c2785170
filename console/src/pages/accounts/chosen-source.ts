import type { Schema } from '../../api/contract.ts'
import { isZero } from '../../format/decimal.ts'
import { chosenSource as firstSource } from '../../parts/source-picker.tsx'
import { type Source, sourceIdOf, type Sources } from '../../parts/sources.ts'

/** Whether there ever was a grant or usage. */
export const isInUse = ({ grant_total: granted, usage_total: used }: Schema<'Balance'>): boolean =>
  !isZero(granted) || !isZero(used)

/** The source of the address, or the first one that has grants or usage, or the first one that is not archived. */
export function chosenSource(
  sources: Sources | undefined,
  balances: Schema<'Balances'> | undefined,
  id: string | undefined,
): Source | undefined {
  if (id !== undefined && id !== '') return firstSource(sources, id)
  if (balances === undefined) return undefined
  const used = balances.data.find(isInUse)
  return firstSource(sources, used === undefined ? undefined : sourceIdOf(used))
}
