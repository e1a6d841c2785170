import { open, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { randomHex } from '../../../shared/domain/random-hex.ts'
import { encodeLine, fileNameOf, unfinishedName } from '../../sdk/src/reporter/internal.ts'
import { readRejected, type RejectedFile } from './spool-folders.ts'

/**
 * Writes events that were set aside as a file of the spool, byte for byte, so that they are sent again. What was set
 * aside is deleted only when that file is on the disk. A crash in between leaves both, and each event counts once.
 *
 * @param before only files of earlier days; a process that lives may be adding to the file of this day
 * @returns how many events will be sent again
 */
export async function retryRejected(at: string, before: string | undefined): Promise<number> {
  const files = await takenFiles(at, before)
  const events = files.flatMap((file) => file.events.map(({ event }) => event))
  if (events.length === 0) return 0
  const text = events.map(encodeLine).join('')
  const { text: name } = fileNameOf({
    madeAt: Date.now(),
    nonce: randomHex(8),
    n: 0,
    events: events.length,
    bytes: Buffer.byteLength(text),
  })
  const target = path.join(at, name)
  const draft = path.join(at, unfinishedName(name))
  await writeSynced(draft, text)
  await rename(draft, target)
  await syncFolder(at)
  for (const { file, damaged, size } of files) {
    if (damaged.length > 0)
      await writeSynced(path.join(at, 'damaged', `rejected-${randomHex(8)}`), Buffer.concat(damaged))
    // A process that had it open before it was renamed may have added to it. Then all of it is sent again next time.
    if ((await stat(file)).size === size) await rm(file)
  }
  return events.length
}

/** Renames the files, so that a process which starts meanwhile adds to others, and reads them. */
async function takenFiles(at: string, before: string | undefined): Promise<RejectedFile[]> {
  const taken = new Set<string>()
  for (const { file, day } of await readRejected(at)) {
    if (before !== undefined && day >= before) continue
    const own = path.join(path.dirname(file), `${day}-${randomHex(8)}.ndjson`)
    await rename(file, own)
    taken.add(own)
  }
  return (await readRejected(at)).filter(({ file }) => taken.has(file))
}

async function writeSynced(file: string, text: string | Buffer): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.datasync()
  } finally {
    await handle.close()
  }
}

async function syncFolder(at: string): Promise<void> {
  const handle = await open(at, 'r')
  await handle.sync().finally(() => handle.close())
}
