import { promisify } from 'node:util'
import { constants, gunzip, gzip } from 'node:zlib'

/** The encoding of a stored value: unchanged, or gzipped. */
const PLAIN = 0
const GZIPPED = 1

/** Below this size, gzip costs more time than the smaller write saves. */
const GZIP_BYTES_MIN = 16 * 1024

/**
 * The output buffer has a quarter of the size of the input. Lines shrink to less than that, so the result fits into one
 * chunk. For each further chunk, zlib's thread and the main thread would wait for each other.
 */
const GZIPPED_PART = 4

const gzipAsync = promisify(gzip)
const gunzipAsync = promisify(gunzip)

export interface EncodedValue {
  encoding: number
  bytes: Buffer
  /** The size of the value before encoding. */
  decodedSize: number
}

/**
 * Gzips large values before they are sent. Then the database writes far fewer bytes, both to the WAL and to the table,
 * and does not compress the values itself.
 */
export async function encodeValue(value: Buffer): Promise<EncodedValue> {
  const decodedSize = value.length
  if (decodedSize < GZIP_BYTES_MIN) return { encoding: PLAIN, bytes: value, decodedSize }
  const chunkSize = Math.ceil(decodedSize / GZIPPED_PART)
  const bytes = await gzipAsync(value, { level: constants.Z_BEST_SPEED, chunkSize })
  return { encoding: GZIPPED, bytes, decodedSize }
}

export async function decodeValue({ encoding, bytes, decodedSize }: EncodedValue): Promise<Buffer> {
  if (encoding === PLAIN) return bytes
  // The extra byte avoids a second chunk.
  if (encoding === GZIPPED) return gunzipAsync(bytes, { chunkSize: decodedSize + 1 })
  throw new RangeError(
    `a record of the event log has the encoding ${encoding}, which this version does not support`,
  )
}
