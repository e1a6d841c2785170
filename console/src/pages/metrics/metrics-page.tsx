import '../pages.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { metricListing } from '../../api/queries/sources.ts'
import { monthlyCountReading } from '../../api/queries/usage.ts'
import { useRead, useReadList } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { useNow } from '../../app/now.ts'
import { curlOf } from '../../format/curl.ts'
import { DAY_S, periodText, startOfDay, startOfMonth } from '../../format/time.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Decimal } from '../../parts/decimal.tsx'
import { Id } from '../../parts/id.tsx'
import { Chip, PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Problem } from '../../parts/problem.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { Name, Text } from '../../parts/text.tsx'
import { MetricDialog } from './metric-dialog.tsx'

/** All metrics, with how many events each had this month. */
export function MetricsPage() {
  const client = useClient()
  const now = useNow()
  const [isMaking, setMaking] = useState(false)
  const list = useReadList(metricListing(client))
  const counts = useRead(
    monthlyCountReading(client, { start_at: startOfMonth(now), end_at: startOfDay(now) + DAY_S }),
  )
  const counted = counts.data?.data[0]?.data ?? []
  const eventsOf = (id: string) =>
    counts.data === undefined
      ? undefined
      : (counted.find(({ metric_id: metricId }) => metricId === id)?.quantity ?? '0')
  return (
    <>
      <PageHead heading="Metrics" />
      <Panel
        heading="All metrics"
        read={list}
        tools={
          client.may('write:all') && (
            <button type="button" className="button button--main" onClick={() => setMaking(true)}>
              New metric
            </button>
          )
        }
      >
        {(metrics) =>
          metrics.length === 0 ? (
            <NoneYet />
          ) : (
            <>
              {counts.error !== null && <Problem error={counts.error} onAgain={counts.again} />}
              <DataTable
                caption="Metrics"
                columns={columnsOf(eventsOf, periodText(now, 'month'))}
                rows={metrics}
                keyOf={({ id }) => id}
                hasMore={list.hasMore}
                isFetchingMore={list.isFetchingMore}
                onMore={list.more}
              />
            </>
          )
        }
      </Panel>
      {isMaking && <MetricDialog metric={undefined} onClose={() => setMaking(false)} />}
    </>
  )
}

const columnsOf = (
  eventsOf: (id: string) => string | undefined,
  month: string,
): Column<Schema<'Metric'>>[] => [
  {
    heading: 'Metric',
    cell: ({ id, name, archived_at: archivedAt }) => (
      <>
        <Link to="metric" parameters={{ metricId: id }}>
          <Name>{name}</Name>
        </Link>
        {archivedAt !== null && (
          <>
            {' '}
            <Chip>archived</Chip>
          </>
        )}
      </>
    ),
  },
  { heading: 'Unit', cell: ({ measurement_units: unit }) => unit !== '' && <Text>{unit}</Text> },
  { heading: 'External id', cell: ({ external_id: id }) => id !== undefined && <Id value={id} /> },
  {
    heading: `Events in ${month}`,
    isNumber: true,
    cell: ({ id }) => {
      const events = eventsOf(id)
      return events === undefined ? '–' : <Decimal value={events} />
    },
  },
]

function NoneYet() {
  const { origin } = useClient()
  const body: Schema<'NewMetric'> = { name: 'tokens', measurement_units: 'tokens' }
  return (
    <Empty>
      <p>
        <strong>No metric yet.</strong> A metric is something that is counted: tokens, requests, seats. Usage
        in money needs none.
      </p>
      <p>
        <Link to="start" parameters={{}}>
          First steps
        </Link>{' '}
        makes one and sends it an event. Or send this:
      </p>
      <Snippet
        text={curlOf(origin, { method: 'POST', target: '/v2/metrics', body })}
        label="Copy this command"
      />
    </Empty>
  )
}
