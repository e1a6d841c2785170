/** What of an event can be corrected. */
export interface Correctable {
  quantity: string
  properties: Readonly<Record<string, unknown>>
  voided_at?: number
}

/** A field that differs, with its texts; undefined where there is no such field. */
export interface FieldChange {
  field: string
  before: string | undefined
  after: string | undefined
}

/** The fields in which two versions of an event differ, one for each property of the top level. */
export function eventChanges(before: Correctable, after: Correctable): FieldChange[] {
  const names = new Set([...Object.keys(before.properties), ...Object.keys(after.properties)])
  return [
    { field: 'quantity', before: before.quantity, after: after.quantity },
    ...[...names].sort().map((name) => ({
      field: `property ${name}`,
      before: propertyJson(before.properties, name),
      after: propertyJson(after.properties, name),
    })),
    { field: 'counts', before: countsText(before), after: countsText(after) },
  ].filter((change) => change.before !== change.after)
}

const countsText = ({ voided_at: voidedAt }: Correctable): string =>
  voidedAt === undefined ? 'yes' : 'no, it is voided'

const propertyJson = (properties: Correctable['properties'], name: string): string | undefined =>
  Object.hasOwn(properties, name) ? JSON.stringify(properties[name]) : undefined

/**
 * Whether a version of an event has a correction: it is the version that the correction answered, or a later one.
 *
 * @param stored the version as usage has it
 * @param answered the version of the answer to the correction
 */
export function hasCorrection(
  stored: Correctable & { corrected_at?: number },
  answered: Correctable & { corrected_at?: number },
): boolean {
  const [storedAt, answeredAt] = [stored.corrected_at ?? 0, answered.corrected_at ?? 0]
  return storedAt > answeredAt || (storedAt === answeredAt && eventChanges(stored, answered).length === 0)
}
