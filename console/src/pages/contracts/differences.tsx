import type { Schema } from '../../api/contract.ts'
import { Link } from '../../app/link.tsx'
import { differenceOf, fillPlaces, isNegative, isZero } from '../../format/decimal.ts'
import { causesOf, changeOf, countedIn, type Effect, effectsOf } from '../../format/effects.ts'
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

type Row = Effect<Difference['lines'][number]>

const KINDS = {
  minimum: { name: 'To the minimum', cause: 'fills the lines up to the minimum of the contract' },
  credit: { name: 'Credit', cause: 'what grants pay of the total' },
}

/** What is due more or less, and what it comes from: the largest effect first. They add up to the difference. */
export function Differences(props: DifferencesProps) {
  const { preview, names, difference } = props
  const places = names.places(preview.currency) ?? null
  const money = (value: string | null) =>
    value === null ? 'none' : <Money value={value} currency={preview.currency} places={places} />
  const columns: Column<Row | undefined>[] = [
    { heading: 'What changed', cell: (row) => <Changed row={row} {...props} /> },
    { heading: 'Then', isNumber: true, cell: (row) => money((row ?? due).amount.then) },
    { heading: 'Now', isNumber: true, cell: (row) => money((row ?? due).amount.now) },
    {
      heading: 'Due by it',
      isNumber: true,
      cell: (row) => <Change value={(row ?? due).effect} places={places} />,
    },
    { heading: 'Because of', cell: (row) => row !== undefined && <Because row={row} {...props} /> },
  ]
  const due = { amount: difference.amount_due, effect: difference.amount_due.difference }
  const effects = effectsOf(difference)
  const same = difference.lines.length - effects.filter(({ kind }) => kind === 'line').length
  return (
    <section>
      <h3 className="preview__heading">
        <HowMuch change={difference.amount_due.difference} {...props} />
        <Instant at={difference.since} />
      </h3>
      {effects.length > 0 && (
        <DataTable
          caption="What changed, the largest effect first"
          columns={columns}
          rows={[...effects, undefined]}
          keyOf={(row) => (row === undefined ? 'due' : row.line === null ? row.kind : keyOf(row.line))}
        />
      )}
      {same > 0 && (
        <p className="soft">{same === 1 ? 'One line has' : `${same} lines have`} the same amount as then.</p>
      )}
    </section>
  )
}

/** The answer in words: how much more or less is due than then. */
function HowMuch({ change, preview, names }: DifferencesProps & { change: string }) {
  if (isZero(change)) return 'Due is the same as at '
  const size = isNegative(change) ? change.slice(1) : change
  return (
    <>
      Due is{' '}
      <Money value={size} currency={preview.currency} places={names.places(preview.currency) ?? null} />{' '}
      {isNegative(change) ? 'lower' : 'higher'} than at{' '}
    </>
  )
}

function Changed({ row, ...props }: DifferencesProps & { row: Row | undefined }) {
  if (row === undefined) return <strong>Due</strong>
  if (row.line !== null) return <ChangedLine line={row.line} {...props} />
  return row.kind === 'line' ? null : KINDS[row.kind].name
}

/** What is behind the change of a part: the events that came, or what the part is. */
function Because({ row: { kind, line }, difference }: DifferencesProps & { row: Row }) {
  if (line === null) return kind === 'line' ? null : <span className="soft">{KINDS[kind].cause}</span>
  const key = keyOf(line)
  const { events, since, has_more: hasMore } = difference
  const causes = causesOf(
    events,
    since,
    ({ lines }) => lines.some((one) => keyOf(one) === key),
    line.quantity.difference,
  )
  return (
    <>
      {causes.map(({ kind: of, count, quantity }) => (
        <div key={of}>
          {count} {of} {count === 1 ? 'event' : 'events'}
          {quantity !== undefined && (
            <>
              : <Change value={quantity} />
            </>
          )}
        </div>
      ))}
      {hasMore && <div className="soft">and events beyond the first {events.length}</div>}
    </>
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
                  <Chip>{changeOf(event, difference.since)}</Chip>
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
