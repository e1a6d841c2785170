import type { Schema } from '../../api/contract.ts'
import { Decimal } from '../../parts/decimal.tsx'
import { Fraction } from '../../parts/fraction.tsx'
import { sourceIdOf } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import type { Names } from './names.ts'

/** The quantity of a line in the unit of what was counted. */
export function Counted({ line, names }: { line: Schema<'InvoiceLine'>; names: Names }) {
  const { quantity, aggregation, price } = line
  if (aggregation === null) return price.model === 'flat' ? <>fixed</> : <Decimal value={quantity} />
  const { unit } = names.source(sourceIdOf(line))
  return (
    <span>
      <Fraction value={quantity} /> <Name>{aggregation === 'count' ? 'events' : unit}</Name>
    </span>
  )
}
