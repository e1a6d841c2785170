import { useId, useState } from 'react'
import { useClient } from '../../api/client.ts'
import { accountKeyListing } from '../../api/queries/keys.ts'
import { useReadAll } from '../../api/use-read.ts'
import { useUrlQuery } from '../../app/url.ts'
import { AccountPicker } from '../../parts/account-picker.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { KeyDialog, KeyTables, type OpenKey } from './key-tables.tsx'
import { NewAccountKeyDialog } from './new-account-key-dialog.tsx'

/** Keys that each read one account. There may be very many, so they are listed by account. */
export function AccountKeys() {
  const id = useId()
  const [{ account_id: accountId = '' }, change] = useUrlQuery()
  const [isNew, setNew] = useState(false)
  return (
    <>
      <section className="panel" aria-labelledby={id}>
        <header className="panel__head">
          <h2 id={id} className="panel__heading">
            Account keys
          </h2>
          <div className="panel__tools">
            <button type="button" className="button" onClick={() => setNew(true)}>
              New account key
            </button>
          </div>
        </header>
        <div className="panel__body form keys__choose">
          <p>
            A key of one account is for a web page that shows a customer its own usage. It reads this account
            alone, and ends within 31 days. Choose an account to see its keys.
          </p>
          <AccountPicker
            accountId={accountId}
            onChoose={(chosen) => change({ account_id: chosen === '' ? undefined : chosen })}
            error={null}
          />
        </div>
      </section>
      {accountId !== '' && <KeysOfAccount key={accountId} accountId={accountId} />}
      {isNew && (
        <NewAccountKeyDialog
          chosen={accountId}
          onMade={(account_id) => change({ account_id })}
          onClose={() => setNew(false)}
        />
      )}
    </>
  )
}

function KeysOfAccount({ accountId }: { accountId: string }) {
  const keys = useReadAll(accountKeyListing(useClient(), accountId))
  const [open, setOpen] = useState<OpenKey>()
  return (
    <>
      <Panel heading="Keys of this account" read={keys}>
        {(all) => (all.length === 0 ? <NoKeys /> : <KeyTables keys={all} onOpen={setOpen} />)}
      </Panel>
      {open !== undefined && (
        <KeyDialog open={open} others={keys.data ?? []} onClose={() => setOpen(undefined)} />
      )}
    </>
  )
}

function NoKeys() {
  return (
    <Empty>
      <p>
        <strong>This account has no key.</strong> Your server makes one when the customer opens your page.
      </p>
    </Empty>
  )
}
