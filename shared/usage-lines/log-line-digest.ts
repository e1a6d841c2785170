import { hash } from 'node:crypto'
import { parseMicros } from '../time/micros-text.ts'
import type { Micros } from '../time/microsecond-clock.ts'
import { NAMESPACE } from './log-line.ts'

/** The identity of a report in the event log; see digestOfLogLine. */
export interface LogLineDigest {
  namespaceId: string
  /** The 32 hexadecimal digits of the event's id. */
  id: string
  /** The first bytes of a SHA-256 over the line up to its property pairs, as hexadecimal digits. */
  digest: string
  acceptedAt: Micros
  version: bigint
}

/** How many bytes of the SHA-256 are compared. */
export const DIGEST_BYTES = 16

/** The positions at which the namespace id begins and ends, the same in every line. */
const NAMESPACE_AT = '{"namespace_id":"'.length
const NAMESPACE_END = NAMESPACE_AT + 36
const ID_NAME = ',"event_id":"event_'
const PAIRS_NAME = ',"property_pairs":['
const TAIL = /^,"accepted_at":"([^"]{26})","voided":0,"version":"(\d{1,19})"\}$/

/**
 * The identity of a report, from a line that usageEventToLine wrote. It does not parse the line as JSON, because that
 * is much slower.
 *
 * The digest proves nothing by itself. A line surely has the content of a stored row only if ClickHouse computes the
 * same digest from the row's columns; usage-digests.ts builds the same text there. For an unusual line the result is
 * undefined, and the caller must parse the line as JSON.
 *
 * @returns undefined for a correction too
 */
export function digestOfLogLine(line: Buffer): LogLineDigest | undefined {
  const pairsAt = line.lastIndexOf(PAIRS_NAME)
  const idAt = line.indexOf(ID_NAME, NAMESPACE_END) + ID_NAME.length
  if (pairsAt < 0 || idAt < ID_NAME.length) return undefined
  // The first array end that a field follows. If a pair contains this text, the rest of the line does not match TAIL.
  const pairsEnd = line.indexOf('],"', pairsAt)
  const tail = pairsEnd < 0 ? null : TAIL.exec(line.toString('latin1', pairsEnd + 1))
  const acceptedAt = parseMicros(tail?.[1] ?? '')
  const id = line.toString('latin1', idAt, idAt + 32)
  const namespaceId = line.toString('latin1', NAMESPACE_AT, NAMESPACE_END)
  if (acceptedAt === undefined || !/^[0-9a-f]{32}$/.test(id) || !NAMESPACE.test(namespaceId)) return undefined
  return {
    namespaceId,
    id,
    // Why hexadecimal text: hash() makes it faster than a Buffer.
    digest: hash('sha256', line.subarray(0, pairsAt), 'hex').slice(0, 2 * DIGEST_BYTES),
    acceptedAt,
    version: BigInt(tail?.[2] ?? ''),
  }
}
