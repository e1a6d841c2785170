import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { accountReading } from '../../api/queries/accounts.ts'
import { useRead } from '../../api/use-read.ts'
import { ArchiveButton } from '../../parts/archive-button.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { JsonBlock } from '../../parts/json-block.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Text } from '../../parts/text.tsx'
import { AccountDialog } from './account-dialog.tsx'
import { AccountFrame, CustomerName } from './account-frame.tsx'
import { AccountTrail } from './account-trail.tsx'

type Account = Schema<'Account'>

/** What an account is: its fields, who changed them, and the answer of the API. */
export function AccountAboutPage({ parameters: { accountId } }: { parameters: { accountId: string } }) {
  return (
    <AccountFrame accountId={accountId} tab="account-about">
      {() => <About accountId={accountId} />}
    </AccountFrame>
  )
}

function About({ accountId }: { accountId: string }) {
  const client = useClient()
  const read = useRead(accountReading(client, accountId))
  const [isChanging, setChanging] = useState(false)
  const account = read.data
  return (
    <div className="columns">
      <Panel
        heading="Fields"
        read={read}
        tools={
          client.may('write:all') &&
          account !== undefined && (
            <>
              <button type="button" className="button" onClick={() => setChanging(true)}>
                Change
              </button>
              <ArchiveButton kind="account" id={account.id} isArchived={account.archived_at !== null} />
            </>
          )
        }
      >
        {(shown) => (
          <>
            <Fields account={shown} />
            <details className="fields__json">
              <summary>as JSON</summary>
              <JsonBlock value={shown} label="Copy this answer" />
            </details>
          </>
        )}
      </Panel>
      {client.may('manage:keys') && <AccountTrail accountId={accountId} />}
      {account !== undefined && isChanging && (
        <AccountDialog account={account} onClose={() => setChanging(false)} />
      )}
    </div>
  )
}

function Fields({ account }: { account: Account }) {
  const { external_id: externalId, service_customer_id: customerId, description } = account
  return (
    <dl className="fields">
      <dt>Name</dt>
      <dd>
        <Text>{account.name}</Text>
      </dd>
      <dt>Id</dt>
      <dd>
        <Id value={account.id} />
      </dd>
      <dt>External id</dt>
      <dd>{externalId === undefined ? 'none' : <Id value={externalId} />}</dd>
      <dt>Customer</dt>
      <dd>{customerId === undefined ? 'none' : <CustomerName id={customerId} />}</dd>
      <dt>Description</dt>
      <dd>{description === undefined || description === '' ? 'none' : <Text>{description}</Text>}</dd>
      <dt>Created</dt>
      <dd>
        <Instant at={account.created_at} />
      </dd>
      <dt>Changed</dt>
      <dd>
        <Instant at={account.updated_at} />
      </dd>
      <dt>Archived</dt>
      <dd>{account.archived_at === null ? 'no' : <Instant at={account.archived_at} />}</dd>
    </dl>
  )
}
