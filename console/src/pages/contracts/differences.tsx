import type { Schema } from '../../api/contract.ts'
import { Link } from '../../app/link.tsx'
import { differenceOf, fillPlaces, isNegative, isZero } from '../../format/decimal.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Decimal, Money } from '../../parts/decimal.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip } from '../../parts/page.tsx'
import { Empty } from '../../parts/problem.tsx'
import { sourceIdOf } from '../../parts/sources.ts'
import { Name } from '../../parts/text.tsx'
import { keyOf } from './invoice-line.ts'
import { LineName } from './line-name.tsx'
import type { NotesProps } from './preview-notes.tsx'

/** A difference with its sign: +0.50. */
export function Change({ value, places = null }: { value: string; places?: number | null }) {
  return (
    <span className="change">
      {!isNegative(value) && !isZero(value) && '+'}
      <Decimal value={fillPlaces(value, places)} />
    </span>
  )
}

type Difference = Schema<'InvoiceDifference'>

interface DifferencesProps extends NotesProps {
  difference: Difference
}

interface Row {
  key: string
  line: Difference['lines'][number] | undefined
  name: string
  amount: Schema<'NumberChange'>
}

const SUMS = [
  ['subtotal', 'All lines'],
  ['minimum_adjustment', 'To the minimum'],
  ['total', 'Total'],
  ['credit_total', 'Credit'],
  ['amount_due', 'Due'],
] as const

/** Each line and each sum then and now. */
export function Differences({ preview, lines, names, difference }: DifferencesProps) {
  const places = names.places(preview.currency) ?? null
  const rows: Row[] = [
    ...difference.lines.map((line) => ({ key: keyOf(line), line, name: '', amount: line.amount })),
    ...SUMS.map(([key, name]) => ({ key, line: undefined, name, amount: difference[key] })),
  ]
  const money = (value: string | null) =>
    value === null ? 'none' : <Money value={value} currency={preview.currency} places={places} />
  const columns: Column<Row>[] = [
    {
      heading: 'Line',
      cell: ({ line, name }) =>
        line === undefined ? <strong>{name}</strong> : <ChangedLine {...{ line, preview, lines, names }} />,
    },
    { heading: 'Then', isNumber: true, cell: ({ amount }) => money(amount.then) },
    { heading: 'Now', isNumber: true, cell: ({ amount }) => money(amount.now) },
    {
      heading: 'Difference',
      isNumber: true,
      cell: ({ amount }) => <Change value={amount.difference} places={places} />,
    },
  ]
  return (
    <section>
      <h3 className="preview__heading">
        Since <Instant at={difference.since} />
      </h3>
      <DataTable caption="Then and now" columns={columns} rows={rows} keyOf={({ key }) => key} />
    </section>
  )
}

/** The name of a line, and its quantity then and now if it changed. */
function ChangedLine({ line, preview, lines, names }: NotesProps & { line: Difference['lines'][number] }) {
  const shown = preview.lines.find((one) => keyOf(one) === keyOf(line))
  const { then, now, difference } = line.quantity
  return (
    <>
      {shown === undefined ? (
        <>
          A line that is no longer there, of <Id value={line.rate_id ?? line.contract_line_id} />
        </>
      ) : (
        <LineName line={shown} lines={lines} names={names} />
      )}
      {!isZero(difference) && (
        <div className="soft">
          <Decimal value={then ?? '0'} /> → <Decimal value={now ?? '0'} />, <Change value={difference} />
        </div>
      )}
    </>
  )
}

type Event = Schema<'ChangedEvent'>

/** A late event occurred before the time that is compared with, and came after it. */
const kindOf = (
  { then, now, occurred_at: at }: Event,
  since: number,
): 'late' | 'new' | 'voided' | 'corrected' =>
  then === null ? (at < since ? 'late' : 'new') : now.voided ? 'voided' : 'corrected'

/** The quantity that counts in a state. */
const countedIn = (state: Schema<'EventState'> | null): string =>
  state === null || state.voided ? '0' : state.quantity

/** The events that explain a difference. */
export function EventDifferences({ preview, lines, names, difference }: DifferencesProps) {
  const { events, has_more: hasMore } = difference
  const sourceOf = (event: Event) => names.source(sourceIdOf(event))
  const stateOf = (event: Event, state: Schema<'EventState'> | null) =>
    state === null ? (
      'none'
    ) : state.voided ? (
      'voided'
    ) : (
      <AmountOf value={state.quantity} source={sourceOf(event)} />
    )
  return (
    <section>
      <h3 className="preview__heading">Events that came, or changed</h3>
      {events.length === 0 ? (
        <Empty>
          <p>
            <strong>None.</strong> No event of this period was accepted, corrected or voided since then.
          </p>
        </Empty>
      ) : (
        <DataTable
          caption="Events that came or changed, by the time of their last change"
          columns={[
            {
              heading: 'Event',
              cell: (event) => (
                <>
                  <Link to="event" parameters={{ eventId: event.event_id }}>
                    <Name>{event.event_id}</Name>
                  </Link>{' '}
                  <Chip>{kindOf(event, difference.since)}</Chip>
                </>
              ),
            },
            { heading: 'Occurred', cell: ({ occurred_at: at }) => <Instant at={at} /> },
            {
              heading: 'Came or changed',
              cell: ({ accepted_at: at, corrected_at: correctedAt }) => <Instant at={correctedAt ?? at} />,
            },
            { heading: 'Then', isNumber: true, cell: (event) => stateOf(event, event.then) },
            { heading: 'Now', isNumber: true, cell: (event) => stateOf(event, event.now) },
            {
              heading: 'Difference',
              isNumber: true,
              cell: ({ then, now }) => <Change value={differenceOf(countedIn(then), countedIn(now))} />,
            },
            {
              heading: 'Lines',
              cell: (event) => <LinesOf event={event} preview={preview} lines={lines} names={names} />,
            },
          ]}
          rows={events}
          keyOf={({ event_id: id }) => id}
        />
      )}
      {hasMore && (
        <p className="soft">
          There are more than these hundred. Compare with a later time to see the others.
        </p>
      )}
    </section>
  )
}

/** The lines that count an event, then or now. */
function LinesOf({ event, preview, lines, names }: NotesProps & { event: Event }) {
  const keys = new Set([...(event.then?.lines ?? []), ...event.now.lines].map(keyOf))
  const counting = preview.lines.filter((line) => keys.has(keyOf(line)))
  if (keys.size === 0) return <span className="soft">no line counts it</span>
  return counting.map((line) => (
    <div key={keyOf(line)}>
      <LineName line={line} lines={lines} names={names} />
    </div>
  ))
}
