import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { MAKERS } from './makers.ts'
import { findStale, MANIFEST, type Manifest, manifestOf } from './manifest.ts'

const USAGE = `usage: npm run generate [-- --check]

Makes the checked-in files that are generated from others, and writes to ${MANIFEST} what each is generated from.
--check makes nothing: it lists those that are out of date or were changed by hand.`

const manifestPath = path.join(PROJECT_ROOT, MANIFEST)

async function generate(): Promise<void> {
  for (const { file, make } of MAKERS) {
    const target = path.join(PROJECT_ROOT, file)
    await mkdir(path.dirname(target), { recursive: true })
    await writeFile(target, await make())
  }
  await writeFile(manifestPath, `${JSON.stringify(await manifestOf(PROJECT_ROOT, MAKERS), undefined, 2)}\n`)
}

async function check(): Promise<void> {
  const noted = JSON.parse(await readFile(manifestPath, 'utf8')) as Manifest
  const stale = findStale(noted, await manifestOf(PROJECT_ROOT, MAKERS))
  if (stale.length === 0) return
  process.stderr.write(`${stale.join('\n')}\nrun npm run generate\n`)
  process.exitCode = 1
}

const words = process.argv.slice(2)
if (words.length === 0) await generate()
else if (words.length === 1 && words[0] === '--check') await check()
else {
  process.stderr.write(`${USAGE}\n`)
  process.exitCode = 2
}
