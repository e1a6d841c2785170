import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import { BALANCE_CHANGES } from '../../api/queries/balances.ts'
import { useWrite } from '../../api/use-write.ts'
import type { ApiRequest } from '../../format/curl.ts'
import { compareDecimals, isDecimal } from '../../format/decimal.ts'
import { Field, FormDialog } from '../../parts/form.tsx'
import { wordsOf } from '../../parts/problem.tsx'
import type { Source } from '../../parts/sources.ts'

type Configuration = Schema<'RefillConfiguration'>

const NAMES = ['minimum_balance', 'target_balance']
const CHANGES = ['/v2/refill-configurations', ...BALANCE_CHANGES] as const

const targetOf = ({ account_id: account, metric_id: metric }: Configuration): string =>
  `/v2/refill-configurations/${account}/${metric}`

interface RefillDialogProps {
  accountId: string
  source: Source
  /** The configuration that is changed; undefined to make one. */
  configuration: Configuration | undefined
  onClose: () => void
}

/** Sets up the refills of a balance, or changes them. */
export function RefillDialog({ accountId, source, configuration, onClose }: RefillDialogProps) {
  // The balances as they were when the dialog opened: what others change in the meantime is not taken back.
  const [before] = useState({
    minimum: configuration?.minimum_balance ?? '',
    target: configuration?.target_balance ?? '',
  })
  const [minimum, setMinimum] = useState(before.minimum)
  const [target, setTarget] = useState(before.target)
  const write = useWrite<Configuration>(CHANGES, onClose)
  const changes: Schema<'RefillConfigurationChanges'> = {
    ...(minimum.trim() === before.minimum ? {} : { minimum_balance: minimum.trim() }),
    ...(target.trim() === before.target ? {} : { target_balance: target.trim() }),
  }
  const isTouched = Object.keys(changes).length > 0
  const faults = { minimum: faultOf(minimum), target: faultOf(target) ?? orderFault(minimum, target) }
  const isReady =
    minimum !== '' && target !== '' && faults.minimum === undefined && faults.target === undefined
  const request: ApiRequest =
    configuration === undefined
      ? {
          method: 'POST',
          target: '/v2/refill-configurations',
          body: { account_id: accountId, metric_id: source.id, ...changes },
        }
      : { method: 'PATCH', target: targetOf(configuration), body: changes }
  return (
    <FormDialog
      heading={`Refills, ${source.label}`}
      write={write}
      request={isReady && isTouched ? request : undefined}
      names={NAMES}
      submit={configuration === undefined ? 'Set up refills' : 'Change refills'}
      isTouched={isTouched}
      onClose={onClose}
    >
      <Field
        label={`Minimum in ${source.unit}`}
        name="minimum_balance"
        value={minimum}
        onChange={setMinimum}
        fault={faults.minimum}
        error={write.error}
        hint="A balance below this is refilled."
        isRequired
      />
      <Field
        label={`Target in ${source.unit}`}
        name="target_balance"
        value={target}
        onChange={setTarget}
        fault={faults.target}
        error={write.error}
        hint="The balance after a refill."
        isRequired
      />
    </FormDialog>
  )
}

const faultOf = (text: string): string | undefined =>
  text === '' || isDecimal(text.trim()) ? undefined : 'write it with digits and a point, as 1000'

function orderFault(minimum: string, target: string): string | undefined {
  if (!isDecimal(minimum.trim()) || !isDecimal(target.trim())) return undefined
  return compareDecimals(target.trim(), minimum.trim()) > 0
    ? undefined
    : 'the target is greater than the minimum'
}

/** Pauses refills, or continues them. */
export function SwitchRefill({ configuration }: { configuration: Configuration }) {
  const write = useWrite<Configuration>(CHANGES, () => undefined)
  const { is_active: isActive } = configuration
  return (
    <>
      <button
        type="button"
        className="button button--small"
        disabled={write.isSending}
        onClick={() => {
          write.send({ method: 'PATCH', target: targetOf(configuration), body: { is_active: !isActive } })
        }}
      >
        {isActive ? 'Pause' : 'Continue'}
      </button>
      {write.error !== null && <span className="form__error">{wordsOf(write.error)}</span>}
    </>
  )
}
