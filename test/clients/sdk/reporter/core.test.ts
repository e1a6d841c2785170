import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { TransportAnswer } from '../../../../clients/sdk/src/core/transport.ts'
import { lookUpOutcomeOf, outcomeOf } from '../../../../clients/sdk/src/reporter/core/answers.ts'
import { folderNameOf } from '../../../../clients/sdk/src/reporter/spool/folder-name.ts'
import {
  checkLines,
  encodeLine,
  LineBuffer,
  parseLines,
} from '../../../../clients/sdk/src/reporter/spool/lines.ts'
import { PROJECT_ROOT } from '../../../../shared/config/project-root.ts'
import { type History, makeHistory, replay } from './histories.ts'
import type { ReporterVectors } from './vectors.ts'

describe('the core of the reporter', () => {
  let vectors: ReporterVectors

  before(async () => {
    const text = await readFile(path.join(PROJECT_ROOT, 'clients/vectors/reporter.json'), 'utf8')
    vectors = JSON.parse(text) as ReporterVectors
  })

  it('does what 500 histories say', () => {
    expect(vectors.histories).to.have.length(500)
    for (const [n, history] of vectors.histories.entries())
      expect(replay(history), `history ${n}`).to.deep.equal(history.steps)
  })

  it('does in any history what the plain reporter does', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 0xffff_ffff }),
        fc.integer({ min: 1, max: 300 }),
        (seed, length) => {
          const history = makeHistory(seed, length)
          expect(replay(history)).to.deep.equal(history.steps)
        },
      ),
      { numRuns: 100 },
    )
  })

  it('settles each event once, and holds no more than its bounds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffff_ffff }), (seed) => {
        checkBooks(makeHistory(seed, 400))
      }),
      { numRuns: 100 },
    )
  })

  it('understands each answer', () => {
    for (const { answer, occurred_at: occurredAt, now, outcome } of vectors.answers)
      expect(
        outcomeOf(answerOf(answer), occurredAt.length, (index) => occurredAt[index] ?? undefined, now),
        JSON.stringify(answer),
      ).to.deep.equal(outcome)
    for (const { answer, name, now, outcome } of vectors.look_ups)
      expect(lookUpOutcomeOf(answerOf(answer), name, now), JSON.stringify(answer)).to.deep.equal(outcome)
  })

  it('writes the lines of the spool, and names its folder', () => {
    for (const { url, mode, folder } of vectors.folders)
      expect(folderNameOf(url, mode as 'live' | 'test')).to.equal(folder)
    for (const { json, line } of vectors.lines) expect(encodeLine(json)).to.equal(line)
  })
})

describe('the lines of a spool', () => {
  const anyJson = fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify({ text }))

  it('are written for a group as one by one, in memory that is used again', () => {
    const buffer = new LineBuffer()
    fc.assert(
      fc.property(fc.array(anyJson), (all) => {
        const events = all.map((json) => ({ json, bytes: Buffer.byteLength(json) }))
        expect(buffer.encode(events).toString()).to.equal(all.map(encodeLine).join(''))
      }),
    )
  })

  it('are read without the damaged ones between them', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyJson, fc.boolean())), fc.boolean(), (all, isCut) => {
        const lines = all.map(([json, isDamaged]) =>
          isDamaged ? encodeLine(json).replace('{', '[') : encodeLine(json),
        )
        const good = all.flatMap(([json, isDamaged]) => (isDamaged ? [] : [json]))
        const bad = all.filter(([, isDamaged]) => isDamaged).length + (isCut ? 1 : 0)
        const bytes = Buffer.from(lines.join('') + (isCut ? '1 00' : ''))
        const { events, damaged } = parseLines(bytes)
        expect([events, damaged.length]).to.deep.equal([good, bad])
        const checked = checkLines(bytes)
        expect(Buffer.concat(checked.whole).toString()).to.equal(good.map(encodeLine).join(''))
        expect([checked.lines, checked.damaged]).to.deep.equal([good.length, damaged])
      }),
    )
  })
})

const answerOf = (answer: ReporterVectors['answers'][number]['answer']): TransportAnswer => ({
  status: answer.status,
  text: answer.text,
  headers: {
    ...(answer.content_type !== undefined && { 'content-type': answer.content_type }),
    ...(answer.retry_after !== undefined && { 'retry-after': answer.retry_after }),
    ...(answer.date !== undefined && { date: answer.date }),
  },
})

/** Follows the events of a history with nothing but its steps. */
function checkBooks({ options, steps }: History): void {
  const open = new Map<number, number>()
  const settle = (numbers: readonly number[]) => {
    for (const n of numbers) expect(open.delete(n), `event ${n} was open`).to.equal(true)
  }
  const batches: (readonly number[])[] = []
  for (const step of steps) {
    if (step[0] === 'add' && step[6]) open.set(step[2], step[3])
    if (step[0] === 'batch' && step[2] !== null) batches.push(step[2])
    if (step[0] === 'answer') {
      const events = batches[step[2]] ?? []
      settle(step[6].map(([n]) => n))
      if (step[5] > 0) settle(events)
      expect([0, events.length]).to.include(step[5])
    }
    if (step[0] === 'looked-up') settle(step[5].map(([n]) => n))
    if (step[0] === 'expire') settle(step[2])
    expect(open.size).to.be.at.most(options.queueEvents)
    expect([...open.values()].reduce((sum, bytes) => sum + bytes, 0)).to.be.at.most(options.queueBytes)
  }
}
