import { useClient } from '../../api/client.ts'
import { accountBalancesReading } from '../../api/queries/balances.ts'
import { acceptedEventsReading } from '../../api/queries/events.ts'
import { useRead } from '../../api/use-read.ts'
import { useNow } from '../../app/now.ts'
import { useUrlQuery } from '../../app/url.ts'
import { seenProperties } from '../../format/properties.ts'
import { aggregationOf, AggregationPicker } from '../../parts/aggregation-picker.tsx'
import { Skeleton } from '../../parts/panel.tsx'
import { periodOf, PeriodPicker } from '../../parts/period-picker.tsx'
import { Notice, Problem } from '../../parts/problem.tsx'
import { PropertyPicker } from '../../parts/property-picker.tsx'
import { RangePicker, useRange } from '../../parts/range-picker.tsx'
import { NoSource, SourcePicker } from '../../parts/source-picker.tsx'
import { type Source, sourceQuery, type Sources, useSources } from '../../parts/sources.ts'
import { AccountFrame } from './account-frame.tsx'
import { chosenSource } from './chosen-source.ts'
import { GroupedUsagePanel } from './grouped-usage-panel.tsx'

/** What an account used of a source, by day or month, in all or by the values of a property. */
export function AccountUsagePage({ parameters: { accountId } }: { parameters: { accountId: string } }) {
  return (
    <AccountFrame accountId={accountId} tab="account-usage">
      {() => <OfAccount accountId={accountId} />}
    </AccountFrame>
  )
}

function OfAccount({ accountId }: { accountId: string }) {
  const client = useClient()
  const [{ source: sourceId }] = useUrlQuery()
  const sources = useSources(client)
  const balances = useRead(accountBalancesReading(client, accountId), { isEnabled: sourceId === undefined })
  const error = sources.error ?? balances.error
  if (error !== null) return <Problem error={error} onAgain={sources.again} />
  if (sources.data === undefined || (sourceId === undefined && balances.data === undefined))
    return <Skeleton />
  const source = chosenSource(sources.data, balances.data, sourceId)
  if (source === undefined) return <NoSource />
  // Keyed by the source, so that no number of another source is seen under its name.
  return <OfSource key={source.id} accountId={accountId} sources={sources.data} source={source} />
}

interface OfSourceProps {
  accountId: string
  sources: Sources
  source: Source
}

function OfSource({ accountId, sources, source }: OfSourceProps) {
  const now = useNow()
  const range = useRange(now)
  const [{ aggregation: typed, period: typedPeriod, split = '' }] = useUrlQuery()
  const aggregation = aggregationOf(typed)
  const period = periodOf(typedPeriod)
  return (
    <div className="columns">
      <div className="range">
        <SourcePicker sources={sources} chosen={source} />
        <AggregationPicker chosen={aggregation} />
        <PeriodPicker chosen={period} />
        <Split accountId={accountId} source={source} split={split} />
      </div>
      <RangePicker now={now} range={range} />
      {range.seconds === undefined ? (
        <Notice tone="bad">
          <span>The range of this address cannot be shown: {range.fault}.</span>
        </Notice>
      ) : (
        <GroupedUsagePanel
          accountId={accountId}
          source={source}
          aggregation={aggregation}
          period={period}
          property={split === '' ? undefined : split}
          range={range}
          seconds={range.seconds}
          now={now}
        />
      )}
    </div>
  )
}

/** Chooses the property by whose values usage is split. Those of the newest events are offered. */
function Split({ accountId, source, split }: { accountId: string; source: Source; split: string }) {
  const [, change] = useUrlQuery()
  const events = useRead(
    acceptedEventsReading(useClient(), { account_id: accountId, ...sourceQuery(source) }),
  ).data?.data
  const seen = seenProperties(events ?? []).filter(({ isSearchable }) => isSearchable)
  return (
    <>
      <span className="select__label">Split by</span>
      <PropertyPicker
        key={split}
        value={split}
        seen={seen.map(({ name }) => name)}
        onChange={(name) => change({ split: name })}
      />
      {split !== '' && (
        <button type="button" className="button" onClick={() => change({ split: undefined })}>
          Do not split
        </button>
      )}
    </>
  )
}
