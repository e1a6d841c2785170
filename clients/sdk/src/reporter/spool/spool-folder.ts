import { randomBytes } from 'node:crypto'
import {
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises'
import path from 'node:path'
import { type FileName, nonceOfUnfinished, parseFileName, unfinishedName } from './file-name.ts'
import { folderNameOf } from './folder-name.ts'
import type { ReporterPoint } from './points.ts'

export interface FolderOptions {
  dir: string
  url: string
  mode: () => Promise<'live' | 'test'>
  /** Whether files are synced to the disk, so that they survive a power cut. */
  isSynced: boolean
  reached: (point: ReporterPoint) => void
}

/** What is in the folder at one moment. */
export interface Listing {
  files: FileName[]
  /** For each process with a sign of life: how long ago it was, in milliseconds by the clock of the file system. */
  silentMs: Map<string, number>
  unfinished: { text: string; nonce: string }[]
  rejectedBytes: number
}

const ALIVE = 'alive-'
const OWNER_ONLY = 0o600

/**
 * The files of a spool. A file of events never changes once it can be seen, so any process may read, send and delete
 * any of them. There are no locks, and there is no list of what was sent: the folder's listing is the state.
 */
export class SpoolFolder {
  readonly path: string
  /** The name of this process among those that use the folder. */
  readonly nonce = randomBytes(8).toString('hex')
  private readonly isSynced: boolean
  private readonly reached: (point: ReporterPoint) => void
  private readonly handle: FileHandle

  private constructor(at: string, handle: FileHandle, options: FolderOptions) {
    this.path = at
    this.handle = handle
    this.isSynced = options.isSynced
    this.reached = options.reached
  }

  static async open(options: FolderOptions): Promise<SpoolFolder> {
    const name = folderNameOf(options.url, await options.mode())
    const at = path.join(path.resolve(options.dir), name)
    for (const inner of ['rejected', 'damaged'])
      await mkdir(path.join(at, inner), { recursive: true, mode: 0o700 })
    if (options.isSynced) for (const parent of parentsOf(at)) await syncFolder(parent)
    const folder = new SpoolFolder(at, await open(at, 'r'), options)
    // On a full disk it fails. The files must be sent all the same, because that makes room.
    await folder.touchAlive().catch(() => undefined)
    return folder
  }

  /**
   * Writes a file that can be seen only once it is whole, and on the disk. Another process may take this one for dead
   * and delete the unfinished file. Then the file is written again.
   *
   * @throws the error of the file system; then nothing was written
   */
  async writeFile({ text }: FileName, content: readonly Buffer[]): Promise<void> {
    const at = path.join(this.path, text)
    const unfinished = path.join(this.path, unfinishedName(text))
    for (let attempt = 1; ; attempt++) {
      try {
        await this.writeUnfinished(unfinished, content)
        await rename(unfinished, at)
        break
      } catch (err) {
        await unlinkIfThere(unfinished).catch(() => false)
        if (!isAbsent(err) || attempt === REWRITES_MAX) throw err
      }
    }
    this.reached('group-renamed')
    if (!this.isSynced) return
    try {
      await this.handle.sync()
    } catch (err) {
      await unlinkIfThere(at)
      throw err
    }
  }

  private async writeUnfinished(at: string, content: readonly Buffer[]): Promise<void> {
    const file = await open(at, 'w', OWNER_ONLY)
    try {
      for (const part of content) await file.writeFile(part)
      this.reached('group-written')
      if (this.isSynced) await file.datasync()
      this.reached('group-synced')
    } finally {
      await file.close()
    }
  }

  /** @returns undefined when the file is gone, because another process sent or merged it */
  async read({ text }: FileName): Promise<Buffer | undefined> {
    try {
      return await readFile(path.join(this.path, text))
    } catch (err) {
      if (isAbsent(err)) return undefined
      throw err
    }
  }

  async remove({ text }: FileName): Promise<void> {
    await unlinkIfThere(path.join(this.path, text))
    this.reached('file-deleted')
  }

  removeUnfinished = (text: string): Promise<boolean> => unlinkIfThere(path.join(this.path, text))

  /**
   * Adds lines to those that were set aside, and syncs them. They begin with an empty line, because a crash may have
   * cut off the line before.
   */
  async appendRejected(lines: string, now: number): Promise<void> {
    const folder = path.join(this.path, 'rejected')
    const file = await open(path.join(folder, `${dayOf(now)}.ndjson`), 'a', OWNER_ONLY)
    try {
      await file.writeFile(`\n${lines}`)
      if (this.isSynced) await file.datasync()
    } finally {
      await file.close()
    }
    if (this.isSynced) await syncFolder(folder)
    this.reached('rejected-written')
  }

  /** Keeps the damaged lines of a file. Doing it twice changes nothing. */
  async keepDamaged({ text }: FileName, lines: readonly Buffer[]): Promise<void> {
    const content = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]))
    const file = await open(path.join(this.path, 'damaged', text), 'w', OWNER_ONLY)
    try {
      await file.writeFile(content)
      if (this.isSynced) await file.datasync()
    } finally {
      await file.close()
    }
  }

  async list(): Promise<Listing> {
    const names = await readdir(this.path)
    const listing: Listing = { files: [], silentMs: new Map(), unfinished: [], rejectedBytes: 0 }
    const now = (await this.seenAt(this.nonce)) ?? Date.now()
    for (const text of names) {
      const file = parseFileName(text)
      const nonce = nonceOfUnfinished(text)
      if (file !== undefined) listing.files.push(file)
      else if (nonce !== undefined) listing.unfinished.push({ text, nonce })
      else if (text.startsWith(ALIVE)) {
        const other = text.slice(ALIVE.length)
        const seen = await this.seenAt(other)
        if (seen !== undefined) listing.silentMs.set(other, now - seen)
      }
    }
    for (const text of await readdir(path.join(this.path, 'rejected')))
      listing.rejectedBytes += (await stat(path.join(this.path, 'rejected', text))).size
    return listing
  }

  /** Shows that this process lives. The time of the file is by the file system's clock, which all processes share. */
  async touchAlive(): Promise<void> {
    const at = path.join(this.path, ALIVE + this.nonce)
    try {
      const file = await open(at, 'r+')
      try {
        // In place, so that a full disk does not make the process look dead.
        await file.write('.', 0)
      } finally {
        await file.close()
      }
    } catch (err) {
      if (!isAbsent(err)) throw err
      await writeFile(at, '.', { mode: OWNER_ONLY })
    }
  }

  removeAlive = (nonce = this.nonce): Promise<boolean> => unlinkIfThere(path.join(this.path, ALIVE + nonce))

  /** When a process showed last that it lives. */
  private async seenAt(nonce: string): Promise<number | undefined> {
    try {
      return (await stat(path.join(this.path, ALIVE + nonce))).mtimeMs
    } catch (err) {
      if (isAbsent(err)) return undefined
      throw err
    }
  }

  /**
   * Notes the company to which the events of this folder belong, unless one is noted.
   *
   * @returns the company that is noted
   */
  async noteCompany(id: string): Promise<string> {
    const at = path.join(this.path, 'company')
    const own = `${at}.${this.nonce}`
    if ((await readIfThere(at)) === undefined) {
      const file = await open(own, 'w', OWNER_ONLY)
      await file.writeFile(`${id}\n`).finally(() => file.datasync().finally(() => file.close()))
      try {
        await link(own, at)
      } catch (err) {
        // Some file systems have no links. There, of two companies that come at once, the later one is noted.
        if (!isThere(err)) await rename(own, at)
      }
      await unlinkIfThere(own)
      if (this.isSynced) await this.handle.sync()
    }
    return (await readIfThere(at))?.trim() ?? id
  }

  close = (): Promise<void> => this.handle.close()
}

const REWRITES_MAX = 10

const codeOf = (err: unknown): unknown => (err instanceof Error && 'code' in err ? err.code : undefined)
const isAbsent = (err: unknown): boolean => codeOf(err) === 'ENOENT'
const isThere = (err: unknown): boolean => codeOf(err) === 'EEXIST'

async function unlinkIfThere(at: string): Promise<boolean> {
  try {
    await unlink(at)
    return true
  } catch (err) {
    if (isAbsent(err)) return false
    throw err
  }
}

async function readIfThere(at: string): Promise<string | undefined> {
  try {
    return await readFile(at, 'utf8')
  } catch (err) {
    if (isAbsent(err)) return undefined
    throw err
  }
}

/** The folder, its parent, and the parent of that, which may be new. */
const parentsOf = (at: string): string[] => [at, path.dirname(at), path.dirname(path.dirname(at))]

async function syncFolder(at: string): Promise<void> {
  const folder = await open(at, 'r')
  await folder.sync().finally(() => folder.close())
}

const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10)
