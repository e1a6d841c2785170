import { statfs } from 'node:fs/promises'
import type { Logger } from '../logging/logger.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Closeable } from './close-all.ts'
import { repeat } from './repeat.ts'

/**
 * How much room there is where embedded engines have their data.
 *
 * @internal
 */
export type Room =
  | 'enough'
  /** No usage is taken any more. What was taken is loaded, and everything else goes on. */
  | 'little'
  /** Nothing is written any more but what keeps the engines going, so that reads stay. */
  | 'none'

const MB = 1_000_000

/**
 * Below so many bytes room is little. At full load some 30 MB are written in a second, the log, its WAL and what merges
 * write once more; what was taken until somebody looks, and what is still to be loaded, must find room after that.
 */
export const LITTLE_BYTES = 200 * MB
/** … and enough again, so that it does not change with every merge. */
export const ENOUGH_BYTES = 300 * MB
/**
 * Below so many it is none. PostgreSQL ends when it finds no room for its WAL, and all reads with it: this is left to
 * it. The embedded ClickHouse keeps as much free by itself: see engine-config.ts.
 */
export const NONE_BYTES = 100 * MB
const LITTLE_AGAIN_BYTES = 150 * MB

const LOOK_EVERY_MS = 1_000

/** Room on a disk, looked at all the time. */
export interface DiskSpace extends Closeable {
  room: () => Room
}

export interface WatchDiskDeps {
  metrics: Metrics
  log: Logger
  /** How many bytes are free on the disk of a folder. */
  readFree?: (folder: string) => Promise<number>
}

/** How many bytes whoever is not root may still write on the disk of a folder. */
async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/**
 * What room there is.
 *
 * @param before what there was
 * @internal
 */
export function roomAfter(before: Room, freeBytes: number): Room {
  if (freeBytes < NONE_BYTES || (before === 'none' && freeBytes < LITTLE_AGAIN_BYTES)) return 'none'
  if (freeBytes < LITTLE_BYTES || (before !== 'enough' && freeBytes < ENOUGH_BYTES)) return 'little'
  return 'enough'
}

/**
 * Watches the room on the disk of a folder until it is closed. Where it cannot be seen, it stays what it was.
 *
 * @throws when it cannot be seen at the start
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
    if (!isUnseen) log.warn({ err, folder }, 'cannot see how much room the disk of DATA_DIR has')
    isUnseen = true
  })
  return { ...watching, room: () => room }
}

const SAYS: Record<Room, string> = {
  enough: 'the disk of DATA_DIR has room again: usage is taken as before',
  little: 'the disk of DATA_DIR is nearly full: no usage is taken until there is room',
  none: 'the disk of DATA_DIR is full: nothing is written until there is room',
}
