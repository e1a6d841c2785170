import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Maker } from './maker.ts'

/** For each generated file, by path: its SHA-256 in hex, and those of its sources. */
export type Manifest = Record<string, { file: string; sources: Record<string, string> }>

export const MANIFEST = 'tools/generate/manifest.json'

/**
 * Computes the manifest of a project's present files.
 * @throws Error when one of them is missing
 */
export async function manifestOf(root: string, makers: readonly Maker[]): Promise<Manifest> {
  const digestOf = async (file: string) => hash('sha256', await readFile(path.join(root, file)), 'hex')
  const entries = makers.map(async ({ file, sources }) => {
    const digests = sources.map(async (source) => [source, await digestOf(source)] as const)
    return [
      file,
      { file: await digestOf(file), sources: Object.fromEntries(await Promise.all(digests)) },
    ] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

/**
 * Describes each file that is not up to date; empty when all are. This needs no other tool and no network.
 *
 * @param noted the manifest that was written at the last generation
 */
export function findStale(noted: Manifest, found: Manifest): string[] {
  const stale: string[] = []
  for (const [file, { file: digest, sources }] of Object.entries(found)) {
    const before = noted[file]
    const changed = Object.keys(sources).filter((source) => before?.sources[source] !== sources[source])
    if (before === undefined) stale.push(`${file} was never made`)
    else if (changed.length > 0) stale.push(`${file} is made of ${changed.join(', ')}, which changed since`)
    else if (before.file !== digest) stale.push(`${file} was changed by hand: change what it is made of`)
  }
  for (const file of Object.keys(noted)) if (!(file in found)) stale.push(`${file} is made no more`)
  return stale
}
