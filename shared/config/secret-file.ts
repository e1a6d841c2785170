import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'

/** Writes a file that only this user may read, in one step: nobody ever sees a half-written file. */
export async function writeSecretFile(file: string, text: string): Promise<void> {
  const draft = `${file}.new`
  await rm(draft, { force: true })
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  await rename(draft, file)
}

/** Reads a secret from a file; makes the file on first use. */
export async function readOrMakeSecret(file: string, make: () => string): Promise<string> {
  const exists = await stat(file).then(
    () => true,
    () => false,
  )
  if (!exists) await writeSecretFile(file, `${make()}\n`)
  return (await readFile(file, 'utf8')).trim()
}
