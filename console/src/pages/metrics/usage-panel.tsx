import { useClient } from '../../api/client.ts'
import { answeredUsageReading } from '../../api/queries/usage.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { countText } from '../../format/decimal.ts'
import { DAY_S, utcDay } from '../../format/time.ts'
import { useAccountNames } from '../../parts/account-names.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { Ranking } from '../../parts/ranking.tsx'
import { type Source, sourceQuery } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import { groupKey } from '../../plots/prepare/stacks.ts'
import { UsagePlot } from '../../plots/usage-plot.tsx'
import { useColours } from '../../plots/use-colours.ts'

interface MetricUsagePanelProps {
  source: Source
  seconds: { startAt: number; endAt: number }
  now: number
}

/** The usage of a metric by day, and the accounts that used most of it. */
export function MetricUsagePanel({ source, seconds, now }: MetricUsagePanelProps) {
  const read = useRead(
    answeredUsageReading(
      useClient(),
      {
        ...sourceQuery(source),
        start_at: seconds.startAt,
        end_at: seconds.endAt,
        group_by: 'account',
      },
      'day',
    ),
    { keepsEarlier: true },
  )
  const groups = read.data?.usage.data
  const colours = useColours(groups?.map(groupKey))
  const nameOf = useAccountNames((groups ?? []).flatMap(({ account_id: id }) => id ?? []))
  return (
    <Panel
      heading="Usage by day, and top accounts"
      read={read}
      tools={
        <Link to="usage" parameters={{}} query={{ source: source.id }}>
          More in Usage
        </Link>
      }
    >
      {({ usage, asked }) => {
        const [from, to] = [utcDay(asked.start_at), utcDay(asked.end_at - DAY_S)]
        if (usage.total.event_count === 0) return <NoUsage from={from} to={to} />
        return (
          <>
            <p className="facts">
              <AmountOf value={usage.total.quantity ?? '0'} source={source} />{' '}
              <span className="soft">
                in {countText(usage.total.event_count)} {usage.total.event_count === 1 ? 'event' : 'events'},
                from {from} to {to}, both included
              </span>
            </p>
            <UsagePlot
              usage={usage}
              source={source}
              period="day"
              now={now}
              caption={`Usage in ${source.unit}`}
              fileName={`usage-${from}-${to}.csv`}
              nameOf={nameOf}
              colours={colours}
            />
            <h3 className="subheading">Top accounts</h3>
            <Ranking
              usage={usage}
              source={source}
              caption="Top accounts"
              heading="Account"
              showName={(id) => (
                <Link to="account" parameters={{ accountId: id }} query={{ source: source.id }}>
                  <Name>{nameOf(id)}</Name>
                </Link>
              )}
              colours={colours}
            />
          </>
        )
      }}
    </Panel>
  )
}

function NoUsage({ from, to }: { from: string; to: string }) {
  return (
    <Empty>
      <p>
        <strong>
          Nothing was used from {from} to {to}.
        </strong>{' '}
        A longer range may show more.
      </p>
    </Empty>
  )
}
