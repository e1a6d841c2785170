import { type FileHandle, open, rename } from 'node:fs/promises'

/** Writes a file. It has its name when it is whole and on the disk; until then it is a draft, whose name ends in .part. */
export async function writeWholeFile<T>(file: string, write: (draft: FileHandle) => Promise<T>): Promise<T> {
  const draft = `${file}.part`
  const handle = await open(draft, 'w+')
  let written: T
  try {
    written = await write(handle)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(draft, file)
  return written
}
