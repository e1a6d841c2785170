import { amountFromDatabase, formatAmount } from '../../../shared/amount/amount.ts'
import type { CurrentEvent } from '../../../shared/clickhouse/events/usage-events.ts'
import { isSameJson } from '../../../shared/domain/canonical-json.ts'

/** Fields that a reporter sets. Two reports of one event contradict each other when one of these fields differs. */
export const REPORTED = ['accountId', 'source', 'quantity', 'occurredAt', 'properties'] as const
/** Fields that a row must have in common with the line or the revision that it was made from. */
const STORED = [...REPORTED, 'acceptedAt', 'voided'] as const

type Field = (typeof STORED)[number]
type Compared = Pick<CurrentEvent, Field>

/**
 * Whether two versions of one event have the same content.
 * @param fields the fields that are compared
 */
export const isSame = (row: Compared, event: Compared, fields: readonly Field[] = STORED): boolean =>
  fields.every((field) => isSameField(row, event, field))

/**
 * Describes the fields that differ between a row and another version of its event.
 * @param holder names the place where `event` was found, such as `the log`
 */
export const describeDifference = (
  row: Compared,
  event: Compared,
  holder: string,
  fields: readonly Field[] = STORED,
): string =>
  fields
    .filter((field) => !isSameField(row, event, field))
    .map((field) => {
      const [counted, held] = shownApart(textOf(row, field), textOf(event, field))
      return `${field} is ${counted}, ${holder} has ${held}`
    })
    .join('; ')

function isSameField(row: Compared, event: Compared, field: Field): boolean {
  if (row[field] === event[field]) return true
  return field === 'properties'
    ? isSameProperties(row.properties, event.properties)
    : textOf(row, field) === textOf(event, field)
}

function isSameProperties(one: string, other: string): boolean {
  try {
    return isSameJson(one, other)
  } catch {
    return false // a person may have stored text that is not JSON
  }
}

const textOf = (event: Compared, field: Field): string =>
  field === 'quantity' ? formatAmount(amountFromDatabase(event.quantity)) : String(event[field])

const SHOWN_MAX = 200
const BEFORE_THE_DIFFERENCE = 40

/** Returns both texts. Long texts are cut to the part where they begin to differ. */
function shownApart(one: string, other: string): [string, string] {
  if (one.length <= SHOWN_MAX && other.length <= SHOWN_MAX) return [one, other]
  let same = 0
  while (same < one.length && one[same] === other[same]) same++
  const from = Math.max(0, same - BEFORE_THE_DIFFERENCE)
  return [part(one, from), part(other, from)]
}

function part(text: string, from: number): string {
  const end = from + SHOWN_MAX
  return `${from > 0 ? '…' : ''}${text.slice(from, end)}${end < text.length ? '…' : ''}`
}
