import { chmod, mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { RUN_FOLDER } from '../run/ask-run.ts'

/**
 * Makes a folder that every user may enter, because PostgreSQL's server runs as another user when the tests run as
 * root. The folders of a test run are in one folder, and are deleted with it.
 */
export const makeTempFolder = (name: string): Promise<string> =>
  mkdtemp(path.join(process.env[RUN_FOLDER] ?? os.tmpdir(), `tally-${name}-`)).then(async (folder) => {
    await chmod(folder, 0o755)
    return folder
  })
