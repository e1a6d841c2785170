import { expect } from 'chai'
import { listOperations, readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { requestSchema } from '../../shared/http/request-schema.ts'
import type { ApiClient } from '../support/api-client.ts'
import { openPoolByHand } from '../support/by-hand.ts'
import { rawRequest } from '../support/raw-request.ts'
import type { TallyUnderTest } from '../support/tally-under-test.ts'
import { shareRequestWorld, TRIES, type World } from './requests.ts'

describe('external ids', function () {
  this.timeout(60_000)
  const document = readOpenApiDocument()
  const settable = listOperations(document).filter(
    (operation) => 'external_id' in (requestSchema(document, operation, 'body')?.properties ?? {}),
  )
  let tally: TallyUnderTest
  let api: ApiClient
  let world: World

  before(async () => {
    ;({ tally, api, world } = await shareRequestWorld())
  })
  after(() => tally.end())

  it('that URLs lose are refused wherever one can be given, and others with dots are not', async () => {
    expect(settable.map(({ operationId }) => operationId)).to.include.members(
      ['Customer', 'Account', 'Metric', 'Product', 'RateCard', 'Contract'].flatMap((noun) => [
        `create${noun}`,
        `update${noun}`,
      ]),
    )
    for (const { operationId, method } of settable) {
      const { target = '', body } = (await TRIES[operationId]?.good(world)) ?? {}
      const send = (external_id: string) =>
        api.request(method.toUpperCase(), target, { ...(body as object), external_id }, {})
      for (const id of ['.', '..']) {
        const { status, text } = await send(id)
        expect([status, text], operationId).to.deep.equal([
          422,
          `external_id: "${id}" would be lost in a URL, take another`,
        ])
      }
      for (const id of ['...', '.a', '. ', '%2e'])
        expect((await send(`${id}${operationId.startsWith('create') ? '' : '1'}`)).status, id).to.equal(200)
    }
  })

  it('that are a part of another path are found all the same', async () => {
    for (const kind of ['accounts', 'metrics'])
      for (const externalId of ['archive', 'unarchive', 'usage', 'balance', 'external-id']) {
        const made = await api.create(`/v2/${kind}`, { name: 'x', external_id: externalId })
        const found = await api.get(`/v2/${kind}/external-id/${externalId}`)
        expect([found.status, found.body], `${kind} ${externalId}`).to.deep.equal([200, made])
      }
  })

  it('of before are found as they are', async () => {
    const { id } = await api.create<{ id: string }>('/v2/accounts', { name: 'of before', external_id: 'x..' })
    const pool = openPoolByHand(tally.postgres.superuserUrl)
    await pool.query(`UPDATE tally.accounts SET external_id = '..' WHERE account_id = $1`, [id])
    await pool.end()
    const answer = await rawRequest(
      `http://127.0.0.1:${tally.portOf('/v2/accounts')}`,
      `GET /v2/accounts/external-id/.. HTTP/1.1\r\nHost: x\r\nx-api-key: ${tally.key}\r\nConnection: close\r\n\r\n`,
      () => false,
    )
    expect(answer).to.match(/^HTTP\/1\.1 200 /)
    expect(answer).to.contain(`"id":"${id}"`)
    expect((await api.patch(`/v2/accounts/${id}`, { description: 'd' })).status).to.equal(200)
  })
})
