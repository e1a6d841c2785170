import { readFileSync } from 'node:fs'
import path from 'node:path'
import { PROJECT_ROOT } from './project-root.ts'

/** The version of this Tally: `0.1.0`. */
export const VERSION = (
  JSON.parse(readFileSync(path.join(PROJECT_ROOT, 'package.json'), 'utf8')) as { version: string }
).version

/** Compares two versions by their numbers: negative when `a` is the earlier one. */
export const compareVersions: (a: string, b: string) => number = new Intl.Collator('en', { numeric: true })
  .compare
