import type { Schema } from '../../api/contract.ts'

export type CardChange = Schema<'RateCardChange'>

const isText = (value: unknown): value is string => typeof value === 'string'
const isTextOrNone = (value: unknown): boolean => value === undefined || value === null || isText(value)
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isListOf = (value: unknown, isOne: (item: unknown) => boolean): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.every(isOne))

/** The last second that the API takes. */
const SECONDS_MAX = 253_402_300_799
const isSecondOrNone = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'number' && value % 1 === 0 && value >= 0 && value <= SECONDS_MAX)

const TEXTS = ['metric_id', 'currency', 'aggregation', 'group_by', 'price_id']
const SECONDS = ['starts_at', 'ends_at']

const isFilter = (value: unknown): boolean =>
  isObject(value) &&
  isText(value['property']) &&
  Array.isArray(value['values']) &&
  value['values'].length > 0 &&
  value['values'].every(isText)
const isValuePrice = (value: unknown): boolean =>
  isObject(value) && isText(value['value']) && isText(value['price_id'])
const isRate = (value: unknown): boolean =>
  isObject(value) &&
  TEXTS.every((name) => isTextOrNone(value[name])) &&
  SECONDS.every((name) => isSecondOrNone(value[name])) &&
  isListOf(value['filters'], isFilter) &&
  isListOf(value['prices'], isValuePrice)

/** A change of a card as it stands in an address. */
export const changeText = (change: CardChange): string => JSON.stringify(change)

/** Reads a change from an address. Tally checks it further. @returns undefined if the text is no change */
export function readChange(text: string): CardChange | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return undefined
    const isTimed = isSecondOrNone(value['effective_at'])
    const isChange = isTimed && isListOf(value['end'], isText) && isListOf(value['add'], isRate)
    return isChange ? value : undefined
  } catch {
    return undefined
  }
}
