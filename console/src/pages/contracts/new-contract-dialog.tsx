import { useState } from 'react'
import { useLocation } from 'wouter'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { priceListing, productListing, rateCardListing } from '../../api/queries/catalogue.ts'
import { CONTRACT_CHANGES } from '../../api/queries/contracts.ts'
import { metricListing } from '../../api/queries/sources.ts'
import { useReadAll } from '../../api/use-read.ts'
import { useWrite } from '../../api/use-write.ts'
import { expectArrival } from '../../app/arrivals.ts'
import { useNow } from '../../app/now.ts'
import { pathOf } from '../../app/routes.ts'
import { parseInstant, startOfMonth, utcDay } from '../../format/time.ts'
import { visibleText } from '../../format/visible-text.ts'
import { AccountPicker } from '../../parts/account-picker.tsx'
import { Select } from '../../parts/choice.tsx'
import { Field, FormDialog } from '../../parts/form.tsx'
import { type Catalogue, LineFields } from './line-fields.tsx'
import { lineBody, newLine, type TypedLine } from './new-line.ts'

type Cadence = Schema<'ContractCadence'>

const CADENCES: readonly { value: Cadence; label: string }[] = [
  { value: 'day', label: 'a day' },
  { value: 'week', label: 'a week' },
  { value: 'month', label: 'a month' },
  { value: 'quarter', label: 'a quarter' },
  { value: 'half_year', label: 'half a year' },
  { value: 'year', label: 'a year' },
]

const NAMES = ['account_id', 'currency', 'starts_at', 'name', 'external_id']
const NAME_MAX = 256

/** What is typed, without the lines. */
interface Typed {
  accountId: string
  currency: string
  cadence: Cadence
  starts: string
  name: string
  externalId: string
}

function bodyOf(typed: Typed, lines: readonly TypedLine[]): Schema<'NewContract'> | undefined {
  const { accountId, cadence, starts, name, externalId } = typed
  const currency = typed.currency.trim()
  const startsAt = parseInstant(starts)
  const bodies = lines.map((line) => lineBody(line, currency))
  const whole = bodies.filter((body) => body !== undefined)
  if (accountId === '' || currency === '' || whole.length < bodies.length) return undefined
  if (starts !== '' && startsAt === undefined) return undefined
  return {
    account_id: accountId,
    currency,
    cadence,
    ...(startsAt === undefined ? {} : { starts_at: startsAt }),
    ...(name.trim() === '' ? {} : { name: name.trim() }),
    ...(externalId === '' ? {} : { external_id: externalId }),
    lines: whole,
  }
}

function useCatalogue(): Catalogue {
  const client = useClient()
  const products = useReadAll(productListing(client)).data ?? []
  const metrics = useReadAll(metricListing(client)).data ?? []
  return {
    cards: useReadAll(rateCardListing(client)).data ?? [],
    prices: useReadAll(priceListing(client)).data ?? [],
    productName: (id) => products.find((product) => product.id === id)?.name ?? id,
    metrics: metrics
      .filter(({ archived_at: at }) => at === null)
      .map(({ id, name }) => ({ id, label: visibleText(name) })),
  }
}

interface NewContractDialogProps {
  /** The account of the page; undefined where none is chosen. */
  accountId: string | undefined
  onClose: () => void
}

/** Makes a contract with its lines, and goes to its page. */
export function NewContractDialog({ accountId = '', onClose }: NewContractDialogProps) {
  const [typed, setTyped] = useState<Typed>({
    accountId,
    currency: '',
    cadence: 'month',
    starts: '',
    name: '',
    externalId: '',
  })
  const [lines, setLines] = useState<readonly TypedLine[]>([newLine(1)])
  const [untouched] = useState(() => JSON.stringify([typed, lines]))
  const [, navigate] = useLocation()
  const write = useWrite<Schema<'Contract'>>(CONTRACT_CHANGES, ({ answer }) => {
    onClose()
    if (answer === undefined) return
    expectArrival()
    navigate(pathOf('contract', { contractId: answer.id }))
  })
  const body = bodyOf(typed, lines)
  return (
    <FormDialog
      heading="New contract"
      write={write}
      request={body === undefined ? undefined : { method: 'POST', target: '/v2/contracts', body }}
      names={NAMES}
      submit="Make the contract"
      isTouched={JSON.stringify([typed, lines]) !== untouched}
      onClose={onClose}
    >
      <AccountPicker
        accountId={typed.accountId}
        onChoose={(chosen) => setTyped({ ...typed, accountId: chosen })}
        error={write.error}
      />
      <Terms typed={typed} onChange={setTyped} error={write.error} />
      <Lines lines={lines} onChange={setLines} currency={typed.currency.trim()} />
    </FormDialog>
  )
}

interface TermsProps {
  typed: Typed
  onChange: (typed: Typed) => void
  error: Error | null
}

function Terms({ typed, onChange, error }: TermsProps) {
  const now = useNow()
  const set = (changes: Partial<Typed>) => onChange({ ...typed, ...changes })
  const isCadence = (text: string): text is Cadence => CADENCES.some(({ value }) => value === text)
  return (
    <>
      <Field
        label="Currency"
        name="currency"
        value={typed.currency}
        onChange={(currency) => set({ currency: currency.toLowerCase() })}
        error={error}
        hint="Its code of three letters, such as usd."
        isRequired
        maxLength={3}
      />
      <Select
        label="A period is"
        options={CADENCES}
        value={typed.cadence}
        onChange={(cadence) => isCadence(cadence) && set({ cadence })}
      />
      <Field
        label="Starts at, UTC"
        name="starts_at"
        value={typed.starts}
        onChange={(starts) => set({ starts })}
        fault={
          typed.starts === '' || parseInstant(typed.starts) !== undefined
            ? undefined
            : 'write it as 2026-11-28 or 2026-11-28 09:30'
        }
        error={error}
        hint={
          <>
            Periods are counted from it, and earlier usage costs nothing. Empty: now.{' '}
            <button
              type="button"
              className="as-link"
              onClick={() => set({ starts: utcDay(startOfMonth(now)) })}
            >
              The first of this month
            </button>
          </>
        }
      />
      <Field
        label="Name"
        name="name"
        value={typed.name}
        onChange={(name) => set({ name })}
        error={error}
        maxLength={NAME_MAX}
      />
      <Field
        label="External id"
        name="external_id"
        value={typed.externalId}
        onChange={(externalId) => set({ externalId })}
        error={error}
        hint="Your own id of it. No two contracts have the same."
        isMono
        maxLength={NAME_MAX}
      />
    </>
  )
}

interface LinesProps {
  lines: readonly TypedLine[]
  onChange: (lines: readonly TypedLine[]) => void
  currency: string
}

function Lines({ lines, onChange, currency }: LinesProps) {
  const catalogue = useCatalogue()
  const next = lines.reduce((most, { key }) => Math.max(most, key), 0) + 1
  return (
    <>
      {lines.map((line, index) => (
        <LineFields
          key={line.key}
          number={index + 1}
          line={line}
          currency={currency}
          catalogue={catalogue}
          onChange={(changed) => onChange(lines.map((one) => (one.key === changed.key ? changed : one)))}
          onRemove={() => onChange(lines.filter(({ key }) => key !== line.key))}
        />
      ))}
      <p>
        <button type="button" className="button" onClick={() => onChange([...lines, newLine(next)])}>
          Add a line
        </button>
      </p>
    </>
  )
}
