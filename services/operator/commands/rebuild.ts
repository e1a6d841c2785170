import { parseArgs } from 'node:util'
import { buildEpoch } from '../../../shared/clickhouse/rollups/build-epoch.ts'
import { rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../../shared/clickhouse/rollups/rollup-tables.ts'
import { REBUILD, runExclusively } from '../../../shared/postgres/locks/run-exclusively.ts'
import type { Command, CommandContext } from '../command.ts'

/** As long as a slot that has just ended may still be filled, whatever the rollup service is told. */
const GRACE_S = 10
/** Of the longest statement, which reads a week of events. */
const QUERY_TIMEOUT_S = 3_600
const TELL_EVERY_MS = 1_000
const BAR_WIDTH = 30

/** npm run rebuild: computes all rollups anew and has readers use them. */
export const rebuild: Command = {
  name: 'rebuild',
  about: 'computes the rollups anew from all events, beside those in use',
  notes: [
    'Usage is read from rollups by time slot, day and month, which the rollup service keeps up to date. They can be computed anew at',
    'any time: answers are the same before, meanwhile and afterwards. The old ones are dropped ten minutes later. One that is cut',
    'short changes nothing: run it again.',
    '',
  ],
  usage: ['rebuild'],
  async run(args, { pool, openClickHouse }, context) {
    parseArgs({ args: [...args] })
    const client = await openClickHouse(QUERY_TIMEOUT_S)
    const epochs = rollupEpochRepository(client)
    const startedAt = performance.now()
    const epoch = await runExclusively(pool, REBUILD, () =>
      buildEpoch(
        {
          client,
          epochs,
          tables: rollupTables(client, QUERY_TIMEOUT_S),
          onProgress: barOn(context),
          signal: context.signal,
        },
        GRACE_S,
      ).catch(async (err: unknown) => {
        // So that late usage is recomputed for it no more, and its rows are dropped; a kill leaves that to the next
        // one. Nothing else: after another failure it may be in use already, and late usage may have gone to it alone.
        if (err === context.signal.reason) await epochs.giveUpUnfinished()
        throw err
      }),
    )
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    context.print(`readers use the rollups of epoch ${epoch} now; they took ${seconds} s`)
    return 0
  },
}

/** A line with a bar every second at most. */
function barOn({ showProgress }: CommandContext): (done: number, of: number) => void {
  let toldAt = -Infinity
  return (done, of) => {
    if (performance.now() - toldAt < TELL_EVERY_MS && done < of) return
    toldAt = performance.now()
    const filled = of === 0 ? BAR_WIDTH : Math.round((BAR_WIDTH * done) / of)
    showProgress(`[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${done} of ${of} days`)
  }
}
