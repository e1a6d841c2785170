import { useState } from 'react'
import { useLocation } from 'wouter'
import type { Write } from '../../api/use-write.ts'
import { expectArrival } from '../../app/arrivals.ts'
import { useNow } from '../../app/now.ts'
import { pathOf } from '../../app/routes.ts'
import { instantText, monthsOf, parseInstant } from '../../format/time.ts'
import { Field, FormDialog } from '../../parts/form.tsx'
import { Name } from '../../parts/text.tsx'
import { type CardChange, changeText } from './card-change.ts'
import { draftOf, newRatesOf } from './rate-draft.ts'
import { RateFields } from './rate-fields.tsx'
import { type Known, rateWords } from './rates.tsx'

interface ChangeDialogProps extends Known {
  /** The change that is there already. */
  start: CardChange
  onClose: () => void
}

/** Makes a change of a card, and tries it on past usage. Nothing is sent to the card yet. */
export function ChangeDialog({ start, onClose, ...known }: ChangeDialogProps) {
  const { card } = known
  const now = useNow()
  const [, navigate] = useLocation()
  const [from, setFrom] = useState(start.effective_at == null ? '' : instantText(start.effective_at, 'utc'))
  const [ended, setEnded] = useState<readonly string[]>(start.end ?? [])
  const [added, setAdded] = useState((start.add ?? []).map(draftOf))
  const made = newRatesOf(added)
  const at = from.trim() === '' ? undefined : parseInstant(from)
  const fault =
    from.trim() === '' || at !== undefined ? undefined : 'write it as 2026-11-28 or 2026-11-28 09:30'
  const isReady = made !== undefined && fault === undefined && ended.length + made.length > 0
  const change: CardChange = {
    ...(at === undefined ? {} : { effective_at: at }),
    ...(ended.length === 0 ? {} : { end: ended }),
    ...(made === undefined || made.length === 0 ? {} : { add: made }),
  }
  const write: Write<never> = {
    prepare: (request) => request,
    send: () => {
      expectArrival()
      const days = monthsOf(now).before
      const query = { ...days, changes: changeText(change), run: now.toString() }
      navigate(pathOf('simulate', { rateCardId: card.id }, query))
    },
    isSending: false,
    error: null,
    outcome: undefined,
  }
  return (
    <FormDialog
      heading="Try a change"
      write={write}
      request={
        isReady ? { method: 'POST', target: `/v2/rate-cards/${card.id}/changes`, body: change } : undefined
      }
      names={[]}
      submit="Try it on last month"
      isTouched={ended.length + added.length > 0 || from !== ''}
      onClose={onClose}
    >
      <p>
        Choose the rates that end, and those that begin. The change is first tried on the usage of last month.
        You apply it there. The command below applies it at once.
      </p>
      <EndedRates known={known} ended={ended} onChange={setEnded} />
      <RateFields
        legend="Rates that begin"
        rates={added}
        onChange={setAdded}
        currency={card.currency}
        catalogue={known.catalogue}
        sources={known.sources}
      />
      <Field
        label="In force from, UTC"
        name="effective_at"
        value={from}
        onChange={setFrom}
        fault={fault}
        hint="Empty: from the second in which it is applied."
      />
    </FormDialog>
  )
}

interface EndedRatesProps {
  known: Known
  ended: readonly string[]
  onChange: (ended: string[]) => void
}

function EndedRates({ known, ended, onChange }: EndedRatesProps) {
  // What a change of an address ends is shown also if it cannot end.
  const [start] = useState(ended)
  const open = known.card.rates.filter(({ id, ends_at: end }) => end === undefined || start.includes(id))
  const unknown = start.filter((id) => open.every((rate) => rate.id !== id))
  const choices = [
    ...open.map((rate) => ({ id: rate.id, words: rateWords(rate, known) })),
    ...unknown.map((id) => ({ id, words: id })),
  ]
  if (choices.length === 0) return <p className="soft">No rate is open, so none can end.</p>
  return (
    <fieldset className="rows">
      <legend className="field__label">Rates that end</legend>
      {choices.map(({ id, words }) => (
        <label key={id} className="rows__check">
          <input
            type="checkbox"
            checked={ended.includes(id)}
            onChange={({ target }) =>
              onChange(target.checked ? [...ended, id] : ended.filter((other) => other !== id))
            }
          />
          <Name>{words}</Name>
        </label>
      ))}
    </fieldset>
  )
}
