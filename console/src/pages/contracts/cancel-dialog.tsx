import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { CONTRACT_CHANGES } from '../../api/queries/contracts.ts'
import { previewReading } from '../../api/queries/previews.ts'
import { type Read, useRead } from '../../api/use-read.ts'
import { useWrite } from '../../api/use-write.ts'
import { useNow } from '../../app/now.ts'
import type { ApiRequest } from '../../format/curl.ts'
import { periodText } from '../../format/period.ts'
import { instantText, parseInstant } from '../../format/time.ts'
import { Choice } from '../../parts/choice.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Money } from '../../parts/decimal.tsx'
import { Field, FormDialog } from '../../parts/form.tsx'
import { Problem } from '../../parts/problem.tsx'
import { useNames } from './names.ts'

type Contract = Schema<'Contract'>
type Mode = Schema<'CancellationMode'>

const MODES = [
  { value: 'period_end', label: 'At the end of the period' },
  { value: 'immediate', label: 'Now' },
  { value: 'at', label: 'At a time' },
] as const

const NAMES = ['cancel_at', 'reason']
/** Without a field for the time, an error about it is said below the form. */
const NAMES_UNTIMED = ['reason']

/** How far a person is with what is chosen. */
interface Step {
  /** When the effect was asked for. */
  seenAt: number | undefined
  /** What was typed to go on. It counts only for the end that it was typed for. */
  word: { text: string; endsAt: number | undefined } | undefined
  /** Whether it was sent. It can then be sent again, also when the preview cannot be read again. */
  isSent: boolean
}

const FIRST_STEP: Step = { seenAt: undefined, word: undefined, isSent: false }
const [REASON_MAX, WORD] = [2_048, 'cancel']
/** The preview of a cancellation that begins now has to name a second that is still to come when it is read. */
const AHEAD_S = 30

/** Cancels a contract in two steps: what would be due is seen first, and what is sent is what was seen. */
export function CancelDialog({ contract, onClose }: { contract: Contract; onClose: () => void }) {
  const now = useNow()
  const [mode, setMode] = useState<Mode>('period_end')
  const [at, setAt] = useState('')
  const [reason, setReason] = useState('')
  const [step, setStep] = useState(FIRST_STEP)
  const { seenAt, word, isSent } = step
  const write = useWrite<Contract>(CONTRACT_CHANGES, onClose)
  const cancelAt = parseInstant(at)
  const isTimed = mode !== 'at' || cancelAt !== undefined
  const effect = useEffectOf({ contract, mode, cancelAt, seenAt: isTimed ? seenAt : undefined })
  const typed = word !== undefined && word.endsAt === effect.endsAt ? word.text : ''
  const isSure = typed.trim() === WORD && (effect.isRead || isSent)
  const again =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value)
      setStep(FIRST_STEP)
    }
  return (
    <FormDialog
      heading="Cancel the contract"
      write={{
        ...write,
        send: (request) => {
          setStep({ ...step, isSent: true })
          write.send(request)
        },
      }}
      request={isSure ? requestOf(contract, mode, effect.endsAt, reason) : undefined}
      names={mode === 'at' ? NAMES : NAMES_UNTIMED}
      submit="Cancel the contract"
      isDangerous
      isTouched={reason !== '' || at !== ''}
      onClose={onClose}
    >
      <When mode={mode} onMode={again(setMode)} at={at} onAt={again(setAt)} error={write.error} />
      <Field
        label="Reason"
        name="reason"
        value={reason}
        onChange={setReason}
        error={write.error}
        maxLength={REASON_MAX}
      />
      {seenAt !== undefined && isTimed ? (
        <>
          <Effect effect={effect} mode={mode} />
          <Field
            label={`Type ${WORD} to go on`}
            name="word"
            value={typed}
            onChange={(text) => setStep({ ...step, word: { text, endsAt: effect.endsAt } })}
            isRequired
          />
        </>
      ) : (
        <ToSee isPossible={isTimed} onSee={() => setStep({ ...FIRST_STEP, seenAt: now })} />
      )}
    </FormDialog>
  )
}

function ToSee({ isPossible, onSee }: { isPossible: boolean; onSee: () => void }) {
  return (
    <p>
      <button type="button" className="button" disabled={!isPossible} onClick={onSee}>
        See what would be due
      </button>
    </p>
  )
}

/** The end of a period is sent as the instant that was shown: by now, another period may have begun. */
function requestOf(
  { id }: Contract,
  mode: Mode,
  endsAt: number | undefined,
  reason: string,
): ApiRequest | undefined {
  if (endsAt === undefined) return undefined
  const body: Schema<'ContractCancellation'> = {
    ...(mode === 'immediate' ? { mode } : { mode: 'at', cancel_at: endsAt }),
    ...(reason === '' ? {} : { reason }),
  }
  return { method: 'POST', target: `/v2/contracts/${id}/cancel`, body }
}

interface WhenProps {
  mode: Mode
  onMode: (mode: Mode) => void
  at: string
  onAt: (at: string) => void
  error: Error | null
}

