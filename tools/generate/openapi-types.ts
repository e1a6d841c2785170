import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

/**
 * The generator needs another version of TypeScript than this project. So npx fetches both only when they are needed.
 */
const PACKAGES = ['openapi-typescript@7.13.0', 'typescript@5.9.3']

/**
 * Generates the TypeScript types of an OpenAPI document. Needs the npm registry, or npm's cache of it.
 *
 * @param document as YAML or JSON
 * @param options of openapi-typescript's command
 */
export async function openApiTypes(document: string, options: readonly string[] = []): Promise<string> {
  // Why a separate folder: the tool would apply the project's redocly.yaml, whose rules are too strict here.
  const folder = await mkdtemp(path.join(tmpdir(), 'tally-contract-'))
  try {
    await writeFile(path.join(folder, 'openapi.yaml'), document)
    const packages = PACKAGES.flatMap((name) => ['-p', name])
    const words = [
      '-y',
      ...packages,
      'openapi-typescript',
      'openapi.yaml',
      '-o',
      'operations.d.ts',
      '--empty-objects-unknown',
      '--immutable',
      ...options,
    ]
    await promisify(execFile)('npx', words, { cwd: folder })
    return await readFile(path.join(folder, 'operations.d.ts'), 'utf8')
  } finally {
    await rm(folder, { recursive: true })
  }
}
