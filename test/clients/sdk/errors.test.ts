import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { parseFaults } from '../../../clients/sdk/src/core/faults.ts'
import { parseRetryAfter } from '../../../clients/sdk/src/core/retries.ts'
import * as sdk from '../../../clients/sdk/src/node.ts'
import { OPERATIONS } from '../../../clients/sdk/src/operations.gen.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { failureOf } from '../../support/failure-of.ts'
import { scriptedClient, type Step } from './scripted-client.ts'

const CLASSES = {
  400: sdk.BadRequestError,
  401: sdk.InvalidKeyError,
  403: sdk.ForbiddenError,
  404: sdk.NotFoundError,
  408: sdk.RequestTimeoutError,
  409: sdk.ConflictError,
  413: sdk.TooLargeError,
  415: sdk.UnsupportedMediaError,
  422: sdk.UnprocessableError,
  429: sdk.RateLimitedError,
  500: sdk.ServerError,
  502: sdk.ServerError,
  503: sdk.UnavailableError,
  504: sdk.ServerError,
} as const

interface ClientVectors {
  errors: { status: number; content_type?: string; text: string; error: string }[]
  faults: { text: string; faults: unknown[] }[]
  retry_after: { header: string; now: number; ms: number | null }[]
}

const EVENT = { account_id: 'account_1', metric_id: 'metric_1', quantity: '1' }
const failureWith = async (step: Step) => {
  const { tally } = scriptedClient([step], { maxRetries: 0 })
  return failureOf(tally.events.reportMany({ events: [EVENT] }))
}

