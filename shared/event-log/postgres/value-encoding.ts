import { promisify } from 'node:util'
import { constants, gunzip, gzip } from 'node:zlib'

/** How a value is stored: unchanged, or gzipped. */
const PLAIN = 0
const GZIPPED = 1

/** For smaller values gzip costs more time than the smaller write saves. */
const GZIP_BYTES_MIN = 16 * 1024

/**
 * The output buffer is a quarter of the input, and lines shrink to less, so that the result fits into one chunk. For
 * each further chunk zlib's thread and the main thread wait for each other.
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
 * Gzips large values before they are sent: the database then writes far fewer bytes, twice (WAL and table), and does
 * not compress them itself.
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
  if (encoding === GZIPPED) return gunzipAsync(bytes, { chunkSize: decodedSize + 1 }) // one byte more, or a second chunk follows
  throw new RangeError(
    `the event log holds a record of encoding ${encoding}, which this version does not know`,
  )
}
