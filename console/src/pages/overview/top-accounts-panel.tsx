import { useClient } from '../../api/client.ts'
import { groupedUsageReading } from '../../api/queries/usage.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { DAY_S, periodText, startOfDay, startOfMonth } from '../../format/time.ts'
import { useAccountNames } from '../../parts/account-names.ts'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { Ranking } from '../../parts/ranking.tsx'
import { type Source, sourceQuery } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'

/** The accounts that used most this month. */
export function TopAccountsPanel({ source, now }: { source: Source; now: number }) {
  const read = useRead(
    groupedUsageReading(useClient(), {
      ...sourceQuery(source),
      start_at: startOfMonth(now),
      end_at: startOfDay(now) + DAY_S,
      group_by: 'account',
    }),
    { keepsEarlier: true },
  )
  const ids = (read.data?.data ?? []).flatMap(({ account_id: id }) => id ?? [])
  const nameOf = useAccountNames(ids)
  return (
    <Panel
      heading={`Top accounts of ${periodText(now, 'month')}, ${source.label}`}
      read={read}
      tools={
        <Link to="usage" parameters={{}} query={{ source: source.id }}>
          All in Usage
        </Link>
      }
    >
      {(usage) =>
        usage.data.length === 0 ? (
          <Empty>
            <p>
              <strong>Nothing was used this month.</strong>
            </p>
          </Empty>
        ) : (
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
          />
        )
      }
    </Panel>
  )
}
