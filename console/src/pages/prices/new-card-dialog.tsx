import { useState } from 'react'
import { useLocation } from 'wouter'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { CARD_CHANGES } from '../../api/queries/prices.ts'
import { useWrite } from '../../api/use-write.ts'
import { expectArrival } from '../../app/arrivals.ts'
import { pathOf } from '../../app/routes.ts'
import { Field, FormDialog } from '../../parts/form.tsx'
import { useSources } from '../../parts/sources.ts'
import { useCatalogue } from './catalogue.ts'
import { newRatesOf, type RateDraft } from './rate-draft.ts'
import { RateFields } from './rate-fields.tsx'

const NAMES = ['name', 'currency', 'external_id']
const NAME_MAX = 256

/** Makes a rate card, and goes to its page. */
export function NewCardDialog({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const [currency, setCurrency] = useState('')
  const [externalId, setExternalId] = useState('')
  const [rates, setRates] = useState<readonly RateDraft[]>([])
  const write = useWrite<Schema<'RateCard'>>(CARD_CHANGES, ({ answer }) => {
    onClose()
    if (answer === undefined) return
    expectArrival()
    navigate(pathOf('rate-card', { rateCardId: answer.id }))
  })
  const made = newRatesOf(rates)
  const isReady = name.trim() !== '' && currency.trim() !== '' && made !== undefined
  const body = {
    name: name.trim(),
    currency: currency.trim(),
    ...(externalId === '' ? {} : { external_id: externalId }),
    rates: made ?? [],
  }
  return (
    <FormDialog
      heading="New rate card"
      write={write}
      request={isReady ? { method: 'POST', target: '/v2/rate-cards', body } : undefined}
      names={NAMES}
      submit="Make the rate card"
      isTouched={name !== '' || currency !== '' || externalId !== '' || rates.length > 0}
      onClose={onClose}
    >
      <Field
        label="Name"
        name="name"
        value={name}
        onChange={setName}
        error={write.error}
        isRequired
        maxLength={NAME_MAX}
      />
      <Field
        label="Currency"
        name="currency"
        value={currency}
        onChange={setCurrency}
        error={write.error}
        hint="Of all its prices. Its code of three letters, such as usd."
        isRequired
        maxLength={3}
      />
      <Field
        label="External id"
        name="external_id"
        value={externalId}
        onChange={setExternalId}
        error={write.error}
        hint="Your own id of it. No two rate cards have the same."
        isMono
        maxLength={NAME_MAX}
      />
      <Rates rates={rates} onChange={setRates} currency={currency.trim().toLowerCase()} />
    </FormDialog>
  )
}

interface RatesProps {
  rates: readonly RateDraft[]
  onChange: (rates: RateDraft[]) => void
  currency: string
}

function Rates(props: RatesProps) {
  const client = useClient()
  const catalogue = useCatalogue(client).data
  const sources = useSources(client).data
  if (catalogue === undefined || sources === undefined) return null
  return <RateFields legend="Rates" {...props} catalogue={catalogue} sources={sources} />
}
