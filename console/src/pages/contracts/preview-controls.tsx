import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import { useIsClockMoved, useNow } from '../../app/now.ts'
import { useUrlQuery } from '../../app/url.ts'
import { besidePeriod, instantParameter, periodText } from '../../format/period.ts'
import { instantText, parseInstant } from '../../format/time.ts'
import { Field } from '../../parts/form.tsx'
import type { Asked } from './asked.ts'
import { endOf } from './contract-end.ts'

interface PeriodStepsProps {
  contract: Schema<'Contract'>
  preview: Schema<'InvoicePreview'>
}

/** Goes to the period before and to the one after, as far as the contract has them. */
export function PeriodSteps({ contract, preview: { period } }: PeriodStepsProps) {
  const [, change] = useUrlQuery()
  const { full_start_at: startAt, full_end_at: endAt } = period
  const { before, after } = besidePeriod(startAt, endAt)
  const end = endOf(contract) ?? Infinity
  const go = (at: number) => () => change({ at: instantParameter(at) })
  return (
    <>
      <button
        type="button"
        className="button"
        disabled={startAt <= contract.starts_at}
        onClick={go(Math.max(startAt - 1, contract.starts_at))}
      >
        ‹ {before}
      </button>
      <strong>{periodText(startAt, endAt)}</strong>
      <button type="button" className="button" disabled={endAt >= end} onClick={go(endAt)}>
        {after} ›
      </button>
    </>
  )
}

/** Leads from a time that the contract does not have to the period that it is in. */
export function ToCurrentPeriod() {
  const [, change] = useUrlQuery()
  return (
    <button
      type="button"
      className="button"
      onClick={() => change({ at: undefined, as_of: undefined, known_at: undefined, since: undefined })}
    >
      Current period
    </button>
  )
}

/** The texts of the fields, in UTC. */
interface Typed {
  asOf: string
  knownAt: string
  since: string
}

const textOf = (at: number | undefined): string => (at === undefined ? '' : instantText(at, 'utc'))

const faultOf = (text: string): string | undefined =>
  text.trim() === '' || parseInstant(text) !== undefined ? undefined : 'write it as 2026-02-08 00:00:00'

const parameterOf = (text: string): string | undefined => {
  const at = parseInstant(text)
  return at === undefined ? undefined : instantParameter(at)
}

interface TimesProps {
  asked: Asked
  shown: Schema<'InvoicePreview'> | undefined
}

/** Asks for the preview as of other times. It says beforehand what takes long. */
export function Times({ asked, shown }: TimesProps) {
  const [, change] = useUrlQuery()
  const now = useNow()
  const isMoved = useIsClockMoved()
  const [typed, setTyped] = useState<Typed>({
    asOf: textOf(asked.asOf),
    knownAt: textOf(asked.knownAt),
    since: textOf(asked.since),
  })
  const hasFault = Object.values(typed).some((text: string) => faultOf(text) !== undefined)
  const show = () => {
    const isSlow = typed.knownAt.trim() !== '' || typed.since.trim() !== ''
    const at = asked.at ?? (isSlow ? shown?.period.start_at : undefined)
    change({
      at: at === undefined ? undefined : instantParameter(at),
      // Times of acceptance are real. Without this, usage would end in the present of another clock.
      as_of:
        parameterOf(typed.asOf) ??
        (isMoved && typed.knownAt.trim() !== '' ? instantParameter(now) : undefined),
      known_at: parameterOf(typed.knownAt),
      since: parameterOf(typed.since),
    })
  }
  return (
    <details className="times" open={asked.asOf !== undefined || asked.knownAt !== undefined}>
      <summary>As of another time, as it was known, or compared</summary>
      <form
        className="times__form"
        onSubmit={(event) => {
          event.preventDefault()
          if (!hasFault) show()
        }}
      >
        <TimeFields typed={typed} onChange={(changes) => setTyped({ ...typed, ...changes })} />
        <p className="times__bar">
          <button type="submit" className="button" disabled={hasFault}>
            Show
          </button>
          <span className="soft">
            The second and the third read each event of the account. That may take some seconds, and can be
            stopped.
          </span>
        </p>
      </form>
    </details>
  )
}

function TimeFields({ typed, onChange }: { typed: Typed; onChange: (changes: Partial<Typed>) => void }) {
  return (
    <>
      <Field
        label="As of, UTC"
        name="as_of"
        value={typed.asOf}
        onChange={(asOf) => onChange({ asOf })}
        fault={faultOf(typed.asOf)}
        hint="Leaves out what happened from then on. Empty: now."
      />
      <Field
        label="Known at, UTC"
        name="known_at"
        value={typed.knownAt}
        onChange={(knownAt) => onChange({ knownAt })}
        fault={faultOf(typed.knownAt)}
        hint="Leaves out what was reported or corrected from then on."
      />
      <Field
        label="Compare with, UTC"
        name="difference_since"
        value={typed.since}
        onChange={(since) => onChange({ since })}
        fault={faultOf(typed.since)}
        hint="Shows what came since the preview of then."
      />
    </>
  )
}
