import '../pages.css'
import './contracts.css'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { accountReading } from '../../api/queries/accounts.ts'
import { contractReading } from '../../api/queries/contracts.ts'
import { answeredPreviewReading } from '../../api/queries/previews.ts'
import { type Read, useRead, useStop } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { visibleText } from '../../format/visible-text.ts'
import { Instant } from '../../parts/instant.tsx'
import { Chip, Fact, PageHead } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Notice } from '../../parts/problem.tsx'
import { Name } from '../../parts/text.tsx'
import { Unread } from '../../parts/unread.tsx'
import { Waiting } from '../../parts/work.tsx'
import { type Asked, bodyOf, useAsked } from './asked.ts'
import { endOf } from './contract-end.ts'
import { contractName, type Names, useNames } from './names.ts'
import { PreviewBody } from './preview-body.tsx'
import { PeriodSteps, Times, ToCurrentPeriod } from './preview-controls.tsx'
import { toneOf } from './tones.ts'

/** The invoice of a contract's period as it would be: what is due, and how each amount of it came about. */
export function PreviewPage({ parameters: { contractId } }: { parameters: { contractId: string } }) {
  const client = useClient()
  const contract = useRead(contractReading(client, contractId))
  const names = useNames(client)
  const name = contract.data === undefined ? undefined : contractName(contract.data)
  const crumbs = (
    <>
      <Link to="contracts" parameters={{}}>
        Contracts
      </Link>{' '}
      ›{' '}
      <Link to="contract" parameters={{ contractId }}>
        <Name>{name ?? 'Contract'}</Name>
      </Link>
    </>
  )
  return (
    <>
      <PageHead heading={name === undefined ? 'Invoice preview' : `Invoice preview, ${name}`} crumbs={crumbs}>
        {contract.data !== undefined && <Facts contract={contract.data} />}
      </PageHead>
      <Unread read={contract} kind="contract" id={contractId} />
      {contract.data !== undefined && <Preview contract={contract.data} names={names} />}
    </>
  )
}

function Facts({ contract: { account_id: accountId, cadence, status } }: { contract: Schema<'Contract'> }) {
  const { data } = useRead(accountReading(useClient(), accountId))
  return (
    <>
      <Fact name="account">
        <Link to="account" parameters={{ accountId }}>
          <Name>{data?.name ?? accountId}</Name>
        </Link>
      </Fact>
      <Fact name="contract">
        <Chip tone={toneOf(status)}>{status}</Chip>
      </Fact>
      <Fact name="a period is a">{visibleText(cadence.replace('_', ' '))}</Fact>
    </>
  )
}

interface PreviewProps {
  contract: Schema<'Contract'>
  names: Names
}

function Preview({ contract, names }: PreviewProps) {
  const { asked, faults } = useAsked()
  if (faults.length > 0)
    return (
      <Notice tone="bad">
        In the address of this page, {faults.join(' and ')} {faults.length === 1 ? 'is' : 'are'} no time.
        Write it as 2026-02-08T00:00:00, in UTC.
      </Notice>
    )
  if (asked.at !== undefined && (asked.at < contract.starts_at || asked.at >= (endOf(contract) ?? Infinity)))
    return <Outside contract={contract} at={asked.at} />
  return <AskedPreview contract={contract} names={names} asked={asked} />
}

/** Says that the contract has no period at a time, and leads to those that it has. */
function Outside({ contract, at }: { contract: Schema<'Contract'>; at: number }) {
  const end = endOf(contract)
  return (
    <Notice tone="warn">
      <span>
        The contract has no period at <Instant at={at} />. It runs from <Instant at={contract.starts_at} />{' '}
        {end === null ? (
          'on'
        ) : (
          <>
            to <Instant at={end} />
          </>
        )}
        .
      </span>
      <ToCurrentPeriod />
    </Notice>
  )
}

function AskedPreview({ contract, names, asked }: PreviewProps & { asked: Asked }) {
  const reading = answeredPreviewReading(useClient(), bodyOf(contract.id, asked), asked)
  const read = useRead(reading, { keepsEarlier: true })
  const stop = useStop()
  const isSlow = asked.knownAt !== undefined || asked.since !== undefined
  return (
    <div className="columns">
      <Times
        key={JSON.stringify(asked)}
        asked={asked}
        shown={read.isEarlier ? undefined : read.data?.preview}
      />
      {isSlow && read.isFetching && (
        <Waiting
          key={reading.request.target + JSON.stringify(reading.request.body)}
          doing="Reading the events of the account as they were known:"
          onStop={() => stop(reading)}
        />
      )}
      {isStopped(read) ? (
        <Notice>
          <span>The preview was not read to its end.</span>
          <button type="button" className="button" onClick={read.again}>
            Read it
          </button>
        </Notice>
      ) : (
        <Panel
          heading="Invoice preview"
          read={read}
          tools={
            read.data === undefined ? (
              asked.at !== undefined && <ToCurrentPeriod />
            ) : (
              <PeriodSteps contract={contract} preview={read.data.preview} />
            )
          }
        >
          {(answer) => <PreviewBody {...answer} contract={contract} names={names} />}
        </Panel>
      )}
    </div>
  )
}

/** Whether nothing is read although the answer is missing. */
const isStopped = ({ data, error, isFetching, isEarlier }: Read<unknown>): boolean =>
  !isFetching && error === null && (data === undefined || isEarlier)
