import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'

/** Writes a file that only we may read, whole or not at all: it is never seen half written. */
export async function writeSecretFile(file: string, text: string): Promise<void> {
  const draft = `${file}.new`
  await rm(draft, { force: true })
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  await rename(draft, file)
}

/** Reads a secret of this folder, making it on first use. */
export async function readOrMakeSecret(file: string, make: () => string): Promise<string> {
  const exists = await stat(file).then(
    () => true,
    () => false,
  )
  if (!exists) await writeSecretFile(file, `${make()}\n`)
  return (await readFile(file, 'utf8')).trim()
}