describe('errors of the SDK', () => {
  it('have a class for each status', async () => {
    for (const [code, Class] of Object.entries(CLASSES)) {
      const text = code === '404' ? 'not found' : 'a text'
      const err = await failureWith({ status: Number(code), body: text })
      expect(err, code).to.be.instanceOf(Class)
      expect(sdk.ApiError.is(err) && [err.name, err.status, err.text], code).to.deep.equal([
        Class.kind,
        Number(code),
        text,
      ])
      expect((err as Error).message).to.equal(`${text} (reportEvents)`)
    }
    const teapot = await failureWith({ status: 418, body: '' })
    expect(sdk.ApiError.is(teapot) && teapot.message).to.equal('status 418 (reportEvents)')
  })

  it('have a class for each status of openapi.yaml but of headers that are too large', async () => {
    const { readOpenApiDocument } = await import('../../../shared/http/openapi-document.ts')
    const answered = Object.values(readOpenApiDocument().paths)
      .flatMap((item) => Object.values(item))
      .flatMap(({ responses }) => Object.keys(responses))
      .filter((code) => Number(code) >= 400 && code !== '431')
    expect(Object.keys(CLASSES)).to.include.members([...new Set(answered)])
  })

  it('are recognized across copies of the package, by class', async () => {
    // A query makes Node load the module once more.
    const copy = (await import(
      new URL('../../../clients/sdk/src/core/api-errors.js?copy', import.meta.url).href
    )) as Pick<typeof sdk, 'ConflictError' | 'ApiError'>
    const err = new copy.ConflictError({ status: 409, headers: {}, text: 'taken' }, {})
    expect(err).to.not.be.instanceOf(sdk.ConflictError)
    expect(sdk.TallyError.is(err)).to.equal(true)
    expect(sdk.ApiError.is(err)).to.equal(true)
    expect(sdk.ConflictError.is(err)).to.equal(true)
    expect(sdk.NotFoundError.is(err)).to.equal(false)
    expect(sdk.ConnectionError.is(err)).to.equal(false)
    for (const other of [undefined, null, 'text', new Error('x'), {}])
      expect(sdk.TallyError.is(other)).to.equal(false)
  })

  it('are what the vectors of all languages say', async () => {
    const at = path.join(PROJECT_ROOT, 'clients/vectors/client.json')
    const vectors = JSON.parse(await readFile(at, 'utf8')) as ClientVectors
    for (const { status, content_type: type = '', text, error } of vectors.errors) {
      const headers = type === '' ? {} : { 'content-type': type }
      const transport = { send: () => Promise.resolve({ status, headers, text }) }
      const tally = new sdk.Tally({ url: 'http://tally.test', apiKey: 'k', maxRetries: 0, transport })
      const err = await failureOf(tally.caller.get())
      expect(sdk.TallyError.is(err) && err.name, `${status} ${type} ${text}`).to.equal(error)
    }
    for (const { text, faults } of vectors.faults)
      expect(parseFaults(text).map((one) => [one.index ?? null, one.field, one.reason])).to.deep.equal(faults)
    for (const { header, now, ms } of vectors.retry_after)
      expect(parseRetryAfter(header, now), header).to.equal(ms ?? undefined)
  })

  it('name the faults of the text', async () => {
    const text = [
      'events[3].quantity: must be text such as "4808"',
      'events[12].properties.a-b: is too long: much too long',
      'events[4]: must be an object',
      'events[5].properties.a b: is too long',
      'and 7 more events',
    ].join('\n')
    const err = await failureWith({ status: 400, body: text })
    expect(sdk.ApiError.is(err) && err.faults).to.deep.equal([
      { index: 3, field: 'quantity', reason: 'must be text such as "4808"' },
      { index: 12, field: 'properties.a-b', reason: 'is too long: much too long' },
      { index: 4, field: '', reason: 'must be an object' },
      { index: 5, field: 'properties.a b', reason: 'is too long' },
    ])
    const single = await failureWith({ status: 422, body: 'rates[0].price_id: there is no such price' })
    expect(sdk.ApiError.is(single) && single.faults).to.deep.equal([
      { index: undefined, field: 'rates[0].price_id', reason: 'there is no such price' },
    ])
    const plain = await failureWith({ status: 404, body: 'not found' })
    expect(sdk.ApiError.is(plain) && plain.faults).to.deep.equal([])
  })

  it('tell the limit that was reached', async () => {
    const headers = {
      'Retry-After': '2',
      RateLimit: '"requests";r=0;t=1',
      'RateLimit-Policy': '"requests";q=10000;w=1',
    }
    const err = await failureWith({ status: 429, headers, body: 'rate limit exceeded' })
    expect(sdk.RateLimitedError.is(err) && [err.limit, err.retryAfterMs]).to.deep.equal([
      { name: 'requests', remaining: 0, resetS: 1, quota: 10_000, windowS: 1 },
      2_000,
    ])
    const bare = await failureWith({ status: 429, body: 'rate limit exceeded' })
    expect(sdk.RateLimitedError.is(bare) && bare.limit).to.equal(undefined)
  })

  it('are raised by answers that are not of Tally, and lose no report', async () => {
    const html = { 'Content-Type': 'text/html; charset=utf-8' }
    const counted = { accepted: 1, event_ids: ['event_1'] }
    const strange: Record<string, Step> = {
      'a login page': { headers: html, body: '<form>' },
      'a login page with the right status': { status: 202, headers: html, body: '<form>' },
      'JSON with another status': { status: 200, body: counted },
      'text that says it is JSON': { headers: { 'Content-Type': 'application/json' }, body: 'ok' },
      'JSON that is no object': { headers: { 'Content-Type': 'application/json' }, body: '3' },
      nothing: { headers: { 'Content-Type': '' }, body: '' },
      'a redirect': { status: 302, headers: { Location: 'http://portal.test' }, body: '' },
      'another count': { body: { accepted: 0, event_ids: [] } },
      'no count': { body: {} },
    }
    for (const [name, step] of Object.entries(strange))
      expect(sdk.NotTallyError.is(await failureWith(step)), name).to.equal(true)
    expect(await failureWith({ body: counted })).to.equal(undefined)
  })

  it('do not contain the key', async () => {
    const secret = 'tally_test_secret'
    for (const step of ['cut', { status: 401, body: 'Invalid API key' }] as const) {
      const err = await failureWith(step)
      expect(inspect(err, { depth: 9, showHidden: true }) + JSON.stringify(err)).to.not.contain(secret)
    }
  })

  it('of a connection say where Tally was looked for, and why it was not found', async () => {
    const err = await failureWith('cut')
    expect(sdk.ConnectionError.is(err) && err.message).to.equal(
      'no answer from http://tally.test: socket hang up (reportEvents)',
    )
    expect(sdk.ConnectionError.is(err) && (err.cause as Error).message).to.equal('socket hang up')
  })

  it('come from text answers, too', async () => {
    const { tally } = scriptedClient([{ body: 'ok' }, { body: {} }])
    expect(await tally.health.get()).to.equal('ok')
    expect(sdk.NotTallyError.is(await failureOf(tally.health.get()))).to.equal(true)
    expect(OPERATIONS.getHealth.mediaType).to.equal('text/plain')
  })
})
