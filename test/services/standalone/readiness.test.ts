import { expect } from 'chai'
import { USAGE_TOPIC } from '../../../shared/event-log/event-log.ts'
import { ApiClient } from '../../support/api-client.ts'
import { breakReads } from '../../support/break-reads.ts'
import { createDatabase } from '../../support/postgres.ts'
import { startTally } from '../../support/start-tally.ts'
import { until } from '../../support/until.ts'
import { makeWorld } from '../../support/usage-world.ts'

describe('/readyz', function () {
  this.timeout(120_000)

  it('is not ready while the loader fails without a break, and says why in the log alone', async () => {
    const db = await createDatabase('readiness')
    // Why a separate Tally: its loader must fail.
    const tally = await startTally({
      env: { DATABASE_URL: db.serviceUrl, DATABASE_OWNER_URL: db.ownerUrl, LOADER_FAILING_MAX_S: '1' },
    })
    const probe = async () => {
      const response = await fetch(`${tally.adminUrl}/readyz`)
      return { status: response.status, text: await response.text() }
    }
    const probeUntil = (isReady: boolean) =>
      until(async () => {
        const answer = await probe()
        return (answer.status === 200) === isReady && answer
      })
    // On a busy machine some time passes before a second without a failure.
    expect(await probeUntil(true)).to.deep.equal({ status: 200, text: 'ok' })
    const world = await makeWorld(new ApiClient(tally.url, tally.key))
    const mend = await breakReads(db, USAGE_TOPIC)
    await world.report({ metric_id: world.tokens, quantity: '1' }) // still durable
    expect(await probeUntil(false)).to.deep.equal({ status: 503, text: 'not ready' })
    expect(tally.output()).to.match(/reading the event log.*permission denied.*not ready/)
    await mend()
    await world.counted(1)
    await probeUntil(true)
    expect(await tally.stop()).to.equal(0)
    await tally.discard()
    await db.close()
  })
})
