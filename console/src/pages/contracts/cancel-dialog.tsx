import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { CONTRACT_CHANGES } from '../../api/queries/contracts.ts'
import { previewReading } from '../../api/queries/previews.ts'
import { useRead } from '../../api/use-read.ts'
import { useWrite } from '../../api/use-write.ts'
import { useNow } from '../../app/now.ts'
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
const [REASON_MAX, WORD] = [2_048, 'cancel']
/** The preview of a cancellation that begins now has to name a second that is still to come when it is read. */
const AHEAD_S = 30

/** Cancels a contract in two steps: what would be due is seen first. */
export function CancelDialog({ contract, onClose }: { contract: Contract; onClose: () => void }) {
  const now = useNow()
  const [openedAt] = useState(now)
  const [mode, setMode] = useState<Mode>('period_end')
  const [at, setAt] = useState('')
  const [reason, setReason] = useState('')
  const [isSeen, setSeen] = useState(false)
  const [word, setWord] = useState('')
  const write = useWrite<Contract>(CONTRACT_CHANGES, onClose)
  const cancelAt = parseInstant(at)
  const isTimed = mode !== 'at' || cancelAt !== undefined
  const body: Schema<'ContractCancellation'> = {
    mode,
    ...(mode === 'at' && cancelAt !== undefined ? { cancel_at: cancelAt } : {}),
    ...(reason === '' ? {} : { reason }),
  }
  const again =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value)
      setSeen(false)
    }
  return (
    <FormDialog
      heading="Cancel the contract"
      write={write}
      request={
        isSeen && isTimed && word.trim() === WORD
          ? { method: 'POST', target: `/v2/contracts/${contract.id}/cancel`, body }
          : undefined
      }
      names={NAMES}
      submit="Cancel the contract"
      isDangerous
      isTouched={reason !== '' || at !== ''}
      onClose={onClose}
    >
      <When
        mode={mode}
        onMode={again(setMode)}
        at={at}
        onAt={again(setAt)}
        openedAt={openedAt}
        error={write.error}
      />
      <Field
        label="Reason"
        name="reason"
        value={reason}
        onChange={setReason}
        error={write.error}
        maxLength={REASON_MAX}
      />
      {isSeen && isTimed ? (
        <>
          <Effect contract={contract} mode={mode} cancelAt={cancelAt} now={now} />
          <Field label={`Type ${WORD} to go on`} name="word" value={word} onChange={setWord} isRequired />
        </>
      ) : (
        <p>
          <button type="button" className="button" disabled={!isTimed} onClick={() => setSeen(true)}>
            See what would be due
          </button>
        </p>
      )}
    </FormDialog>
  )
}

interface WhenProps {
  mode: Mode
  onMode: (mode: Mode) => void
  at: string
  onAt: (at: string) => void
  openedAt: number
  error: Error | null
}

function When({ mode, onMode, at, onAt, openedAt, error }: WhenProps) {
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

interface EffectProps {
  contract: Contract
  mode: Mode
  cancelAt: number | undefined
  now: number
}

/** The invoice of the period as it stands, and as it would be. */
function Effect({ contract, mode, cancelAt, now }: EffectProps) {
  const client = useClient()
  const names = useNames(client)
  const { id } = contract
  const [seenAt] = useState(now)
  const plain = useRead(previewReading(client, { contract_id: id }))
  const endsAt =
    mode === 'at'
      ? cancelAt
      : mode === 'immediate'
        ? seenAt + AHEAD_S
        : endOfPeriod(plain.data, contract.ends_at)
  const tried = useRead(previewReading(client, { contract_id: id, cancel_at: endsAt ?? seenAt }), {
    isEnabled: endsAt !== undefined,
  })
  const failed = [plain, tried].find(({ error }) => error !== null)
  if (failed !== undefined && failed.error !== null)
    return <Problem error={failed.error} onAgain={failed.again} />
  const [before, after] = [plain.data, tried.data]
  if (before === undefined || after === undefined || endsAt === undefined)
    return <p role="status">Reading…</p>
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
        The contract ends at {instantText(endsAt, 'utc')} UTC{mode === 'immediate' && ' in this preview'}.
        Usage before that is due. Until then the cancellation can be taken back.
      </p>
    </>
  )
}

const spanOf = ({ period: { start_at: from, end_at: to } }: Schema<'InvoicePreview'>): string =>
  periodText(from, to)

/** The end of the period that is shown, or of the contract. */
const endOfPeriod = (
  preview: Schema<'InvoicePreview'> | undefined,
  contractEndsAt: number | null,
): number | undefined =>
  preview === undefined ? undefined : Math.min(preview.period.full_end_at, contractEndsAt ?? Infinity)
