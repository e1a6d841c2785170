import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { contractListing } from '../../api/queries/contracts.ts'
import { walk } from '../../api/walk.ts'
import { Link } from '../../app/link.tsx'
import { instantParameter, monthText, startOfMonth } from '../../format/period.ts'
import { instantText } from '../../format/time.ts'
import { useAccountNames } from '../../parts/account-names.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Name } from '../../parts/text.tsx'
import { useWork, Work } from '../../parts/work.tsx'
import { endOf } from './contract-end.ts'
import { contractName } from './names.ts'

/** A contract that was in force in a month, and is over. */
interface Ended {
  contract: Schema<'ContractSummary'>
  endedAt: number
}

/**
 * Finds the contracts that ended in the month of a second, up to it. The list of previews leaves them out. Tally has no
 * list of them, so all contracts are read.
 */
export function EndedContracts({ at }: { at: number }) {
  const client = useClient()
  const [found, setFound] = useState<{ rows: readonly Ended[]; at: number }>()
  const work = useWork(async (signal, onCount) => {
    const contracts = await walk(contractListing(client, {}), { signal, onCount })
    signal.throwIfAborted()
    setFound({ rows: contracts.flatMap((contract) => endedBy(contract, at)), at })
  })
  return (
    <div className="accounts__csv">
      {!work.isRunning && (
        <p>
          <button type="button" className="button" onClick={() => work.start()}>
            Find contracts that ended in {monthText(at)}
          </button>{' '}
          <span className="soft">Reads all contracts, 100 at a time.</span>
        </p>
      )}
      <Work work={work} doing="Reading all contracts:" counted="so far" />
      {found !== undefined && <Found {...found} />}
    </div>
  )
}

function endedBy(contract: Schema<'ContractSummary'>, at: number): Ended[] {
  const endedAt = endOf(contract)
  const isOfMonth = endedAt !== null && endedAt > startOfMonth(at) && endedAt <= at
  // A contract that was canceled before it began was never in force.
  return isOfMonth && endedAt > contract.starts_at ? [{ contract, endedAt }] : []
}

/** Each row shown takes a request for the name of its account. */
const MORE = 100

function Found({ rows, at }: { rows: readonly Ended[]; at: number }) {
  const [count, setCount] = useState(MORE)
  const shown = rows.slice(0, count)
  const nameOf = useAccountNames(shown.map(({ contract: { account_id: id } }) => id))
  const span = `in ${monthText(at)}, up to ${instantText(at, 'utc')} UTC`
  if (rows.length === 0) return <p role="status">No contract ended {span}.</p>
  return (
    <>
      <p role="status">Ended {span}. Each leads to the preview of its last period.</p>
      <DataTable
        caption={`Contracts that ended ${span}`}
        columns={[
          {
            heading: 'Contract',
            cell: ({ contract, endedAt }) => (
              <Link
                to="preview"
                parameters={{ contractId: contract.id }}
                query={{ at: instantParameter(endedAt - 1) }}
              >
                <Name>{contractName(contract)}</Name>
              </Link>
            ),
          },
          { heading: 'Account', cell: ({ contract: { account_id: id } }) => <Name>{nameOf(id)}</Name> },
          { heading: 'Ended', cell: ({ endedAt }) => <Instant at={endedAt} /> },
        ]}
        rows={shown}
        keyOf={({ contract: { id } }) => id}
        hasMore={rows.length > count}
        onMore={() => setCount(count + MORE)}
      />
    </>
  )
}
