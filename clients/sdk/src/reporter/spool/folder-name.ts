import { createHash } from 'node:crypto'

/** The name of the folder for one Tally and mode. */
export function folderNameOf(url: string, mode: 'live' | 'test'): string {
  const digest = createHash('sha256').update(url.replace(/\/+$/, '')).digest('hex')
  return `${mode}-${digest.slice(0, 8)}`
}
