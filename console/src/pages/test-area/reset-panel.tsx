import { useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { useWrite } from '../../api/use-write.ts'
import { Field, FormDialog } from '../../parts/form.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Name } from '../../parts/text.tsx'

/** Empties the company. */
export function ResetPanel() {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const [resetAt, setResetAt] = useState<number>()
  return (
    <section className="panel" aria-labelledby={id}>
      <header className="panel__head">
        <h2 id={id} className="panel__heading">
          Reset
        </h2>
      </header>
      <div className="panel__body">
        <p>
          A reset removes all customers, accounts, metrics, grants, prices, contracts and usage. API keys and
          the trail stay. The clock returns to real time.
        </p>
        <p className="row-actions">
          <button type="button" className="button button--bad" onClick={() => setOpen(true)}>
            Reset …
          </button>
          <span role="status">
            {resetAt !== undefined && (
              <>
                The company was emptied at <Instant at={resetAt} />.
              </>
            )}
          </span>
        </p>
      </div>
      <footer className="panel__foot" />
      {isOpen && <ResetDialog onDone={setResetAt} onClose={() => setOpen(false)} />}
    </section>
  )
}

function ResetDialog({ onDone, onClose }: { onDone: (resetAt: number) => void; onClose: () => void }) {
  const { name } = useClient().caller.company
  const queries = useQueryClient()
  const [typed, setTyped] = useState('')
  const write = useWrite<Schema<'TestReset'>>('all', ({ answer }) => {
    // Nothing that is gone is shown until it was read again.
    void queries.resetQueries()
    if (answer !== undefined) onDone(answer.reset_at)
    onClose()
  })
  return (
    <FormDialog
      heading="Reset the company"
      write={write}
      request={typed.trim() === name.trim() ? { method: 'POST', target: '/v2/test/reset' } : undefined}
      names={[]}
      submit="Reset the company"
      isDangerous
      isTouched={false}
      onClose={onClose}
    >
      <p>
        All data of “<Name>{name}</Name>” are removed for good, for everyone who uses this company.
      </p>
      <Field
        label="Type the company’s name to go on"
        name="name"
        value={typed}
        onChange={setTyped}
        isRequired
      />
    </FormDialog>
  )
}
