import { appendFile, readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type AnswerFolder, openAnswerFolder } from '../../../services/analysts/answer-folder.ts'
import { failureOf } from '../../support/failure-of.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'

const KB = 1_024

describe('the folder of answers', () => {
  const read = async (bytes: AsyncIterable<Buffer>) => {
    const parts: Buffer[] = []
    for await (const part of bytes) parts.push(part)
    return Buffer.concat(parts)
  }

  const passTo = (answers: AnswerFolder) => async (answer: Parameters<AnswerFolder['pass']>[0]) => {
    const { sent } = await answers.pass(answer)
    await sent
  }

  it('ends what writes an answer that becomes too large, and says so', async () => {
    const folder = await makeTempFolder('answers')
    const passed = passTo(await openAnswerFolder(folder, 1_000 * KB))
    let isEnded = false
    let received = 0
    const failure = await failureOf(
      passed({
        async write(file) {
          while (!isEnded) {
            await appendFile(file, Buffer.alloc(100 * KB))
            await sleep(5)
          }
          throw new Error('killed')
        },
        end: () => {
          isEnded = true
          return Promise.resolve()
        },
        isWhole: false,
        async send(bytes) {
          for await (const part of bytes) received += part.length
        },
      }),
    )
    expect(failure).to.have.property('code', 396)
    expect(received).to.be.greaterThan(1_000 * KB)
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('ends what writes an answer when the disk has less left than the databases need', async () => {
    const folder = await makeTempFolder('answers')
    let free = 1_000_000_000
    const passed = passTo(await openAnswerFolder(folder, undefined, () => Promise.resolve(free)))
    let isEnded = false
    let written = 0
    const failure = await failureOf(
      passed({
        async write(file) {
          while (!isEnded) {
            await appendFile(file, Buffer.alloc(KB))
            written++
            await sleep(5)
            if (written === 60) free-- // until then there is just enough
          }
          throw new Error('killed')
        },
        end: () => {
          isEnded = true
          return Promise.resolve()
        },
        isWhole: false,
        send: () => Promise.reject(new Error('sent')),
      }),
    )
    expect(failure).to.have.property('code', 396)
    expect(failure).to.have.property('message').which.includes('or the disk has no room for it')
    expect(written).to.be.within(60, 200)
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('names no file in an error, and sends nothing of an answer that failed early', async () => {
    const passed = passTo(await openAnswerFolder(await makeTempFolder('answers')))
    let name = ''
    const failure = await failureOf(
      passed({
        write(file) {
          name = file
          return Promise.reject(new Error(`Code: 1. DB::Exception: cannot write ${file}: no space`))
        },
        end: () => Promise.resolve(),
        isWhole: false,
        send: () => Promise.reject(new Error('sent')),
      }),
    )
    expect(failure).to.have.property('message', 'Code: 1. DB::Exception: cannot write the answer: no space')
    expect(name).not.to.equal('')
  })

  it('passes every byte once, whenever the writer pauses', async () => {
    const passed = passTo(await openAnswerFolder(await makeTempFolder('answers')))
    const sizes = [1, 300 * KB, 0, 700 * KB, 1]
    const expected = Buffer.concat(sizes.map((size, nth) => Buffer.alloc(size, nth + 1)))
    let sent = Buffer.alloc(0)
    await passed({
      async write(file) {
        for (const [nth, size] of sizes.entries()) {
          await appendFile(file, Buffer.alloc(size, nth + 1))
          await sleep(25)
        }
      },
      end: () => Promise.resolve(),
      isWhole: false,
      async send(bytes) {
        sent = await read(bytes)
      },
    })
    expect(sent.equals(expected)).to.equal(true)
  })

  it('is done with an answer when its writer is, however slowly it is read', async () => {
    const folder = await makeTempFolder('answers')
    const answers = await openAnswerFolder(folder)
    let read: () => void = () => undefined
    const isRead = new Promise<void>((resolve) => (read = resolve))
    const { sent } = await answers.pass({
      write: (file) => appendFile(file, 'an answer'),
      end: () => Promise.resolve(),
      isWhole: false,
      send: () => isRead,
    })
    expect(await readdir(folder)).to.have.length(1)
    read()
    await sent
    expect(await readdir(folder)).to.deep.equal([])
  })
})
