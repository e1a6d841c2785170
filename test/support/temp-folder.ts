import { chmod, mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'

/** A new folder that every user may enter (PostgreSQL's server runs as another one when the tests run as root). */
export const makeTempFolder = (name: string): Promise<string> =>
  mkdtemp(path.join(os.tmpdir(), `tally-${name}-`)).then(async (folder) => {
    await chmod(folder, 0o755)
    return folder
  })
