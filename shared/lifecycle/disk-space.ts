import { statfs } from 'node:fs/promises'
import type { Logger } from '../logging/logger.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Closeable } from './close-all.ts'
import { repeat } from './repeat.ts'

/**
 * The state of the disk of the embedded engines: how much room it has.
 *
 * @internal
 */
export type Room =
  | 'enough'
  /** Tally accepts no usage any more. It loads the usage that it has accepted, and does everything else as usual. */
  | 'little'
  /** Tally writes nothing any more, except what the engines need to keep running. Reads still work. */
  | 'none'

const MB = 1_000_000

/**
 * With fewer free bytes, the room is `little`. At full load the event log, its WAL and the merges write tens of
 * megabytes a second. There must be room for the usage that is accepted until the next reading, and for accepted usage
 * that is not loaded yet.
 */
export const LITTLE_BYTES = 200 * MB
/**
 * From this many free bytes on, the room is `enough` again. The number is greater than LITTLE_BYTES, so that the state
 * does not change with every merge.
 */
export const ENOUGH_BYTES = 300 * MB
/**
 * With fewer free bytes, the room is `none`. These bytes are for PostgreSQL's WAL: without room for its WAL, PostgreSQL
 * stops, and then Tally can read nothing either. The embedded ClickHouse keeps as many bytes free by itself: see
 * engine-config.ts.
 */
export const NONE_BYTES = 100 * MB
const LITTLE_AGAIN_BYTES = 150 * MB

const LOOK_EVERY_MS = 1_000

/** The room on a disk, which is read at intervals. */
export interface DiskSpace extends Closeable {
  room: () => Room
}

export interface WatchDiskDeps {
  metrics: Metrics
  log: Logger
  /** The bytes that are free on the disk of a folder. */
  readFree?: (folder: string) => Promise<number>
}

/** The bytes that a user other than root may still write on the disk of a folder. */
export async function readFreeBytes(folder: string): Promise<number> {
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
 * Watches the room on the disk of a folder until the result is closed. When a reading fails, the room does not change.
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
    if (!isUnseen) log.warn({ err, folder }, 'cannot read the free space on the disk of DATA_DIR')
    isUnseen = true
  })
  return { ...watching, room: () => room }
}

const SAYS: Record<Room, string> = {
  enough: 'the disk of DATA_DIR has room again: usage is accepted again',
  little: 'the disk of DATA_DIR is nearly full: no usage is accepted until there is room',
  none: 'the disk of DATA_DIR is full: nothing is written until there is room',
}
