import { useState } from 'react'
import { CallError } from '../../api/call.ts'
import { useClient } from '../../api/client.ts'
import type { Schema } from '../../api/contract.ts'
import { useWrite } from '../../api/use-write.ts'
import { type ApiRequest, curlOf } from '../../format/curl.ts'
import { Choice } from '../../parts/choice.tsx'
import { CopyButton } from '../../parts/id.tsx'
import { Instant } from '../../parts/instant.tsx'
import { Notice, Problem } from '../../parts/problem.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { nodeOf, pythonOf } from './snippets.ts'
import { Step } from './step.tsx'
import type { FirstEvent } from './subject.ts'

const LANGUAGES = [
  { value: 'curl', label: 'curl' },
  { value: 'node', label: 'Node' },
  { value: 'python', label: 'Python' },
] as const

const QUANTITY = '4808'

interface SendStepProps {
  event: FirstEvent
  /** Takes the present time for another event. */
  onNewTime: () => void
}

/** Shows how an event is sent, in three languages, and sends one. */
export function SendStep({ event: { accountId, metricId, at }, onNewTime }: SendStepProps) {
  const client = useClient()
  const [language, setLanguage] = useState<(typeof LANGUAGES)[number]['value']>('curl')
  const event: Schema<'NewUsageEvent'> = {
    account_id: accountId,
    metric_id: metricId,
    quantity: QUANTITY,
    occurred_at: at,
    idempotency_key: 'first-event',
    properties: { model: 'large' },
  }
  const request: ApiRequest = { method: 'POST', target: '/v2/events', body: event }
  const curl = curlOf(client.origin, request)
  const withKey = client.withKey("'$TALLY_KEY'")
  const texts = {
    curl: [curl, client.withKey(curl)],
    node: [nodeOf(client.origin, event, 'process.env.TALLY_KEY'), nodeOf(client.origin, event, withKey)],
    python: [
      pythonOf(client.origin, event, 'os.environ["TALLY_KEY"]'),
      pythonOf(client.origin, event, withKey),
    ],
  } as const
  const [text, textWithKey] = texts[language]
  return (
    <Step heading="Send an event">
      <p>
        An event says how much was used, and when. Its key and its time make it count once, however often it
        is sent. This one occurred at <Instant at={at} />. Your API key stands here as the variable{' '}
        <code>TALLY_KEY</code>.
      </p>
      <div className="steps__picks">
        <Choice label="Language" options={LANGUAGES} value={language} onChange={setLanguage} />
        <CopyButton text={textWithKey} label="Copy this with the key itself, on the clipboard alone">
          Copy with my key
        </CopyButton>
      </div>
      <Snippet text={text} label="Copy this" />
      {client.may('write:all') && <SendHere request={request} onNewTime={onNewTime} />}
    </Step>
  )
}

const NOT_FOUND = 404

function SendHere({ request, onNewTime }: { request: ApiRequest; onNewTime: () => void }) {
  const write = useWrite<Schema<'UsageEvent'>>([], () => undefined, { hasOwnKey: true })
  const { error, isSending, outcome } = write
  const hasNoGateway =
    error instanceof CallError && error.status === NOT_FOUND && error.message === 'not found'
  return (
    <>
      <p className="steps__send">
        <button type="button" className="button" disabled={isSending} onClick={() => write.send(request)}>
          {isSending ? 'Sending…' : 'Send one from here'}
        </button>
        <button type="button" className="button" onClick={onNewTime}>
          Another event, of now
        </button>
        <span role="status" className="soft">
          {outcome !== undefined && 'Tally has it.'}
        </span>
      </p>
      {error !== null && !hasNoGateway && <Problem error={error} />}
      {hasNoGateway && (
        <Notice tone="warn">
          This address takes no events: the services run apart, and events go to the gateway. Use its address
          in the command.
        </Notice>
      )}
    </>
  )
}
