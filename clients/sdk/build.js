// Builds the package into dist: JavaScript, and declarations that need neither this repository nor a new TypeScript.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const here = import.meta.dirname
const dist = path.join(here, 'dist')
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')

rmSync(dist, { recursive: true, force: true })
execFileSync(process.execPath, [tsc, '-p', path.join(here, 'tsconfig.build.json')], { stdio: 'inherit' })

for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((one) =>
  one.endsWith('.d.ts'),
)) {
  const file = path.join(dist, name)
  // Declarations keep the endings of sources in their imports, which only new versions of TypeScript understand.
  const text = readFileSync(file, 'utf8').replaceAll(/(from |import\()(['"]\.[^'"]*)\.ts(['"])/g, '$1$2.js$3')
  writeFileSync(file, text)
}

// The types of the contract take the place of the file that names them. Nothing uses its interface of paths.
const contract = readFileSync(path.join(here, '../../contract/operations.d.ts'), 'utf8')
const withoutPaths = contract.replace(/^export interface paths \{\n[^]*?^\}\n/m, '')
if (withoutPaths === contract) throw new Error('contract/operations.d.ts has no interface of paths')
writeFileSync(path.join(dist, 'contract.d.ts'), withoutPaths)
