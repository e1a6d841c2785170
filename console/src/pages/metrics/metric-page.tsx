import '../pages.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { metricReading } from '../../api/queries/metrics.ts'
import { useRead } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { useNow } from '../../app/now.ts'
import { ArchiveButton } from '../../parts/archive-button.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip, Fact, PageHead } from '../../parts/page.tsx'
import { Notice } from '../../parts/problem.tsx'
import { RangePicker, useRange } from '../../parts/range-picker.tsx'
import { sourceOfMetric } from '../../parts/sources.ts'
import { Text } from '../../parts/text.tsx'
import { TrailLink } from '../../parts/trail-link.tsx'
import { Unread } from '../../parts/unread.tsx'
import { MetricDialog } from './metric-dialog.tsx'
import { PropertiesPanel } from './properties-panel.tsx'
import { MetricUsagePanel } from './usage-panel.tsx'

/** A metric: its fields, its usage by day and account, and the properties of its events. */
export function MetricPage({ parameters: { metricId } }: { parameters: { metricId: string } }) {
  const { data: metric, error, again } = useRead(metricReading(useClient(), metricId))
  return (
    <>
      <PageHead
        heading={metric?.name ?? 'Metric'}
        crumbs={
          <Link to="metrics" parameters={{}}>
            Metrics
          </Link>
        }
      >
        {metric !== undefined && <Facts metric={metric} />}
        <TrailLink resourceId={metricId} />
      </PageHead>
      <Unread read={{ error, again }} kind="metric" id={metricId} />
      {metric !== undefined && <Details key={metric.id} metric={metric} />}
    </>
  )
}

function Facts({ metric }: { metric: Schema<'Metric'> }) {
  const { external_id: externalId, measurement_units: unit, description, archived_at: archivedAt } = metric
  const { event_type: eventType, event_quantity: eventQuantity } = metric
  return (
    <>
      {archivedAt !== null && (
        <Fact name="">
          <Chip tone="warn">archived</Chip> <Instant at={archivedAt} />
        </Fact>
      )}
      <Fact name="unit">{unit === '' ? 'none' : <Text>{unit}</Text>}</Fact>
      {externalId !== undefined && (
        <Fact name="external id">
          <Id value={externalId} />
        </Fact>
      )}
      {eventType !== undefined && (
        <Fact name="event type">
          <Id value={eventType} />
        </Fact>
      )}
      {eventQuantity !== undefined && (
        <Fact name="field with the quantity">
          <Id value={eventQuantity} />
        </Fact>
      )}
      <Fact name="id">
        <Id value={metric.id} />
      </Fact>
      <Fact name="created">
        <Instant at={metric.created_at} />
      </Fact>
      {description !== '' && (
        <Fact name="description">
          <Text>{description}</Text>
        </Fact>
      )}
    </>
  )
}

function Details({ metric }: { metric: Schema<'Metric'> }) {
  const now = useNow()
  const range = useRange(now)
  const source = sourceOfMetric(metric)
  return (
    <div className="columns">
      <Actions metric={metric} />
      <RangePicker now={now} range={range} />
      {range.seconds === undefined ? (
        <Notice tone="bad">
          <span>The range of this address cannot be shown: {range.fault}.</span>
        </Notice>
      ) : (
        <MetricUsagePanel source={source} seconds={range.seconds} now={now} />
      )}
      <PropertiesPanel source={source} />
    </div>
  )
}

function Actions({ metric }: { metric: Schema<'Metric'> }) {
  const [isChanging, setChanging] = useState(false)
  if (!useClient().may('write:all')) return null
  return (
    <div className="row-actions">
      <button type="button" className="button" onClick={() => setChanging(true)}>
        Change
      </button>
      <ArchiveButton kind="metric" id={metric.id} isArchived={metric.archived_at !== null} />
      {isChanging && <MetricDialog metric={metric} onClose={() => setChanging(false)} />}
    </div>
  )
}
