import { useState } from 'react'
import type { Schema } from '../../api/contract.ts'
import { BALANCE_CHANGES } from '../../api/queries/balances.ts'
import { useWrite } from '../../api/use-write.ts'
import { AmountOf } from '../../parts/amount-of.tsx'
import { Field, FormDialog } from '../../parts/form.tsx'
import type { Source } from '../../parts/sources.ts'

/** A grant that is about to end, and how. */
export interface Ending {
  grant: Schema<'Grant'>
  by: 'void' | 'archive'
}

const HEADINGS = { void: 'Void this grant', archive: 'Archive this grant' }
/** Both end a grant alike. They differ in what the list and the trail say later. */
const WHEN = {
  void: 'Void a grant that was a mistake. Archive one that was right, and is not needed any more.',
  archive: 'Archive a grant that was right, and is not needed any more. Void one that was a mistake.',
}

/** Asks before a grant ends, which cannot be undone. */
export function EndGrantDialog({
  ending: { grant, by },
  source,
  onClose,
}: {
  ending: Ending
  source: Source
  onClose: () => void
}) {
  const [word, setWord] = useState('')
  const write = useWrite<Schema<'Grant'>>(BALANCE_CHANGES, onClose)
  return (
    <FormDialog
      heading={HEADINGS[by]}
      write={write}
      request={word.trim() === by ? { method: 'POST', target: `/v2/grants/${grant.id}/${by}` } : undefined}
      names={[]}
      submit={HEADINGS[by]}
      isDangerous
      isTouched={false}
      onClose={onClose}
    >
      <p>
        {WHEN[by]} Either way <AmountOf value={grant.amount} source={source} /> no longer count from now on.
        The balance by day no longer has them on any day, also in the past. This cannot be undone.
      </p>
      <Field label={`Type ${by} to go on`} name="word" value={word} onChange={setWord} isRequired />
    </FormDialog>
  )
}
