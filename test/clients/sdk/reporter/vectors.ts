import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { LookUpOutcome, Outcome } from '../../../../clients/sdk/src/reporter/core/outcome.ts'
import { type History, makeHistory } from './histories.ts'

interface Answer {
  status: number
  text: string
  content_type?: string
  retry_after?: string
  date?: string
}

/** The content of `clients/vectors/reporter.json`. */
export interface ReporterVectors {
  answers: { answer: Answer; occurred_at: (number | null)[]; now: number; outcome: Outcome }[]
  look_ups: { answer: Answer; name: string; now: number; outcome: LookUpOutcome }[]
  lines: { json: string; line: string }[]
  folders: { url: string; mode: string; folder: string }[]
  histories: History[]
}

const HISTORIES = 500
const STEPS = 30

/** Makes the content of `clients/vectors/reporter.json`. */
export const reporterVectors = (): ReporterVectors => ({
  answers: ANSWERS,
  look_ups: LOOK_UPS,
  lines: LINES.map((json) => ({ json, line: `1 ${crc32(json).toString(16).padStart(8, '0')} ${json}\n` })),
  folders: FOLDERS.map(([url, mode]) => ({
    url,
    mode,
    folder: `${mode}-${createHash('sha256').update(url.replace(/\/+$/, '')).digest('hex').slice(0, 8)}`,
  })),
  histories: Array.from({ length: HISTORIES }, (_, seed) => makeHistory(seed, STEPS)),
})

const NOW = Date.UTC(2026, 0, 15, 12)
const DATE = 'Thu, 15 Jan 2026 12:00:00 GMT'
const SECONDS = NOW / 1_000

const accepted: Outcome = { kind: 'accepted' }
const foreign = (status: number) => ({
  kind: 'blocked' as const,
  text: `${status}, but not as Tally answers: is this the URL of a Tally?`,
})
const blocked = (text: string) => ({ kind: 'blocked' as const, text })
const failing = (text: string, retryAfterMs = 0) => ({ kind: 'failing' as const, text, retryAfterMs })

const one = (answer: Answer, outcome: Outcome, count = 2): ReporterVectors['answers'][number] => ({
  answer,
  occurred_at: Array.from({ length: count }, () => SECONDS),
  now: NOW,
  outcome,
})

