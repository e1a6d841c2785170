import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'

const SITE = path.join(PROJECT_ROOT, 'dist/console/site')
const ASSETS = path.join(SITE, 'assets')

/** The compressed bytes of the built files. */
const sizes = (names: readonly string[]): number =>
  names
    .map((name) => readFileSync(path.join(ASSETS, `${name}.gz`)).length)
    .reduce((sum, size) => sum + size, 0)

describe('the built console', () => {
  let names: string[]
  before(() => {
    names = readdirSync(ASSETS).filter((name) => !/\.(gz|br)$/.test(name))
  })

  it('is small: the first page, all scripts and all styles', async () => {
    const page = await readFile(path.join(SITE, 'index.html'), 'utf8')
    const first = names.filter((name) => name.endsWith('.js') && page.includes(name))
    expect(first).to.have.length.above(0)
    expect(sizes(first)).to.be.below(130_000)
    expect(sizes(names.filter((name) => name.endsWith('.js')))).to.be.below(220_000)
    expect(sizes(names.filter((name) => name.endsWith('.css')))).to.be.below(15_000)
  })

  it('begins with styles whose layers are in order, so that those of pages are the last word', async () => {
    const page = await readFile(path.join(SITE, 'index.html'), 'utf8')
    const sheets = names.filter((name) => name.endsWith('.css') && page.includes(name))
    sheets.sort((one, other) => page.indexOf(one) - page.indexOf(other))
    const styles = sheets.map((name) => readFileSync(path.join(ASSETS, name), 'utf8')).join('')
    const layers = [...styles.matchAll(/@layer ([a-z, ]+)/g)].flatMap(([, found = '']) => found.split(/, */))
    expect([...new Set(layers)]).to.deep.equal(['tokens', 'base', 'parts', 'pages'])
  })

  it('names no other address, and has nothing inline', async () => {
    const page = await readFile(path.join(SITE, 'index.html'), 'utf8')
    const addresses = [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address = '']) => address)
    expect(addresses).to.have.length.above(2)
    for (const address of addresses) expect(address).to.match(/^\/console\/assets\//)
    expect(page).to.not.match(/<style|style=|<script(?![^>]* src=)/)
  })

  it('has the notices of what is bundled', async () => {
    const notices = await readFile(path.join(SITE, 'licenses.md'), 'utf8')
    for (const name of ['react', 'react-dom', '@tanstack/react-query', 'wouter', 'd3-array'])
      expect(notices).to.include(name)
  })
})
