import { expect } from 'chai'
import { watchLag } from '../../../services/loader/watch-lag.ts'
import { openMetrics } from '../../../shared/metrics/metrics.ts'
import { testLog } from '../../support/log.ts'

describe('how far the loaders are behind, in metrics', () => {
  it('is told by partition, in total, and by the age of the oldest record', async () => {
    const metrics = openMetrics()
    watchLag(
      metrics,
      {
        lag: () =>
          Promise.resolve([
            { partition: 0, committed: 5, end: 5 },
            { partition: 1, committed: 4, end: 7 },
            { partition: 2, committed: 0, end: 40 },
          ]),
        lowestUnread: () => Promise.resolve((Date.now() - 90_000) * 1_000),
      },
      testLog,
    )
    const { text } = await metrics.scrape()
    const valueOf = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
    expect(valueOf('tally_event_log_lag_records{partition="0"}')).to.equal(0)
    expect(valueOf('tally_event_log_lag_records{partition="1"}')).to.equal(3)
    expect(valueOf('tally_event_log_lag_records{partition="2"}')).to.equal(40)
    expect(valueOf('tally_event_log_unread_records')).to.equal(43)
    expect(valueOf('tally_event_log_oldest_unread_seconds')).to.be.within(89, 95)
  })
})
