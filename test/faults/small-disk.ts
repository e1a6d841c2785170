import { spawnSync } from 'node:child_process'
import { open, rm, statfs } from 'node:fs/promises'
import path from 'node:path'
import { skipFor } from '../run/pending.ts'
import { makeTempFolder } from '../support/temp-folder.ts'

/** A separate disk in memory, which a test may fill. */
export interface SmallDisk {
  /** The path of a folder on the disk, which does not exist yet. */
  folder: string
  /** Fills the disk with another file, until only this many bytes are free. */
  fillTo(freeBytes: number): Promise<void>
  /** Deletes that file. */
  empty(): Promise<void>
  remove(): Promise<void>
}

const CHUNK = Buffer.alloc(1_000_000)

/** @param suite is pending if no disk can be made, because this needs root and a system where root may mount */
export async function makeSmallDisk(suite: Mocha.Context, bytes: number): Promise<SmallDisk> {
  const place = await makeTempFolder('small-disk')
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=755`, 'tmpfs', place])
  if (mounted.status !== 0) {
    await rm(place, { recursive: true })
    return skipFor(suite, 'no disk in memory can be mounted: that takes root')
  }
  const other = path.join(place, 'of-another-program')
  const empty = () => rm(other, { force: true })
  return {
    folder: path.join(place, 'data'),
    async fillTo(freeBytes) {
      await empty()
      const file = await open(other, 'w')
      const free = async () => {
        const { bavail, bsize } = await statfs(place)
        return bavail * bsize - freeBytes
      }
      try {
        for (let left = await free(); left > 0; left = await free())
          await file.write(CHUNK.subarray(0, Math.min(left, CHUNK.length)))
      } finally {
        await file.close()
      }
    },
    empty,
    async remove() {
      spawnSync('umount', ['--lazy', place])
      await rm(place, { recursive: true, force: true })
    },
  }
}
