import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { newestContractListing, testClockReading } from '../../api/queries/test-area.ts'
import { useRead, useReadList } from '../../api/use-read.ts'
import { useWrite } from '../../api/use-write.ts'
import type { ApiRequest } from '../../format/curl.ts'
import { DAY_S, distanceText } from '../../format/time.ts'
import { Instant } from '../../parts/instant.tsx'
import { Fact } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Problem } from '../../parts/problem.tsx'
import { SetClockDialog } from './set-clock-dialog.tsx'

/** The time of the company beside real time, and the ways to move it. */
export function ClockPanel() {
  const client = useClient()
  const clock = useRead(testClockReading(client))
  const [isSetting, setSetting] = useState(false)
  // Each move is another request, with another key.
  const [moves, setMoves] = useState(0)
  return (
    <Panel heading="Clock" read={clock}>
      {(read) => (
        <>
          <Times clock={read} />
          {client.may('write:all') && (
            <Moves
              key={moves}
              clock={read}
              onMoved={() => setMoves((before) => before + 1)}
              onSet={() => setSetting(true)}
            />
          )}
          <p className="soft">
            The clock decides when grants begin and end, when refills are due, and which times usage may have.
            It goes on from where you set it. When something was created or accepted stays in real time.
          </p>
          {isSetting && <SetClockDialog now={read.now} onClose={() => setSetting(false)} />}
        </>
      )}
    </Panel>
  )
}

function Times({ clock: { now, real_now: realNow } }: { clock: Schema<'TestClock'> }) {
  const ahead = now - realNow
  return (
    <p className="page-head__facts">
      <Fact name="company">
        <strong>
          <Instant at={now} />
        </strong>
      </Fact>
      <Fact name="real time">
        <Instant at={realNow} />
      </Fact>
      <Fact name="">{ahead === 0 ? 'They are the same.' : `${distanceText(ahead)} ahead`}</Fact>
    </p>
  )
}

const HOUR_S = 3_600

interface MovesProps {
  clock: Schema<'TestClock'>
  onMoved: () => void
  onSet: () => void
}

function Moves({ clock: { now, real_now: realNow }, onMoved, onSet }: MovesProps) {
  const write = useWrite<Schema<'TestClock'>>('all', onMoved)
  const periodEnd = usePeriodEnd(now)
  const button = (label: string, request: ApiRequest) => (
    <button type="button" className="button" disabled={write.isSending} onClick={() => write.send(request)}>
      {label}
    </button>
  )
  return (
    <>
      <p className="row-actions">
        {button('+ 1 hour', advanceBy(HOUR_S))}
        {button('+ 1 day', advanceBy(DAY_S))}
        {periodEnd !== undefined && button('To the end of the period', setTo(periodEnd))}
        <button type="button" className="button" onClick={onSet}>
          Set …
        </button>
        {now !== realNow && button('Back to real time', { method: 'DELETE', target: '/v2/test/clock' })}
      </p>
      {periodEnd !== undefined && (
        <p className="soft">
          The next period of a contract ends at <Instant at={periodEnd} />.
        </p>
      )}
      {write.error !== null && <Problem error={write.error} />}
    </>
  )
}

const advanceBy = (seconds: number): ApiRequest => {
  const body: Schema<'TestClockAdvance'> = { seconds }
  return { method: 'POST', target: '/v2/test/clock/advance', body }
}

const setTo = (now: number): ApiRequest => {
  const body: Schema<'TestClockTime'> = { now }
  return { method: 'PUT', target: '/v2/test/clock', body }
}

/** The next end of a period among the newest contracts; undefined without a contract. */
function usePeriodEnd(now: number): number | undefined {
  const contracts = useReadList(newestContractListing(useClient()), { keepsEarlier: true }).data ?? []
  const ends = contracts
    .flatMap(({ current_period: period }) => period?.end_at ?? [])
    .filter((end) => end > now)
  return ends.length === 0 ? undefined : Math.min(...ends)
}
