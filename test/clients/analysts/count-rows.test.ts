import { open, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { FILE_FORMATS, type FileFormat } from '../../../clients/analysts/export/file-format.ts'
import { randomInteger, seededRandom } from '../../../clients/reporter/simulate/seeded-random.ts'
import { SEED } from '../../support/fault-seed.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'

describe('the rows of an exported file', () => {
  let file: string
  before(async () => {
    file = path.join(await makeTempFolder('rows'), 'file')
  })

  const rowsIn = async (format: FileFormat, content: string | Buffer) => {
    await writeFile(file, content)
    const handle = await open(file)
    try {
      return await FILE_FORMATS[format].countRows(handle, Buffer.byteLength(content))
    } finally {
      await handle.close()
    }
  }

  it('are the lines of a text, less the names of the columns', async () => {
    expect(await rowsIn('ndjson', '{"a":"x\\ny\\""}\n{"a":"\\""}\n')).to.equal(2)
    expect(await rowsIn('tsv', 'a\tb\nx\\ny\t"\n"\t1\n')).to.equal(2)
    expect(await rowsIn('csv', '"a","b"\n"x","1\n2"\n"say ""hi""\n""",\\N\n\\N,3\n')).to.equal(3)
    for (const format of ['csv', 'tsv'] as const) expect(await rowsIn(format, '"a"\n')).to.equal(0)
    expect(await rowsIn('ndjson', '')).to.equal(0)
  })

  it('are counted over all of a large file', async () => {
    const row = `"${'x\n'.repeat(999)}"\n`
    expect(await rowsIn('csv', `"a"\n${row.repeat(2_000)}`)).to.equal(2_000)
  })

  it('are unknown when the file is not whole', async () => {
    expect(await rowsIn('ndjson', '{"a":1}\n{"a"')).to.equal(undefined)
    expect(await rowsIn('csv', '"a"\n"x\n')).to.equal(undefined)
    for (const format of ['csv', 'tsv', 'parquet', 'arrow'] as const)
      expect(await rowsIn(format, ''), format).to.equal(undefined)
    expect(await rowsIn('parquet', 'PAR1')).to.equal(undefined)
    expect(await rowsIn('parquet', Buffer.from('\xff\xff\xff\xffPAR1', 'latin1'))).to.equal(undefined)
  })

  it('are no error of ours when a footer has any bytes', async () => {
    const random = seededRandom(`footers ${SEED}`)
    for (let n = 0; n < 500; n++) {
      const footer = Buffer.from(
        Array.from({ length: randomInteger(random, 64) }, () => randomInteger(random, 256)),
      )
      const length = Buffer.alloc(4)
      length.writeUInt32LE(footer.length)
      for (const [format, magic] of [
        ['parquet', 'PAR1'],
        ['arrow', 'ARROW1'],
      ] as const) {
        const rows = await rowsIn(format, Buffer.concat([footer, length, Buffer.from(magic)]))
        expect(rows === undefined || Number.isFinite(rows), String(rows)).to.equal(true)
      }
    }
  })
})
