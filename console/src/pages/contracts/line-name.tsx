import type { Schema } from '../../api/contract.ts'
import { Name } from '../../parts/text.tsx'
import { cardOf, partOf } from './invoice-line.ts'
import type { Names } from './names.ts'

interface LineNameProps {
  line: Pick<Schema<'InvoiceLine'>, 'contract_line_id' | 'product_id' | 'group_by' | 'value'>
  lines: readonly Schema<'ContractLine'>[]
  names: Names
}

/** What a line of an invoice is called: its card, its product, and the part of the usage it is for. */
export function LineName({ line, lines, names }: LineNameProps) {
  const card = cardOf(line, lines, names)
  const part = partOf(line)
  return (
    <span>
      {card !== undefined && (
        <span className="soft">
          <Name>{card}</Name>{' '}
        </span>
      )}
      <Name>{names.product(line.product_id)}</Name>
      {part !== undefined && (
        <>
          {' · '}
          <Name>{part}</Name>
        </>
      )}
    </span>
  )
}
