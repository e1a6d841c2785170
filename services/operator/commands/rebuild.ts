import { parseArgs } from 'node:util'
import { buildEpoch } from '../../../shared/clickhouse/rollups/build-epoch.ts'
import { rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../../shared/clickhouse/rollups/rollup-tables.ts'
import { REBUILD, runExclusively } from '../../../shared/postgres/locks/run-exclusively.ts'
import type { Command, CommandContext } from '../command.ts'

/** How many seconds after its end a slot may still get usage. The setting of the rollup service does not apply here. */
const GRACE_S = 10
/** The time limit of a statement. The longest statement reads a week of events. */
const QUERY_TIMEOUT_S = 3_600
const TELL_EVERY_MS = 1_000
const BAR_WIDTH = 30

/** npm run rebuild: computes all rollups again and switches readers to them. */
export const rebuild: Command = {
  name: 'rebuild',
  about: 'computes the rollups again from all events, beside those in use',
  notes: [
    'Usage is read from rollups by time slot, day and month, which the rollup service keeps up to date. A rebuild can run at any',
    'time: answers are the same before, during and after it. The old rollups are dropped ten minutes later. An interrupted',
    'rebuild changes nothing: run it again.',
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
        // Gives up the unfinished epoch: late usage is no longer recomputed for it, and its rows are dropped. If this
        // process is killed instead, the next rebuild gives the epoch up. After an error other than the abort, the
        // epoch is kept. Readers may already use it, and it may be the only epoch with the latest late usage.
        if (err === context.signal.reason) await epochs.giveUpUnfinished()
        throw err
      }),
    )
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    context.print(`readers use the rollups of epoch ${epoch} now; they took ${seconds} s`)
    return 0
  },
}

/** Prints a line with a bar, at most once a second. */
function barOn({ showProgress }: CommandContext): (done: number, of: number) => void {
  let toldAt = -Infinity
  return (done, of) => {
    if (performance.now() - toldAt < TELL_EVERY_MS && done < of) return
    toldAt = performance.now()
    const filled = of === 0 ? BAR_WIDTH : Math.round((BAR_WIDTH * done) / of)
    showProgress(`[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${done} of ${of} days`)
  }
}
