import './range-picker.css'
import { useState } from 'react'
import type { RouteQuery } from '../app/routes.ts'
import { useUrlQuery } from '../app/url.ts'
import { type DayRange, lastDays, monthsOf, secondsOf } from '../format/time.ts'
import { Choice } from './choice.tsx'

/** The range of days of a page, from its address. */
export interface PickedRange extends DayRange {
  /** The half-open range of the API; undefined when the address has no range. */
  seconds: { startAt: number; endAt: number } | undefined
  /** What is wrong with the range in the address. */
  fault: string | undefined
}

const DAYS = 30

/**
 * Reads the range from the address.
 *
 * @param now the company's time, from which presets count
 * @param standard the range where the address has none; 30 days up to today unless given
 */
export function useRange(now: number, standard: DayRange = lastDays(now, DAYS)): PickedRange {
  const [{ from, to }] = useUrlQuery()
  const range = { from: from ?? standard.from, to: to ?? standard.to }
  const seconds = secondsOf(range)
  return typeof seconds === 'string'
    ? { ...range, seconds: undefined, fault: seconds }
    : { ...range, seconds, fault: undefined }
}

type Preset = '7' | '30' | 'month' | 'before'

const presetsOf = (now: number): Record<Preset, DayRange> => {
  const { current, before } = monthsOf(now)
  return { '7': lastDays(now, 7), '30': lastDays(now, DAYS), month: current, before }
}

const LABELS = [
  { value: '7', label: '7 d' },
  { value: '30', label: '30 d' },
  { value: 'month', label: 'Month' },
  { value: 'before', label: 'Last month' },
] as const

interface RangePickerProps {
  now: number
  range: PickedRange
  /** What else of the address changes with the days. */
  also?: RouteQuery
}

/** Chooses whole UTC days, and writes them into the address. */
export function RangePicker({ now, range, also }: RangePickerProps) {
  const [, change] = useUrlQuery()
  const presets = presetsOf(now)
  const chosen = LABELS.find(
    ({ value }) => presets[value].from === range.from && presets[value].to === range.to,
  )
  return (
    <div className="range">
      <Choice
        label="Range"
        options={LABELS}
        value={chosen?.value}
        onChange={(preset) => change({ ...presets[preset], ...also })}
      />
      <Days
        key={`${range.from} ${range.to}`}
        range={range}
        onChange={(days) => change({ ...days, ...also })}
      />
    </div>
  )
}

function Days({ range, onChange }: { range: PickedRange; onChange: (range: DayRange) => void }) {
  const [from, setFrom] = useState(range.from)
  const [to, setTo] = useState(range.to)
  const typed = { from: from.trim(), to: to.trim() }
  const isChanged = typed.from !== range.from || typed.to !== range.to
  const said = isChanged ? secondsOf(typed) : range.fault
  const fault = typeof said === 'string' ? said : undefined
  return (
    <form
      className="range__days"
      onSubmit={(event) => {
        event.preventDefault()
        if (isChanged && fault === undefined) onChange(typed)
      }}
    >
      <DayField label="First day, UTC" value={from} onChange={setFrom} />
      <span aria-hidden="true">–</span>
      <DayField label="Last day, UTC" value={to} onChange={setTo} />
      {isChanged && (
        <button type="submit" className="button" disabled={fault !== undefined}>
          Show
        </button>
      )}
      {fault !== undefined && (
        <span className="range__fault" role="alert">
          {fault}
        </span>
      )}
    </form>
  )
}

function DayField({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange: (value: string) => void
}) {
  return (
    <input
      className="input range__day"
      aria-label={label}
      value={value}
      maxLength={10}
      placeholder="yyyy-mm-dd"
      inputMode="numeric"
      autoComplete="off"
      onChange={({ target }) => onChange(target.value)}
    />
  )
}
