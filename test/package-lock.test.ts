import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'

/**
 * Libraries of chdb for platforms that Tally does not support. chdb's package names them, but the registry does not
 * have them, so they cannot be checked. npm skips them in an installation.
 */
const NOT_IN_THE_REGISTRY = ['darwin-arm64', 'darwin-x64', 'linux-arm64-gnu'].map(
  (machine) => `node_modules/@chdb/lib-${machine}`,
)

describe('package-lock.json', () => {
  interface Locked {
    integrity?: string
    resolved?: string
  }
  let packages: [name: string, locked: Locked][]

  before(async () => {
    const text = await readFile(path.join(PROJECT_ROOT, 'package-lock.json'), 'utf8')
    const lock = JSON.parse(text) as { packages: Record<string, Locked> }
    packages = Object.entries(lock.packages).filter(([name]) => name !== '')
  })

  it('says what each package must be, on every machine', () => {
    expect(packages).to.have.length.above(300)
    const unchecked = packages.filter(([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity))
    expect(unchecked.map(([name]) => name)).to.deep.equal(NOT_IN_THE_REGISTRY)
  })

  it('names no registry: each installation has its own', () => {
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).to.deep.equal([])
  })
})
