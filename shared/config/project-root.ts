import { existsSync } from 'node:fs'
import path from 'node:path'

/** The project's folder, which has openapi.yaml and the SQL files. It is found from the sources and from dist. */
export const PROJECT_ROOT = findRoot(import.meta.dirname)

function findRoot(folder: string): string {
  if (existsSync(path.join(folder, 'openapi.yaml'))) return folder
  const parent = path.dirname(folder)
  if (parent === folder) throw new Error('openapi.yaml was not found in any folder above the program')
  return findRoot(parent)
}
