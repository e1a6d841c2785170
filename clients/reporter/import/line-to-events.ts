import { characterCount } from '../../../shared/domain/character-count.ts'
import { checkProperties } from '../../../shared/domain/properties.ts'
import type { ParseTime } from '../../core/parse-time.ts'
import type { InputLine } from './input-line.ts'
import { digestOfLine, lineKey } from './line-key.ts'
import type { LineOrdinals } from './line-ordinals.ts'
import { type Fault, parseQuantity } from './parse-quantity.ts'

/** An event of a line, before the ids of its account and metric are known. */
export interface EventDraft {
  /** The external id in the account column; undefined when one account is fixed for all. */
  accountExternalId: string | undefined
  /** The index of the event's quantity column, from 0. */
  quantityIndex: number
  /** Decimal text in a form that Tally takes. */
  quantity: string
  /** Unix seconds. */
  occurredAt: number
  key: string
  properties: Readonly<Record<string, unknown>>
}

export interface LineEvents {
  drafts: EventDraft[]
  /** Empty quantity cells. They are not events. */
  emptyQuantities: number
}

export interface LineRules {
  timeColumn: string
  quantityColumns: readonly string[]
  accountColumn: string | undefined
  parseTime: ParseTime
  allowExponents: boolean
  source: string
}

const EXTERNAL_ID_CHARACTERS_MAX = 256

/** Lists the columns that lineToEvents reads from a line, in the order that it expects. */
export const wantedCells = ({ timeColumn, quantityColumns, accountColumn }: LineRules): string[] => [
  timeColumn,
  ...quantityColumns,
  ...(accountColumn === undefined ? [] : [accountColumn]),
]

/**
 * Makes the events of a line, one for each quantity in it. An empty cell means that nothing was measured. It makes no
 * event, and the line is still good.
 *
 * @param ordinals counts this line, even if it is bad
 * @returns the events, or the line's fault, which begins with the column
 */
export function lineToEvents(line: InputLine, rules: LineRules, ordinals: LineOrdinals): LineEvents | Fault {
  const { timeColumn, quantityColumns, accountColumn, parseTime, allowExponents, source } = rules
  const digest = digestOfLine(line.text)
  const ordinal = ordinals.next(digest)
  const occurredAt = parseTime(line.cells[0] ?? '')
  if (typeof occurredAt !== 'number') return { fault: `${timeColumn}: ${occurredAt.fault}` }
  const accountExternalId =
    accountColumn === undefined ? undefined : (line.cells[1 + quantityColumns.length] ?? '')
  const accountFault = findExternalIdFault(accountExternalId)
  if (accountFault !== undefined) return { fault: `${accountColumn ?? ''}: ${accountFault}` }
  const { properties } = line
  const checked = checkProperties(properties)
  if ('fault' in checked) return { fault: `its properties ${checked.fault}` }
  const drafts: EventDraft[] = []
  for (const [quantityIndex, column] of quantityColumns.entries()) {
    const cell = line.cells[1 + quantityIndex]
    if (cell === undefined || cell.trim() === '') continue
    const quantity = parseQuantity(cell, allowExponents)
    if (typeof quantity !== 'string') return { fault: `${column}: ${quantity.fault}` }
    const key = lineKey(digest, ordinal, line.columnKeys[1 + quantityIndex] ?? column, source)
    drafts.push({ accountExternalId, quantityIndex, quantity, occurredAt, key, properties })
  }
  return { drafts, emptyQuantities: quantityColumns.length - drafts.length }
}

function findExternalIdFault(id: string | undefined): string | undefined {
  if (id === undefined) return undefined
  if (id === '') return 'is empty'
  if (id.includes('\0') || !id.isWellFormed()) return 'holds a NUL character or half of a surrogate pair'
  if (characterCount(id) > EXTERNAL_ID_CHARACTERS_MAX)
    return `is longer than ${EXTERNAL_ID_CHARACTERS_MAX} characters, so it is no external id`
  return undefined
}
