import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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
    /** Whether it is a package of this repository. */
    link?: boolean
  }
  const isOurs = (name: string) => !name.startsWith('node_modules/')
  let packages: [name: string, locked: Locked][]

  before(async () => {
    const text = await readFile(path.join(PROJECT_ROOT, 'package-lock.json'), 'utf8')
    const lock = JSON.parse(text) as { packages: Record<string, Locked> }
    packages = Object.entries(lock.packages).filter(([name, { link }]) => !isOurs(name) && link !== true)
  })

  it('says what each package must be, on every machine', () => {
    expect(packages).to.have.length.above(300)
    const unchecked = packages.filter(([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity))
    expect(unchecked.map(([name]) => name)).to.deep.equal(NOT_IN_THE_REGISTRY)
  })

  it('names no registry: each installation has its own', () => {
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).to.deep.equal([])
  })

  it('has a package that reports installations, which does not do so here', async function () {
    this.timeout(30_000)
    let reports = 0
    const server = createServer((_request, response) => {
      reports++
      response.end()
    }).listen(0)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    try {
      const script = path.join(PROJECT_ROOT, 'node_modules/@scarf/scarf/report.js')
      const env = {
        PATH: process.env['PATH'],
        INIT_CWD: PROJECT_ROOT, // as npm sets it
        SCARF_VERBOSE: 'true',
        SCARF_LOCAL_PORT: String(port),
      }
      const output = await new Promise<string>((resolve) => {
        execFile(process.execPath, [script], { env }, (_err, out, err) => {
          resolve(out + err)
        })
      })
      // The second is what it says on a busy machine.
      expect(output).to.match(/Scarf has been disabled via a package\.json|received an error from npm/)
      expect(reports).to.equal(0)
      const root = JSON.parse(await readFile(path.join(PROJECT_ROOT, 'package.json'), 'utf8')) as object
      expect(root).to.have.property('scarfSettings').that.deep.equals({ enabled: false })
    } finally {
      server.close()
    }
  })
})
