import path from 'node:path'
import { expect } from 'chai'
import { FaultyStage } from '../clients/sdk/reporter/faulty-run.ts'
import type { ReportOrder } from '../clients/sdk/reporter/report.main.ts'
import { startProgram, startReporter } from '../clients/sdk/reporter/reporter-process.ts'
import { IS_LONG, tell } from '../support/fault-seed.ts'
import { copyPrograms, installPython, requirePrograms } from '../support/programs.ts'

const EVENTS = IS_LONG ? 1_000_000 : 100_000
const KILLS = IS_LONG ? 50 : 10
const MEMORY_MAX_MB = 150

describe('reporters of two languages on one folder', function () {
  this.timeout(3_600_000)
  let folder: string
  let stage: FaultyStage

  before(async function () {
    requirePrograms(this, 'REQUIRE_PYTHON', [['python3', '--version']])
    folder = await copyPrograms('../clients/python')
    await installPython(folder, ['.'])
    // Why a separate Tally: it gets much load, and its log is audited.
    stage = await FaultyStage.start()
  })
  after(() => stage.discard())

  it('count each event once, however often they are killed, in little memory', async () => {
    const startPython = (order: ReportOrder) =>
      startProgram(order, path.join(folder, 'venv/bin/python'), [path.join(folder, 'tests/report_usage.py')])
    const starters = [startReporter, startPython, startReporter, startPython]
    const megabytes = await stage.countsEachOnce({ events: EVENTS, kills: KILLS, starters })
    tell(`TypeScript, Python, TypeScript, Python: ${megabytes.join(', ')} MB at most`)
    expect(Math.max(...megabytes)).to.be.lessThan(MEMORY_MAX_MB)
  })
})
