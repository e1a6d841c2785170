import { parseArgs } from 'node:util'
import { buildEpoch } from '../../../shared/clickhouse/rollups/build-epoch.ts'
import { rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../../shared/clickhouse/rollups/rollup-tables.ts'
import { REBUILD, runExclusively } from '../../../shared/postgres/locks/run-exclusively.ts'
import type { Command, CommandContext } from '../command.ts'

/** How long a slot may still be filled after its end, whatever the rollup service's setting is. */
const GRACE_S = 10
/** For the longest statement, which reads a week of events. */
const QUERY_TIMEOUT_S = 3_600
const TELL_EVERY_MS = 1_000
const BAR_WIDTH = 30

/** npm run rebuild: computes all rollups again and switches readers to them. */
export const rebuild: Command = {
  name: 'rebuild',
  about: 'computes the rollups again from all events, beside those in use',
  notes: [
    'Usage is read from rollups by time slot, day and month, which the rollup service keeps up to date. They can be computed again at',
    'any time: answers are the same before, during and after it. The old ones are dropped ten minutes later. A rebuild that',
    'is interrupted changes nothing: run it again.',
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
        // After this, late usage is no longer recomputed for the epoch, and the epoch's rows are dropped. After a kill
        // the next rebuild gives up the epoch. This is done only after an abort: after another failure the epoch may be
        // in use, and no other may have the latest late usage.
        if (err === context.signal.reason) await epochs.giveUpUnfinished()
        throw err
      }),
    )
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    context.print(`readers use the rollups of epoch ${epoch} now; they took ${seconds} s`)
    return 0
  },
}

/** Prints a line with a bar, every second at most. */
function barOn({ showProgress }: CommandContext): (done: number, of: number) => void {
  let toldAt = -Infinity
  return (done, of) => {
    if (performance.now() - toldAt < TELL_EVERY_MS && done < of) return
    toldAt = performance.now()
    const filled = of === 0 ? BAR_WIDTH : Math.round((BAR_WIDTH * done) / of)
    showProgress(`[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${done} of ${of} days`)
  }
}