function When({ mode, onMode, at, onAt, error }: WhenProps) {
  const now = useNow()
  const [openedAt] = useState(now)
  const isTime = at === '' || parseInstant(at) !== undefined
  return (
    <>
      <Choice label="When it ends" options={MODES} value={mode} onChange={onMode} />
      {mode === 'at' && (
        <Field
          label="It ends at, UTC"
          name="cancel_at"
          value={at}
          onChange={onAt}
          fault={isTime ? undefined : 'write it as 2026-11-28 or 2026-11-28 09:30'}
          error={error}
          hint={`As ${instantText(openedAt, 'utc')}. Not in the past.`}
          isRequired
        />
      )}
    </>
  )
}

interface EffectQuestion {
  contract: Contract
  mode: Mode
  cancelAt: number | undefined
  /** When it was asked for; undefined reads nothing. */
  seenAt: number | undefined
}

/** What a cancellation does. */
interface CancelEffect {
  /** When the contract ends; undefined until it is known. Of the mode `immediate` it is the second of the preview. */
  endsAt: number | undefined
  /** Whether the contract ends before it begins, so that nothing is ever due. */
  isNeverBegun: boolean
  plain: Read<Schema<'InvoicePreview'>>
  tried: Read<Schema<'InvoicePreview'>>
  /** Whether all that is shown was read, and is not being read again. */
  isRead: boolean
}

function useEffectOf({ contract, mode, cancelAt, seenAt }: EffectQuestion): CancelEffect {
  const client = useClient()
  const { id, ends_at: contractEndsAt, starts_at: startsAt } = contract
  const isAsked = seenAt !== undefined
  const plain = useRead(previewReading(client, { contract_id: id }), { isEnabled: isAsked })
  const ends = {
    at: cancelAt,
    immediate: isAsked ? Math.min(seenAt + AHEAD_S, contractEndsAt ?? Infinity) : undefined,
    period_end: endOfPeriod(plain.data, contractEndsAt),
  }
  const endsAt = isAsked ? ends[mode] : undefined
  const isNeverBegun = isAsked && endsAt !== undefined && seenAt <= endsAt && endsAt <= startsAt
  const trial = previewReading(client, { contract_id: id, cancel_at: endsAt ?? 0 })
  // The second of an end that is now is soon past, and then refused.
  const tried = useRead(mode === 'immediate' ? { ...trial, staleMs: Infinity } : trial, {
    isEnabled: endsAt !== undefined && !isNeverBegun,
  })
  const isThere = ({ data, error, isFetching }: Read<unknown>): boolean =>
    data !== undefined && error === null && !isFetching
  const isRead = endsAt !== undefined && isThere(plain) && (isNeverBegun || isThere(tried))
  return { endsAt, isNeverBegun, plain, tried, isRead }
}

/** The invoice of the period as it stands, and as it would be. */
function Effect({ effect, mode }: { effect: CancelEffect; mode: Mode }) {
  const names = useNames(useClient())
  const { endsAt, isNeverBegun, plain, tried } = effect
  const failed = [plain, ...(isNeverBegun ? [] : [tried])].find(({ error }) => error !== null)
  if (failed !== undefined && failed.error !== null)
    return <Problem error={failed.error} onAgain={failed.again} />
  const [before, after] = [plain.data, tried.data]
  if (endsAt === undefined || before === undefined) return <p role="status">Reading…</p>
  if (isNeverBegun)
    return (
      <p>
        The contract never begins, so nothing is due. <Ending endsAt={endsAt} mode={mode} />
      </p>
    )
  if (after === undefined) return <p role="status">Reading…</p>
  const money = (value: string, { currency }: Schema<'InvoicePreview'>) => (
    <Money value={value} currency={currency} places={names.places(currency) ?? null} />
  )
  return (
    <>
      <DataTable
        caption="The period as it stands, and with the cancellation"
        columns={[
          { heading: 'The period', cell: ({ name }) => name },
          { heading: 'Total', isNumber: true, cell: ({ preview }) => money(preview.total, preview) },
          { heading: 'Due', isNumber: true, cell: ({ preview }) => money(preview.amount_due, preview) },
        ]}
        rows={[
          { name: `As it stands, ${spanOf(before)}`, preview: before },
          { name: `With the cancellation, ${spanOf(after)}`, preview: after },
        ]}
        keyOf={({ name }) => name}
      />
      <p>
        <Ending endsAt={endsAt} mode={mode} /> Usage before its end is due.
      </p>
    </>
  )
}

/** Says when the contract ends, and whether that can be taken back. */
function Ending({ endsAt, mode }: { endsAt: number; mode: Mode }) {
  const end = `${instantText(endsAt, 'utc')} UTC`
  if (mode === 'immediate')
    return (
      <>
        <strong>The contract ends at once, for good: this cannot be taken back.</strong> The preview is for an
        end at {end}.
      </>
    )
  return <>The contract ends at {end}. Until then the cancellation can be taken back.</>
}

const spanOf = ({ period: { start_at: from, end_at: to } }: Schema<'InvoicePreview'>): string =>
  periodText(from, to)

/** The end of the period that is shown, or of the contract. */
const endOfPeriod = (
  preview: Schema<'InvoicePreview'> | undefined,
  contractEndsAt: number | null,
): number | undefined =>
  preview === undefined ? undefined : Math.min(preview.period.full_end_at, contractEndsAt ?? Infinity)
