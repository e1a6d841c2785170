import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'

/** Writes a file that only this user may read. It replaces the file in one step, so no reader sees a part of it. */
export async function writeSecretFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}.new`
  await rm(draft, { force: true })
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  await rename(draft, file)
}

/** Reads a secret from a file. If the file does not exist, it is written first. */
export async function readOrMakeSecret(file: string, make: () => string): Promise<string> {
  const exists = await stat(file).then(
    () => true,
    () => false,
  )
  if (!exists) await writeSecretFile(file, `${make()}\n`)
  return (await readFile(file, 'utf8')).trim()
}
