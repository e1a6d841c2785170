import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import type { Maker } from '../../../tools/generate/maker.ts'
import { findStale, manifestOf } from '../../../tools/generate/manifest.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'

const MAKER: Maker = {
  file: 'made/list.md',
  sources: ['list.ts', 'maker.ts'],
  make: () => Promise.resolve('made'),
}

describe('files that are made of others', () => {
  let root: string
  const write = (file: string, text: string) => writeFile(path.join(root, file), text)
  const manifest = (makers: readonly Maker[] = [MAKER]) => manifestOf(root, makers)

  beforeEach(async () => {
    root = await makeTempFolder('manifest')
    await mkdir(path.join(root, 'made'))
    await Promise.all([write('list.ts', 'a'), write('maker.ts', 'b'), write('made/list.md', 'made')])
  })

  it('are as they were made while neither they nor what they are made of changed', async () => {
    expect(findStale(await manifest(), await manifest())).to.deep.equal([])
  })

  it('are out of date when what they are made of changed, which is named', async () => {
    const noted = await manifest()
    await write('list.ts', 'another')
    expect(findStale(noted, await manifest())).to.deep.equal([
      'made/list.md is made of list.ts, which changed since',
    ])
  })

  it('are found when a hand was in them', async () => {
    const noted = await manifest()
    await write('made/list.md', 'mended')
    expect(findStale(noted, await manifest())).to.deep.equal([
      'made/list.md was changed by hand: change what it is made of',
    ])
  })

  it('are found when nobody made them, or nobody does any more', async () => {
    const noted = await manifest()
    expect(findStale({}, noted)).to.deep.equal(['made/list.md was never made'])
    expect(findStale(noted, await manifest([]))).to.deep.equal(['made/list.md is made no more'])
  })
})
