import { IS_LONG } from '../../../support/fault-seed.ts'
import { FaultyStage } from './faulty-run.ts'
import { startReporter } from './reporter-process.ts'

const EVENTS = IS_LONG ? 1_000_000 : 20_000
const KILLS = IS_LONG ? 50 : 8
/** Processes that use one folder at the same time. */
const PROCESSES = IS_LONG ? 4 : 2

describe('reporters through failures', function () {
  this.timeout(IS_LONG ? 1_800_000 : 180_000)
  let stage: FaultyStage

  before(async () => {
    // Why a separate Tally: it gets much load, and its log is audited.
    stage = await FaultyStage.start()
  })
  after(() => stage.discard())

  it('count each event once, however often they are killed', async () => {
    const starters = Array.from({ length: PROCESSES }, () => startReporter)
    await stage.countsEachOnce({ events: EVENTS, kills: KILLS, starters })
  })
})
