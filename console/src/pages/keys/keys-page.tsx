import '../pages.css'
import './keys.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import { apiKeyListing } from '../../api/queries/keys.ts'
import { useReadAll } from '../../api/use-read.ts'
import { PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/problem.tsx'
import { AccountKeys } from './account-keys.tsx'
import { KeyDialog, KeyTables, type OpenKey } from './key-tables.tsx'
import { NewKeyDialog } from './new-key-dialog.tsx'

/** What is open over the page. A dialog holds the key that it makes, so it stands beside what is read. */
type Open = { what: 'new' } | OpenKey

/** The keys of the company. A key itself is shown once, when it is made. */
export function KeysPage() {
  return (
    <>
      <PageHead heading="Keys" />
      {useClient().may('manage:keys') ? <AllKeys /> : <MayNotManage />}
    </>
  )
}

function MayNotManage() {
  return (
    <Empty>
      <p>
        <strong>This key may not manage keys.</strong> Sign in with a key that has <code>manage:keys</code>.
      </p>
    </Empty>
  )
}

function AllKeys() {
  const client = useClient()
  const keys = useReadAll(apiKeyListing(client))
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  return (
    <div className="columns">
      <Panel
        heading="API keys"
        read={keys}
        tools={
          <button type="button" className="button" onClick={() => setOpen({ what: 'new' })}>
            New key
          </button>
        }
      >
        {(all) => <KeyTables keys={all} onOpen={setOpen} />}
      </Panel>
      {open?.what === 'new' && <NewKeyDialog onClose={close} />}
      {open !== undefined && open.what !== 'new' && (
        <KeyDialog open={open} others={keys.data ?? []} onClose={close} />
      )}
      {client.may('read:all') && <AccountKeys />}
    </div>
  )
}
