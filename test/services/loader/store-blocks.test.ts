import { ClickHouseError } from '@clickhouse/client'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Block } from '../../../services/loader/read-record.ts'
import { storeBlocks } from '../../../services/loader/store-blocks.ts'
import { testLog } from '../../support/log.ts'

/** Blocks of one, two, three … lines. */
function blocksOf(texts: readonly string[]): Block[] {
  const blocks: Block[] = []
  for (let line = 0, rows = 1; line < texts.length; line += rows, rows++) {
    const part = texts.slice(line, line + rows)
    const end = line % 2 === 0 ? '\n' : ''
    blocks.push({
      partition: 0,
      offset: 0,
      line,
      bytes: Buffer.from(part.join('\n') + end),
      subjects: part.map(() => ({
        namespaceId: '',
        accountId: '',
        occurredAt: 0,
        acceptedAt: 0,
        identity: 0,
      })),
    })
  }
  return blocks
}

const dataError = () =>
  new ClickHouseError({
    message: 'Cannot parse input',
    code: '27',
    type: 'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
  })

describe('storing blocks of lines', () => {
  /**
   * A ClickHouse that stores a block completely or not at all, and refuses a block with a line that begins with "bad".
   */
  const make = (failures: Error[] = []) => {
    const stored: string[] = []
    const deadLettered: string[] = []
    const places: number[] = []
    const stopping = new AbortController()
    const deps = {
      storeLines: (block: Buffer) => {
        const failure = failures.shift()
        if (failure !== undefined) return Promise.reject(failure)
        const lines = block.toString().split('\n').slice(0, -1)
        if (lines.some((line) => line.startsWith('bad'))) return Promise.reject(dataError())
        stored.push(...lines)
        return Promise.resolve()
      },
      deadLetter: ({ bytes, line }: Block) => {
        deadLettered.push(bytes.toString())
        places.push(line)
        return Promise.resolve()
      },
      log: testLog,
      signal: stopping.signal,
    }
    return { stored, deadLettered, places, deps, stopping }
  }

  it('stores every good line once and buries exactly the bad ones, however they are mixed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 60 }), async (goods) => {
        const texts = goods.map((good, n) => `${good ? 'good' : 'bad'} ${n}`)
        const { stored, deadLettered, places, deps } = make()
        await storeBlocks(blocksOf(texts), deps)
        expect(stored).to.deep.equal(texts.filter((text) => text.startsWith('good')))
        expect(deadLettered).to.deep.equal(texts.filter((text) => text.startsWith('bad')))
        expect(places.map((line) => texts[line])).to.deep.equal(deadLettered)
      }),
    )
  })

  it('tries again for as long as the trouble is not in the data', async () => {
    const trouble = [
      new ClickHouseError({ message: 'Too many parts', code: '252', type: 'TOO_MANY_PARTS' }),
      new Error('connect ECONNREFUSED'),
      new ClickHouseError({ message: 'Memory limit', code: '241', type: 'MEMORY_LIMIT_EXCEEDED' }),
    ]
    const { stored, deadLettered, deps } = make(trouble)
    await storeBlocks(blocksOf(['good 1', 'good 2']), deps)
    expect(stored).to.deep.equal(['good 1', 'good 2'])
    expect(deadLettered).to.deep.equal([])
  })

  it('gives up waiting when it is told to stop, and buries nothing', async () => {
    const { deadLettered, deps, stopping } = make(Array.from({ length: 100 }, () => new Error('gone')))
    setTimeout(() => {
      stopping.abort()
    }, 50)
    let refusal: unknown
    await storeBlocks(blocksOf(['good']), deps).catch((err: unknown) => (refusal = err))
    expect(refusal).to.have.property('name', 'AbortError')
    expect(deadLettered).to.deep.equal([])
  })
})
