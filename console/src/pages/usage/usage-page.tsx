import '../pages.css'
import { useClient } from '../../api/client.ts'
import { newestEventsReading } from '../../api/queries/events.ts'
import { useRead } from '../../api/use-read.ts'
import { useNow } from '../../app/now.ts'
import { useUrlQuery } from '../../app/url.ts'
import { seenProperties } from '../../format/properties.ts'
import { aggregationOf, AggregationPicker } from '../../parts/aggregation-picker.tsx'
import { Choice } from '../../parts/choice.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Skeleton } from '../../parts/panel.tsx'
import { periodOf, PeriodPicker } from '../../parts/period-picker.tsx'
import { Notice, Problem } from '../../parts/problem.tsx'
import { PropertyPicker } from '../../parts/property-picker.tsx'
import { type PickedRange, RangePicker, useRange } from '../../parts/range-picker.tsx'
import { chosenSource, NoSource, SourcePicker } from '../../parts/source-picker.tsx'
import { type Source, sourceQuery, type Sources, useSources } from '../../parts/sources.ts'
import { NoProperty } from './empty-usage.tsx'
import { GroupedPanel } from './grouped-panel.tsx'

/** The newest events tell which properties there are. */
const SEEN_EVENTS = 100

const SPLITS = [
  { value: 'account', label: 'Account' },
  { value: 'property', label: 'Property' },
] as const

type Split = (typeof SPLITS)[number]['value']

/** Usage of one source over a range, by account or by the values of a property. */
export function UsagePage() {
  const [{ source: sourceId }] = useUrlQuery()
  const sources = useSources(useClient())
  const source = chosenSource(sources.data, sourceId)
  return (
    <>
      <PageHead heading="Usage" />
      {sources.error !== null && <Problem error={sources.error} onAgain={sources.again} />}
      {sources.data === undefined && sources.error === null && <Skeleton />}
      {sources.data !== undefined &&
        (source === undefined ? (
          <NoSource />
        ) : (
          // Keyed by the source, so that no number of another source is seen under its name.
          <Explorer key={source.id} sources={sources.data} source={source} />
        ))}
    </>
  )
}

function Explorer({ sources, source }: { sources: Sources; source: Source }) {
  const now = useNow()
  const range = useRange(now)
  const [query, change] = useUrlQuery()
  const aggregation = aggregationOf(query['aggregation'])
  const period = periodOf(query['period'])
  const split: Split = query['split'] === 'property' ? 'property' : 'account'
  const property = query['property'] ?? ''
  const events = useRead(newestEventsReading(useClient(), { ...sourceQuery(source), limit: SEEN_EVENTS }))
    .data?.data
  const seen = seenProperties(events ?? [])
    .filter(({ isSearchable }) => isSearchable)
    .map(({ name }) => name)
  const choose = (name: string) => change({ split: 'property', property: name })
  return (
    <div className="columns">
      <div className="range">
        <SourcePicker sources={sources} chosen={source} />
        <AggregationPicker chosen={aggregation} />
        <PeriodPicker chosen={period} />
        <Choice
          label="Split by"
          options={SPLITS}
          value={split}
          onChange={(value) => change({ split: value === 'account' ? undefined : value })}
        />
        {split === 'property' && (
          <PropertyPicker key={property} value={property} seen={seen} onChange={choose} />
        )}
      </div>
      <RangePicker now={now} range={range} />
      {range.seconds === undefined ? (
        <RangeFault range={range} />
      ) : split === 'property' && property === '' ? (
        <NoProperty seen={seen} onChoose={choose} />
      ) : (
        <GroupedPanel
          source={source}
          now={now}
          aggregation={aggregation}
          period={period}
          seconds={range.seconds}
          property={split === 'property' ? property : undefined}
          newest={events?.[0]}
          seen={seen}
          onChoose={choose}
        />
      )}
    </div>
  )
}

function RangeFault({ range: { fault } }: { range: PickedRange }) {
  return (
    <Notice tone="bad">
      <span>The range of this address cannot be shown: {fault}.</span>
    </Notice>
  )
}
