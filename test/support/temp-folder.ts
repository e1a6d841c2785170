import { chmod, mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { RUN_FOLDER } from '../run/ask-run.ts'

/**
 * A new folder that every user may enter (PostgreSQL's server runs as another one when the tests run as root). Those of
 * a test run lie in a folder of its own, and go with it.
 */
export const makeTempFolder = (name: string): Promise<string> =>
  mkdtemp(path.join(process.env[RUN_FOLDER] ?? os.tmpdir(), `tally-${name}-`)).then(async (folder) => {
    await chmod(folder, 0o755)
    return folder
  })
