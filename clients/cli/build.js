// Builds the package into dist: the command line with the files of this repository that it imports. Where it imports an
// entry of the SDK, it imports the package of the SDK instead, which is installed beside this one.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import path from 'node:path'

const here = import.meta.dirname
const dist = path.join(here, 'dist')
const main = path.join(dist, 'clients/cli/src/tally.main.js')
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
const { dependencies } = JSON.parse(readFileSync(path.join(here, 'package.json'), 'utf8'))

/** The entries of the SDK. */
const ENTRIES = {
  [path.join(dist, 'clients/sdk/src/node.js')]: '@tally-metering/sdk',
  [path.join(dist, 'clients/sdk/src/reporter/index.js')]: '@tally-metering/sdk/reporter',
  [path.join(dist, 'clients/sdk/src/reporter/internal.js')]: '@tally-metering/sdk/internal',
}
const IMPORT = /(\bfrom |\bimport\(|\bimport )(['"])([^'"]+)\2/g

rmSync(dist, { recursive: true, force: true })
execFileSync(process.execPath, [tsc, '-p', path.join(here, 'tsconfig.build.json')], { stdio: 'inherit' })

const needed = new Set()
visit(main)
for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
  const file = path.join(dist, name)
  if (name.endsWith('.js') && !needed.has(file)) rmSync(file)
}

/** Replaces imports of the SDK in a file, and in all files that it imports. */
function visit(file) {
  if (needed.has(file)) return
  needed.add(file)
  const text = readFileSync(file, 'utf8').replaceAll(IMPORT, (whole, before, quote, name) => {
    if (!name.startsWith('.')) {
      requireDeclared(file, name)
      return whole
    }
    const target = path.resolve(path.dirname(file), name)
    const entry = ENTRIES[target]
    if (entry !== undefined) return `${before}${quote}${entry}${quote}`
    if (existsSync(target)) visit(target)
    return whole
  })
  writeFileSync(file, text)
}

function requireDeclared(file, name) {
  const names = name.split('/').slice(0, name.startsWith('@') ? 2 : 1)
  if (isBuiltin(name) || names.join('/') in dependencies) return
  throw new Error(`${file} imports ${name}, which is not in clients/cli/package.json`)
}
