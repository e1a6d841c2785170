import { statfs } from 'node:fs/promises'
import type { Logger } from '../logging/logger.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Closeable } from './close-all.ts'
import { repeat } from './repeat.ts'

/**
 * How much room the disk of the embedded engines has.
 *
 * @internal
 */
export type Room =
  | 'enough'
  /** No usage is accepted any more. Accepted usage is loaded, and everything else goes on. */
  | 'little'
  /** Nothing is written any more except what keeps the engines running, so that reads go on. */
  | 'none'

const MB = 1_000_000

/**
 * With fewer free bytes, the room is `little`. At full load the log, its WAL and the merges write tens of megabytes a
 * second. There must be room for the usage that is accepted until the next look, and for accepted usage that is not
 * loaded yet.
 */
export const LITTLE_BYTES = 200 * MB
/**
 * From this many free bytes on, the room is `enough` again. It is more than LITTLE_BYTES, so that the room does not
 * change with every merge.
 */
export const ENOUGH_BYTES = 300 * MB
/**
 * With fewer free bytes, the room is `none`. These bytes are for PostgreSQL's WAL: without room for it PostgreSQL
 * stops, and then nothing can be read either. The embedded ClickHouse keeps as much free by itself: see
 * engine-config.ts.
 */
export const NONE_BYTES = 100 * MB
const LITTLE_AGAIN_BYTES = 150 * MB

const LOOK_EVERY_MS = 1_000

/** The room on a disk, checked at intervals. */
export interface DiskSpace extends Closeable {
  room: () => Room
}

export interface WatchDiskDeps {
  metrics: Metrics
  log: Logger
  /** The bytes that are free on the disk of a folder. */
  readFree?: (folder: string) => Promise<number>
}

/** The bytes that users other than root may still write on the disk of a folder. */
async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/**
 * The room after a new reading.
 *
 * @param before the room before this reading
 * @internal
 */
export function roomAfter(before: Room, freeBytes: number): Room {
  if (freeBytes < NONE_BYTES || (before === 'none' && freeBytes < LITTLE_AGAIN_BYTES)) return 'none'
  if (freeBytes < LITTLE_BYTES || (before !== 'enough' && freeBytes < ENOUGH_BYTES)) return 'little'
  return 'enough'
}

/**
 * Watches the room on the disk of a folder until the result is closed. When a reading fails, the room stays as it was.
 *
 * @throws when the first reading fails
 */
export async function watchDisk(
  folder: string,
  { metrics, log, readFree = readFreeBytes }: WatchDiskDeps,
): Promise<DiskSpace> {
  let freeBytes = 0
  let room: Room = 'enough'
  let isUnseen = false
  const look = async () => {
    freeBytes = await readFree(folder)
    isUnseen = false
    const before = room
    room = roomAfter(before, freeBytes)
    if (room !== before) log[room === 'enough' ? 'info' : 'error']({ freeBytes, folder }, SAYS[room])
  }
  await look()
  const gauge = metrics.gauge('tally_data_disk_free_bytes', 'Bytes that are free on the disk of DATA_DIR.')
  metrics.beforeScrape(() => {
    gauge.set([], isUnseen ? NaN : freeBytes)
  })
  const watching = repeat('watch of the disk', LOOK_EVERY_MS, look, (err) => {
    if (!isUnseen) log.warn({ err, folder }, 'cannot read how much room the disk of DATA_DIR has')
    isUnseen = true
  })
  return { ...watching, room: () => room }
}

const SAYS: Record<Room, string> = {
  enough: 'the disk of DATA_DIR has room again: usage is taken as before',
  little: 'the disk of DATA_DIR is nearly full: no usage is taken until there is room',
  none: 'the disk of DATA_DIR is full: nothing is written until there is room',
}
