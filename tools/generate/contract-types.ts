import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import type { Maker } from './maker.ts'

/** Its peer is a TypeScript that this project does not use, so both are fetched where they are needed alone. */
const PACKAGES = ['openapi-typescript@7.13.0', 'typescript@5.9.3']

/** The types of operations and schemas, of openapi.yaml. Needs the npm registry, or npm's cache of it. */
export const contractTypes: Maker = {
  file: 'contract/operations.d.ts',
  sources: ['openapi.yaml', 'tools/generate/contract-types.ts'],
  async make() {
    // Why a folder of its own: redocly.yaml of the project is stricter than this tool can be told to overlook.
    const folder = await mkdtemp(path.join(tmpdir(), 'tally-contract-'))
    try {
      await copyFile(path.join(PROJECT_ROOT, 'openapi.yaml'), path.join(folder, 'openapi.yaml'))
      const packages = PACKAGES.flatMap((name) => ['-p', name])
      const words = ['-y', ...packages, 'openapi-typescript', 'openapi.yaml', '-o', 'operations.d.ts']
      await promisify(execFile)('npx', words, { cwd: folder })
      return await readFile(path.join(folder, 'operations.d.ts'), 'utf8')
    } finally {
      await rm(folder, { recursive: true })
    }
  },
}