const ANSWERS: ReporterVectors['answers'] = [
  one({ status: 202, text: '{"accepted":2,"event_ids":["a","b"]}' }, accepted),
  one({ status: 202, text: '{"accepted":1,"event_ids":["a"]}' }, foreign(202)),
  one({ status: 202, text: '{"accepted":"2"}' }, foreign(202)),
  one({ status: 202, text: '' }, foreign(202)),
  one({ status: 200, text: '{"accepted":2}' }, foreign(200)),
  one({ status: 200, text: '<html>Please log in</html>', content_type: 'text/html' }, foreign(200)),
  one({ status: 204, text: '' }, foreign(204)),
  one(
    { status: 400, text: 'events[1].quantity: must be text' },
    {
      kind: 'refused',
      text: '400 events[1].quantity: must be text',
      faults: [{ index: 1, reason: 'quantity: must be text' }],
    },
  ),
  one(
    { status: 422, text: 'events[0].account_id: there is none\nevents[1]: is odd\nand 3 more events' },
    {
      kind: 'refused',
      text: '422 events[0].account_id: there is none',
      faults: [
        { index: 0, reason: 'account_id: there is none' },
        { index: 1, reason: 'is odd' },
      ],
    },
  ),
  one(
    { status: 422, text: 'events[2].quantity: of an event that was not sent' },
    { kind: 'refused', text: '422 events[2].quantity: of an event that was not sent', faults: [] },
  ),
  one(
    { status: 422, text: 'no\nmore', content_type: 'text/plain' },
    { kind: 'refused', text: '422 no', faults: [] },
  ),
  one({ status: 422, text: 'no' }, blocked('422 no')),
  // Servers of Go answer so when a reporter uses http for an address of https.
  one(
    { status: 400, text: 'Client sent an HTTP request to an HTTPS server.\n' },
    blocked('400 Client sent an HTTP request to an HTTPS server.'),
  ),
  one({ status: 400, text: '' }, blocked('400')),
  one(
    { status: 400, text: 'body: is not JSON' },
    { kind: 'refused', text: '400 body: is not JSON', faults: [] },
  ),
  one({ status: 400, text: '<html>no</html>' }, blocked('400 <html>no</html>')),
  one({ status: 422, text: 'no', content_type: 'text/html; charset=utf-8' }, blocked('422 no')),
  one(
    { status: 400, text: '{"error":"no"}', content_type: 'application/json' },
    blocked('400 {"error":"no"}'),
  ),
  one(
    { status: 413, text: '<html>large</html>', content_type: 'text/html' },
    { kind: 'refused', text: '413 <html>large</html>', faults: [] },
  ),
  ...[
    ['events[0].occurred_at: lies ahead', 601, 601_000],
    ['events[0].occurred_at: lies ahead', 0, 0],
    ['events[0].occurred_at: lies back', -601, 0],
    ['events[0].quantity: is odd', 601, 0],
  ].map(([text, ahead, aheadMs]): ReporterVectors['answers'][number] => ({
    answer: { status: 422, text: String(text), date: DATE },
    occurred_at: [SECONDS + Number(ahead)],
    now: NOW,
    outcome: {
      kind: 'refused',
      text: `422 ${String(text)}`,
      faults: [
        {
          index: 0,
          reason: String(text).replace('events[0].', ''),
          ...(Number(aheadMs) > 0 && { aheadMs: Number(aheadMs) }),
        },
      ],
    },
  })),
  {
    answer: { status: 422, text: 'events[0].occurred_at: lies ahead' },
    occurred_at: [SECONDS + 601],
    now: NOW,
    outcome: {
      kind: 'refused',
      text: '422 events[0].occurred_at: lies ahead',
      faults: [{ index: 0, reason: 'occurred_at: lies ahead' }],
    },
  },
  ...[401, 403, 404, 405, 409, 415, 431, 301, 307].map((status) =>
    one({ status, text: 'no' }, blocked(`${status} no`)),
  ),
  ...[408, 429, 500, 502, 503, 504, 507].map((status) =>
    one({ status, text: '<html>no</html>', content_type: 'text/html' }, failing(`${status} <html>no</html>`)),
  ),
  one({ status: 503, text: 'no', retry_after: '7' }, failing('503 no', 7_000)),
  one({ status: 429, text: 'no', retry_after: 'soon' }, failing('429 no')),
  one({ status: 429, text: 'no', retry_after: '-1' }, failing('429 no')),
  one({ status: 429, text: 'no', retry_after: 'Thu, 15 Jan 2026 12:00:30 GMT' }, failing('429 no', 30_000)),
  one({ status: 429, text: 'no', retry_after: 'Thu, 15 Jan 2026 11:00:00 GMT' }, failing('429 no')),
  one({ status: 500, text: 'x'.repeat(400) }, failing(`500 ${'x'.repeat(300)}…`)),
  one({ status: 500, text: '' }, failing('500')),
]

const lookUp = (answer: Answer, outcome: LookUpOutcome): ReporterVectors['look_ups'][number] => ({
  answer,
  name: 'account:acme:1',
  now: NOW,
  outcome,
})

const LOOK_UPS: ReporterVectors['look_ups'] = [
  lookUp({ status: 200, text: '{"id":"account_1"}' }, { kind: 'found', id: 'account_1' }),
  lookUp({ status: 200, text: '{"id":""}' }, foreign(200)),
  lookUp({ status: 200, text: '<html>' }, foreign(200)),
  lookUp({ status: 404, text: 'not found' }, { kind: 'missing', text: 'there is no account acme:1' }),
  lookUp({ status: 404, text: 'no such page' }, blocked('404 no such page')),
  lookUp({ status: 404, text: 'not found', content_type: 'text/html' }, blocked('404 not found')),
  lookUp({ status: 401, text: 'no' }, blocked('401 no')),
  lookUp({ status: 503, text: 'no', retry_after: '2' }, failing('503 no', 2_000)),
]

const LINES = [
  '{"account_id":"account_0f8fad5bd9cb469fa16570867728950e","currency":"usd","quantity":"1"}',
  '{"account_external_id":"Ünïcode ✓","metric_external_id":"tokens","quantity":"-0.5"}',
  '{}',
]

const FOLDERS: readonly (readonly [string, string])[] = [
  ['http://localhost:8080', 'live'],
  ['http://localhost:8080/', 'live'],
  ['https://tally.example.com/usage', 'test'],
]
