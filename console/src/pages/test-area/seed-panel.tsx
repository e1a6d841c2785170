import './test-area.css'
import { useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { CallError } from '../../api/call.ts'
import { type Client, useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { seededAccountListing } from '../../api/queries/test-area.ts'
import { useReadList } from '../../api/use-read.ts'
import { Link } from '../../app/link.tsx'
import { Field } from '../../parts/form.tsx'
import { Fact } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { useWork, Work } from '../../parts/work.tsx'

type World = Schema<'TestWorld'>

/** Fills the company with made-up data, and says of which seeds its data were made. */
export function SeedPanel() {
  const client = useClient()
  const accounts = useReadList(seededAccountListing(client))
  return (
    <Panel heading="Made-up data" read={accounts}>
      {(read) => (
        <>
          <p className="page-head__facts">
            <Fact name="seeds">{seedsOf(read).join(', ') || 'none'}</Fact>
          </p>
          {client.may('write:all') && <Seed />}
        </>
      )}
    </Panel>
  )
}

const EXTERNAL_ID = /^seed-(\d+)-account-\d+$/

/** The seeds that external ids of accounts name. */
const seedsOf = (accounts: readonly Schema<'Account'>[]): string[] => [
  ...new Set(
    accounts.flatMap(({ external_id: externalId }) => EXTERNAL_ID.exec(externalId ?? '')?.[1] ?? []),
  ),
]

/** The answer to the seed, and whether its usage is counted. */
interface Made {
  world: World
  isCounted: boolean
}

function Seed() {
  const client = useClient()
  const queries = useQueryClient()
  const id = useId()
  const [typed, setTyped] = useState('1')
  const [made, setMade] = useState<Made>()
  const isSeed = isSeedNumber(typed.trim())
  const work = useWork(async (signal, onCount) => {
    setMade(undefined)
    const world = await seed(client, typed.trim(), signal)
    onCount(world.events)
    setMade({ world, isCounted: false })
    await queries.invalidateQueries()
    await drain(client, signal)
    setMade({ world, isCounted: true })
    await queries.invalidateQueries()
  })
  return (
    <form
      className="form seed"
      aria-labelledby={id}
      onSubmit={(event) => {
        event.preventDefault()
        if (isSeed && !work.isRunning) work.start()
      }}
    >
      <p id={id}>
        A seed makes customers, accounts, metrics, grants, a rate card, a contract, and usage of the 90 days
        before the clock. The same number makes the same data, and makes nothing twice.
      </p>
      <Field
        label="Seed"
        name="seed"
        value={typed}
        onChange={setTyped}
        fault={isSeed ? undefined : 'A whole number from 0 to 4294967295.'}
        isRequired
        isMono
      />
      <p className="row-actions">
        <button type="submit" className="button button--main" disabled={!isSeed || work.isRunning}>
          Make it
        </button>
      </p>
      <Work
        work={work}
        doing={made === undefined ? 'Making and reporting,' : 'Made and reported. Counting'}
        counted="events"
      />
      {made !== undefined && <Outcome made={made} />}
    </form>
  )
}

function Outcome({ made: { world, isCounted } }: { made: Made }) {
  return (
    <p role="status">
      Seed {world.seed}: {world.customer_ids.length} customers, {world.account_ids.length} accounts,{' '}
      {world.metric_ids.length} metrics, {world.grant_ids.length} grants, {world.price_ids.length} prices, a
      rate card, a contract, {world.events} events reported{isCounted ? ' and counted. ' : '. '}
      {isCounted && (
        <Link to="accounts" parameters={{}}>
          See the accounts
        </Link>
      )}
    </p>
  )
}

const SEED_MAX = 4_294_967_295n

const isSeedNumber = (text: string): boolean => /^(0|[1-9]\d{0,9})$/.test(text) && BigInt(text) <= SEED_MAX

async function seed(client: Client, text: string, signal: AbortSignal): Promise<World> {
  const body = JSON.parse(`{"seed":${text}}`) as Schema<'TestSeed'>
  return (await client.call({ method: 'POST', target: '/v2/test/seed', body }, signal)) as World
}

const TIMED_OUT = 408

/** Waits until all usage is counted. An answer that it takes longer is no failure. */
async function drain(client: Client, signal: AbortSignal): Promise<void> {
  const body: Schema<'TestDrain'> = { timeout: 5 }
  for (;;)
    try {
      await client.call({ method: 'POST', target: '/v2/test/drain', body }, signal)
      return
    } catch (err) {
      if (!(err instanceof CallError) || err.status !== TIMED_OUT) throw err
    }
}
