import '../pages.css'
import './contracts.css'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { accountReading } from '../../api/queries/accounts.ts'
import { contractLineListing, contractReading } from '../../api/queries/contracts.ts'
import { useRead, useReadAll } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { Id } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Chip, Fact, PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Notice } from '../../parts/problem.tsx'
import { Name, Text } from '../../parts/text.tsx'
import { TrailLink } from '../../parts/trail-link.tsx'
import { Unread } from '../../parts/unread.tsx'
import { CancelDialog } from './cancel-dialog.tsx'
import { ContractLines } from './contract-lines.tsx'
import { contractName, useNames } from './names.ts'
import { TakeBackDialog } from './take-back-dialog.tsx'
import { toneOf } from './tones.ts'

type Contract = Schema<'Contract'>

/** A contract: its lines on a line of time, and how it ends. */
export function ContractPage({ parameters: { contractId } }: { parameters: { contractId: string } }) {
  const contract = useRead(contractReading(useClient(), contractId))
  const crumbs = (
    <Link to="contracts" parameters={{}}>
      Contracts
    </Link>
  )
  return (
    <>
      <PageHead
        heading={contract.data === undefined ? 'Contract' : contractName(contract.data)}
        crumbs={crumbs}
      >
        {contract.data !== undefined && <Facts contract={contract.data} />}
        <TrailLink resourceId={contractId} />
      </PageHead>
      <Unread read={contract} kind="contract" id={contractId} />
      {contract.data !== undefined && <Parts contract={contract.data} />}
    </>
  )
}

function Facts({ contract }: { contract: Contract }) {
  const {
    id,
    account_id: accountId,
    external_id: externalId,
    description,
    ends_at: endsAt,
    anchor_at: anchorAt,
  } = contract
  const { data: account } = useRead(accountReading(useClient(), accountId))
  return (
    <>
      <Fact name="">
        <Chip tone={toneOf(contract.status)}>{contract.status}</Chip>
      </Fact>
      <Fact name="account">
        <Link to="account" parameters={{ accountId }}>
          <Name>{account?.name ?? accountId}</Name>
        </Link>
      </Fact>
      <Fact name="currency">{contract.currency}</Fact>
      <Fact name="a period is a">{contract.cadence.replace('_', ' ')}</Fact>
      <Fact name="from">
        <Instant at={contract.starts_at} />
      </Fact>
      {endsAt !== null && (
        <Fact name="until">
          <Instant at={endsAt} />
        </Fact>
      )}
      {anchorAt !== contract.starts_at && (
        <Fact name="periods are counted from">
          <Instant at={anchorAt} />
        </Fact>
      )}
      {externalId !== undefined && (
        <Fact name="external id">
          <Id value={externalId} />
        </Fact>
      )}
      <Fact name="id">
        <Id value={id} />
      </Fact>
      {description !== undefined && (
        <Fact name="description">
          <Text>{description}</Text>
        </Fact>
      )}
    </>
  )
}

function Parts({ contract }: { contract: Contract }) {
  const client = useClient()
  const names = useNames(client)
  const lines = useReadAll(contractLineListing(client, contract.id))
  return (
    <div className="columns">
      <Actions contract={contract} />
      <Panel heading="Lines" read={lines}>
        {(all) => <ContractLines contract={contract} lines={all} names={names} />}
      </Panel>
    </div>
  )
}

/** What can be done: the preview, and the end of the contract. */
function Actions({ contract }: { contract: Contract }) {
  const client = useClient()
  const [open, setOpen] = useState<'cancel' | 'take-back'>()
  const { cancellation, status } = contract
  const isOver = status === 'canceled' || status === 'ended'
  const mayWrite = client.may('write:all') && !isOver
  const close = () => setOpen(undefined)
  return (
    <>
      {cancellation !== null && (
        <Notice tone={isOver ? 'plain' : 'warn'}>
          <span>
            {isOver ? 'It was canceled, and ended ' : 'It is canceled, and ends '}
            <Instant at={cancellation.cancel_at} />.
            {cancellation.reason !== undefined && (
              <>
                {' '}
                The reason: <Text>{cancellation.reason}</Text>
              </>
            )}
          </span>
          {mayWrite && (
            <button type="button" className="button" onClick={() => setOpen('take-back')}>
              Take the cancellation back
            </button>
          )}
        </Notice>
      )}
      <p className="row-actions">
        <Link to="preview" parameters={{ contractId: contract.id }} className="button button--main">
          Invoice preview
        </Link>
        {mayWrite && (
          <button type="button" className="button button--bad" onClick={() => setOpen('cancel')}>
            {cancellation === null ? 'Cancel the contract' : 'Cancel the contract at another time'}
          </button>
        )}
      </p>
      {open === 'cancel' && <CancelDialog contract={contract} onClose={close} />}
      {open === 'take-back' && <TakeBackDialog contract={contract} onClose={close} />}
    </>
  )
}
